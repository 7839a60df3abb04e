/*
 * A crowd of connections, each of which asks again as soon as it is answered: in one epoll(7) loop, which counts the answers
 * on every connection. It tells by one line of JSON what it has seen, and keeps its connections, idle, until its standard
 * input ends.
 *
 *     crowd PORT CONNECTIONS RAMP_MS REQUESTS SECONDS
 *
 * The connections are opened at once (RAMP_MS 0) or evenly over that time. When the last one is there the counting begins,
 * and it ends after REQUESTS for each connection on the average; or after SECONDS, from the start on.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../harness/program.h"

static const char REQUEST[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
static const char GOOD[] = "HTTP/1.1 200";

/* Answers' times are counted in tenths of a millisecond, up to a minute. */
enum { TIMES = 600000, TIMES_A_SECOND = 10000 };

enum state { UNBORN, CONNECTING, ASKED, IDLE, FAILED };

struct connection {
    enum state state;
    int number;
    uint32_t counted; /* answers since the counting began */
    bool answered;    /* ever */
    size_t got;       /* bytes of the current answer */
    double asked;     /* when */
};

struct crowd {
    int epoll;
    struct sockaddr_in address;
    size_t answer; /* bytes of each answer */
    struct connection *connections;
    long size, opened, settled, errors; /* settled: connected, or failed */
    long wanted, counted;
    double ramp, began, counting, ended; /* seconds; 0: not yet */
    double limit;
    uint32_t times[TIMES];
};

/* ---- the size of an answer, which is the same for all ---- */

static size_t whole_size(const char *data, size_t size) {
    const char *end = memmem(data, size, "\r\n\r\n", 4);
    if (!end) return 0;

    const char *length = strcasestr(data, "\r\ncontent-length:");
    if (!length || length > end) {
        fputs("an answer without a content-length\n", stderr);
        exit(1);
    }
    return (size_t)(end + 4 - data) + strtoul(length + 17, NULL, 10);
}

static size_t probe(const struct sockaddr_in *address) {
    char data[65536];
    size_t size = 0, whole = 0;
    struct timeval patience = {.tv_sec = 10};
    int number = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(number, (const struct sockaddr *)address, sizeof *address) != 0) die("connect");
    if (send(number, REQUEST, sizeof REQUEST - 1, MSG_NOSIGNAL) < 0) die("send");
    while (whole == 0 || size < whole) {
        ssize_t got = recv(number, data + size, sizeof data - 1 - size, 0);
        if (got <= 0) die("recv");
        size += (size_t)got;
        data[size] = '\0';
        whole = whole_size(data, size);
    }
    close(number);
    return whole;
}

/* ---- one connection ---- */

static void settle(struct crowd *crowd) {
    if (++crowd->settled == crowd->size) crowd->counting = now();
}

static void fail(struct crowd *crowd, struct connection *connection) {
    if (connection->state == CONNECTING) settle(crowd);
    if (connection->number != -1) close(connection->number);
    connection->number = -1;
    connection->state = FAILED;
    crowd->errors++;
}

static void ask(struct crowd *crowd, struct connection *connection) {
    connection->state = IDLE;
    if (crowd->ended > 0) return;

    connection->state = ASKED;
    connection->got = 0;
    connection->asked = now();
    ssize_t sent = send(connection->number, REQUEST, sizeof REQUEST - 1, MSG_NOSIGNAL);
    if (sent != (ssize_t)sizeof REQUEST - 1) fail(crowd, connection);
}

static void open_one(struct crowd *crowd) {
    struct connection *connection = &crowd->connections[crowd->opened];
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.u64 = (uint64_t)crowd->opened++};
    int one = 1;
    connection->state = CONNECTING;
    connection->number = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (connection->number == -1) return fail(crowd, connection);

    setsockopt(connection->number, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    int result = connect(connection->number, (struct sockaddr *)&crowd->address, sizeof crowd->address);
    if (result != 0 && errno != EINPROGRESS) return fail(crowd, connection);
    if (epoll_ctl(crowd->epoll, EPOLL_CTL_ADD, connection->number, &event) != 0) fail(crowd, connection);
}

static void connected(struct crowd *crowd, struct connection *connection) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(connection->number, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return fail(crowd, connection);

    settle(crowd);
    ask(crowd, connection);
}

