/*
 * Many clients of a MessagePack-RPC server. Each has a connection, calls add(n, 1), and calls again as soon as it has its answer.
 *
 *     crowd PORT CONNECTIONS CALLS WARM_UP
 *
 * It prints "ready" after the warm-up, waits for a line, and makes the calls. Then it prints their wall time in seconds and the
 * sum of the answers, and ends.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "../harness/program.h"

enum { REQUEST = 17, BATCH = 64, ANSWER = 256 };

struct crowd {
    int epoll;
    int count;
    int *sockets;
    uint32_t *asked; /* calls of each so far */
    uint64_t sum;    /* of the answers */
};

static int connect_to(int port) {
    int one = 1, descriptor = check(socket(AF_INET, SOCK_STREAM, 0), "socket");
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check(connect(descriptor, (struct sockaddr *)&address, sizeof address), "connect");
    check(setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one), "TCP_NODELAY");
    return descriptor;
}

/* The number behind its head. */
static uint32_t number_at(const uint8_t **at) {
    uint8_t head = *(*at)++;
    int bytes = head < 0x80 ? 0 : head == 0xcc ? 1 : head == 0xcd ? 2 : 4;
    uint32_t number = bytes ? 0 : head;
    while (bytes-- > 0) number = number << 8 | *(*at)++;
    return number;
}

static void ask(struct crowd *crowd, int number) {
    uint32_t id = crowd->asked[number]++;
    uint32_t big = htonl(id);
    uint8_t request[REQUEST] = {0x94, 0x00, 0xce, 0, 0, 0, 0, 0xa3, 'a', 'd', 'd', 0x92, 0xcd, 0, 0, 0x01};
    memcpy(request + 3, &big, sizeof big);
    request[13] = (uint8_t)(id >> 8);
    request[14] = (uint8_t)id;
    if (send(crowd->sockets[number], request, REQUEST - 1, 0) != REQUEST - 1) die("send");
}

/* [1, id, nil, sum]; an answer of so few bytes comes whole. */
static void take(struct crowd *crowd, int number) {
    uint8_t answer[ANSWER];
    if (recv(crowd->sockets[number], answer, sizeof answer, 0) < 5 || answer[0] != 0x94 || answer[1] != 1) die("recv");
    const uint8_t *at = answer + 2;
    uint32_t id = number_at(&at);
    if (*at++ != 0xc0 || id != crowd->asked[number] - 1) die("an answer");
    crowd->sum += number_at(&at);
}

static void call(struct crowd *crowd, long calls) {
    struct epoll_event events[BATCH];
    long asked = 0, answered = 0;
    for (int i = 0; i < crowd->count && asked < calls; i++, asked++) ask(crowd, i);
    while (answered < calls) {
        int ready = check(epoll_wait(crowd->epoll, events, BATCH, -1), "epoll_wait");
        for (int i = 0; i < ready; i++) {
            take(crowd, events[i].data.fd);
            answered++;
            if (asked++ < calls) ask(crowd, events[i].data.fd);
        }
    }
}

static void gather(struct crowd *crowd, int port) {
    crowd->epoll = check(epoll_create1(0), "epoll_create1");
    crowd->sockets = calloc((size_t)crowd->count, sizeof *crowd->sockets);
    crowd->asked = calloc((size_t)crowd->count, sizeof *crowd->asked);
    if (!crowd->sockets || !crowd->asked) die("calloc");
    for (int i = 0; i < crowd->count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = i};
        crowd->sockets[i] = connect_to(port);
        check(epoll_ctl(crowd->epoll, EPOLL_CTL_ADD, crowd->sockets[i], &event), "epoll_ctl");
    }
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;

    struct crowd crowd = {.count = atoi(argv[2])};
    char line[8];
    raise_descriptor_limit();
    gather(&crowd, atoi(argv[1]));
    call(&crowd, atol(argv[4]));
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) return 1;

    crowd.sum = 0;
    memset(crowd.asked, 0, sizeof *crowd.asked * (size_t)crowd.count);
    double began = now();
    call(&crowd, atol(argv[3]));
    printf("%.6f %llu\n", now() - began, (unsigned long long)crowd.sum);
    return 0;
}
