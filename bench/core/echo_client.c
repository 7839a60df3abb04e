/*
 * The load generator of the echo benches: the same client drives every server.
 *
 *   echo_client PORT CONNECTIONS ROUND_TRIPS
 *
 * It opens the connections, makes one round trip on each, prints "ready" and waits for a line on stdin. Then every connection
 * has one message of 64 bytes under way at any time, until all have made their share of the round trips. It prints one line of
 * JSON: round trips, wrong answers, wall time in seconds, and latencies in microseconds. Connections stay open until the end.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../harness/program.h"

#define MESSAGE 64
#define EVENTS 512

struct connection {
    int descriptor;
    int received;          /* bytes of the answer so far */
    long trip;             /* number of the round trip under way, from 0 */
    double sent_at;        /* monotonic seconds */
    char answer[MESSAGE];
};

struct load {
    struct connection *connections;
    long count;        /* connections */
    long share;        /* round trips a connection makes */
    long done;         /* round trips so far */
    long wrong;        /* answers that differ from the question */
    double *latencies; /* seconds, in order of arrival */
};

/* Every message of every connection is different, so that an answer to the wrong caller is noticed. */
static void compose(char *message, long index, long trip)
{
    snprintf(message, MESSAGE, "connection %010ld round trip %010ld", index, trip);
    for (size_t i = strlen(message); i < MESSAGE; i++) {
        message[i] = '.';
    }
}

static void ask(struct load *load, long index)
{
    struct connection *connection = &load->connections[index];
    char message[MESSAGE];

    compose(message, index, connection->trip);
    connection->received = 0;
    connection->sent_at = now();
    if (send(connection->descriptor, message, MESSAGE, MSG_NOSIGNAL) != MESSAGE) {
        die("send");
    }
}

/* Returns whether the answer is complete. */
static int receive(struct connection *connection)
{
    ssize_t length = recv(connection->descriptor, connection->answer + connection->received,
                          MESSAGE - connection->received, 0);

    if (length == 0) {
        errno = ECONNRESET;
    }
    if (length <= 0) {
        die("recv");
    }
    connection->received += length;
    return connection->received == MESSAGE;
}

static void judge(struct load *load, long index)
{
    struct connection *connection = &load->connections[index];
    char expected[MESSAGE];

    compose(expected, index, connection->trip);
    load->wrong += memcmp(expected, connection->answer, MESSAGE) != 0;
    connection->trip++;
}

/* Blocking, and proved by a round trip: the server's backlog never overflows. */
static void open_connection(struct load *load, long index, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;

    if (descriptor < 0 || connect(descriptor, (struct sockaddr *)&address, sizeof address) < 0) {
        die("connect");
    }
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    /* Closed by a reset: ten thousand ports in TIME_WAIT would starve the next contestant. */
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    load->connections[index].descriptor = descriptor;
    ask(load, index);
    while (!receive(&load->connections[index])) {
    }
    judge(load, index);
    load->connections[index].trip = 0;
}

static void open_all(struct load *load, int epoll, int port)
{
    for (long i = 0; i < load->count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = i};

        open_connection(load, i, port);
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, load->connections[i].descriptor, &event) < 0) {
            die("epoll_ctl");
        }
    }
}

static void advance(struct load *load, long index)
{
    struct connection *connection = &load->connections[index];

    if (!receive(connection)) {
        return;
    }
    load->latencies[load->done++] = now() - connection->sent_at;
    judge(load, index);
    if (connection->trip < load->share) {
        ask(load, index);
    }
}

static void drive(struct load *load, int epoll)
{
    struct epoll_event events[EVENTS];

    for (long i = 0; i < load->count; i++) {
        ask(load, i);
    }
    while (load->done < load->count * load->share) {
        int ready = epoll_wait(epoll, events, EVENTS, -1);

        if (ready < 0 && errno != EINTR) {
            die("epoll_wait");
        }
        for (int i = 0; i < ready; i++) {
            advance(load, events[i].data.u64);
        }
    }
}

static void wait_for_go(void)
{
    char line[64];

    printf("ready\n");
    fflush(stdout);
    if (read(STDIN_FILENO, line, sizeof line) <= 0) {
        exit(1);
    }
}

static int compare(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;

    return (difference > 0) - (difference < 0);
}

static void tell(struct load *load, double wall)
{
    qsort(load->latencies, load->done, sizeof *load->latencies, compare);
    printf("{\"round_trips\":%ld,\"wrong\":%ld,\"wall\":%.9f,\"p50_us\":%.1f,\"p99_us\":%.1f}\n", load->done, load->wrong, wall,
           load->latencies[load->done / 2] * 1e6, load->latencies[load->done * 99 / 100] * 1e6);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct load load = {0};
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    double start;

    if (argc != 4) {
        fprintf(stderr, "usage: %s PORT CONNECTIONS ROUND_TRIPS\n", argv[0]);
        return 2;
    }
    raise_descriptor_limit();
    load.count = atol(argv[2]);
    load.share = atol(argv[3]) / load.count;
    load.connections = calloc(load.count, sizeof *load.connections);
    load.latencies = calloc(load.count * load.share, sizeof *load.latencies);
    open_all(&load, epoll, atoi(argv[1]));
    wait_for_go();
    start = now();
    drive(&load, epoll);
    tell(&load, now() - start);
    wait_for_go();
    return 0;
}