static void count(struct crowd *crowd, struct connection *connection) {
    connection->answered = true;
    if (crowd->counting == 0 || crowd->ended > 0) return;

    double tenths = (now() - connection->asked) * TIMES_A_SECOND;
    crowd->times[tenths < TIMES - 1 ? (int)tenths : TIMES - 1]++;
    connection->counted++;
    if (++crowd->counted == crowd->wanted) crowd->ended = now();
}

static void receive(struct crowd *crowd, struct connection *connection) {
    char data[65536];
    ssize_t got;
    while (connection->state == ASKED && (got = recv(connection->number, data, sizeof data, 0)) > 0) {
        bool bad = connection->got == 0 && got >= (ssize_t)sizeof GOOD - 1 && memcmp(data, GOOD, sizeof GOOD - 1) != 0;
        connection->got += (size_t)got;
        if (bad || connection->got > crowd->answer) return fail(crowd, connection);
        if (connection->got < crowd->answer) continue;
        count(crowd, connection);
        ask(crowd, connection);
    }
    if (connection->state == ASKED && (got == 0 || errno != EAGAIN)) fail(crowd, connection);
}

static void take(struct crowd *crowd, const struct epoll_event *event) {
    struct connection *connection = &crowd->connections[event->data.u64];
    if (connection->state == CONNECTING && event->events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) connected(crowd, connection);
    if (connection->state == ASKED && event->events & ~EPOLLOUT) receive(crowd, connection);
    else if (connection->state == IDLE && event->events & (EPOLLRDHUP | EPOLLERR | EPOLLHUP)) fail(crowd, connection);
}

/* ---- all of them ---- */

static long due(const struct crowd *crowd) {
    double passed = now() - crowd->began;
    return passed >= crowd->ramp ? crowd->size : (long)((double)crowd->size * passed / crowd->ramp);
}

static bool all_idle(const struct crowd *crowd) {
    for (long index = 0; index < crowd->size; index++) {
        if (crowd->connections[index].state == ASKED) return false;
    }
    return true;
}

static void run(struct crowd *crowd) {
    struct epoll_event events[256];
    while (now() - crowd->began < crowd->limit) {
        long until = due(crowd);
        while (crowd->opened < until) open_one(crowd);
        int ready = epoll_wait(crowd->epoll, events, 256, crowd->opened < crowd->size ? 1 : 50);
        for (int index = 0; index < ready; index++) take(crowd, &events[index]);
        if (crowd->ended > 0 && ready < 256 && all_idle(crowd)) return;
    }
    if (crowd->ended == 0) crowd->ended = now();
}

static double percentile(const struct crowd *crowd, double part) {
    long left = (long)((double)crowd->counted * part);
    for (int time = 0; time < TIMES; time++) {
        left -= crowd->times[time];
        if (left < 0) return (time + 1) * 1e3 / TIMES_A_SECOND;
    }
    return 0;
}

static void tell(const struct crowd *crowd) {
    long answered = 0;
    uint32_t least = UINT32_MAX, most = 0;
    for (long index = 0; index < crowd->size; index++) {
        const struct connection *connection = &crowd->connections[index];
        answered += connection->answered;
        if (connection->counted < least) least = connection->counted;
        if (connection->counted > most) most = connection->counted;
    }
    double seconds = crowd->counting > 0 ? crowd->ended - crowd->counting : 0;
    printf("{\"answered\":%ld,\"errors\":%ld,\"least\":%u,\"most\":%u,\"requests\":%ld,\"seconds\":%.6f,\"p99_ms\":%.1f}\n",
           answered, crowd->errors, least, most, crowd->counted, seconds, percentile(crowd, 0.99));
    fflush(stdout);
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    static struct crowd crowd;
    crowd.address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
    crowd.address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    crowd.size = atol(argv[2]);
    crowd.ramp = atof(argv[3]) / 1e3;
    crowd.wanted = crowd.size * atol(argv[4]);
    crowd.limit = atof(argv[5]);
    crowd.connections = calloc((size_t)crowd.size, sizeof *crowd.connections);
    crowd.epoll = epoll_create1(0);
    if (!crowd.connections || crowd.epoll == -1) die("epoll_create1");

    raise_descriptor_limit();
    crowd.answer = probe(&crowd.address);
    crowd.began = now();
    run(&crowd);
    tell(&crowd);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) continue;
    return 0;
}
