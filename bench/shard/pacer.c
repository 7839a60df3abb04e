/*
 * The load of bench/shard at an equal rate for all: GETs that begin when the clock says so, whether those before them have been
 * answered or not, and are timed from then on. One that only asks again when it has been answered would hide every stall.
 *
 *   pacer PORT CONNECTIONS RATE REQUESTS BYTES KEYS
 *
 * Every key ("key:" and twelve digits) has a value of BYTES. It prints the 50th, 99th and 99.9th percentile in microseconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../harness/program.h"

enum { EVENTS = 256, READ_BYTES = 1 << 16, QUEUE = 4096 /* of a connection, at most */ };

struct connection {
    int descriptor;
    double due[QUEUE];  /* when each that is not answered had to begin, in a ring */
    uint32_t head;      /* the oldest */
    uint32_t count;
    size_t received;    /* bytes of its answer */
};

struct run {
    struct connection *connections;
    double *times;      /* seconds of each that was answered */
    long answered;
    size_t reply;       /* bytes of every answer */
};

static int dial(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int descriptor = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    if (descriptor == -1 || connect(descriptor, (struct sockaddr *)&address, sizeof address)) die("connect");
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (fcntl(descriptor, F_SETFL, O_NONBLOCK)) die("fcntl");
    return descriptor;
}

/* A request of 41 bytes always finds room in the socket, unless all is lost. */
static void ask(struct connection *connection, double due, long key) {
    char request[64];
    int size = snprintf(request, sizeof request, "*2\r\n$3\r\nGET\r\n$16\r\nkey:%012ld\r\n", key);
    if (connection->count == QUEUE) die("too many requests wait");
    if (write(connection->descriptor, request, (size_t)size) != size) die("write");
    connection->due[(connection->head + connection->count++) % QUEUE] = due;
}

static void take(struct run *run, struct connection *connection) {
    static char bytes[READ_BYTES];
    ssize_t got;
    while ((got = read(connection->descriptor, bytes, sizeof bytes)) > 0) {
        double at = now();
        if (connection->received == 0 && bytes[0] != '$') die("an answer that is no value");
        connection->received += (size_t)got;
        for (; connection->received >= run->reply && connection->count; connection->received -= run->reply) {
            run->times[run->answered++] = at - connection->due[connection->head];
            connection->head = (connection->head + 1) % QUEUE;
            connection->count--;
        }
        if (got < (ssize_t)sizeof bytes) return;
    }
    if (got == 0 || errno != EAGAIN) die("read");
}

static int by_size(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static void pace(struct run *run, int epoll, long connections, double rate, long requests, long keys) {
    struct epoll_event events[EVENTS];
    double began = now();
    for (long sent = 0; run->answered < requests;) {
        double at = now();
        for (; sent < requests && began + (double)sent / rate <= at; sent++) {
            ask(&run->connections[sent % connections], began + (double)sent / rate, random() % keys);
        }
        double pause = sent < requests ? began + (double)sent / rate - now() : 1;
        struct timespec until = {(time_t)pause, pause > 0 ? (long)((pause - (double)(time_t)pause) * 1e9) : 0};
        int count = epoll_pwait2(epoll, events, EVENTS, pause > 0 ? &until : &(struct timespec){0, 0}, NULL);
        for (int i = 0; i < count; i++) take(run, events[i].data.ptr);
    }
}

int main(int count, char **words) {
    if (count != 7) return 2;
    long connections = atol(words[2]), requests = atol(words[4]), bytes = atol(words[5]);
    struct run run = {calloc((size_t)connections, sizeof *run.connections), calloc((size_t)requests, sizeof *run.times), 0, 0};
    if (!run.connections || !run.times) die("calloc");
    run.reply = (size_t)snprintf(NULL, 0, "$%ld\r\n\r\n", bytes) + (size_t)bytes;
    int epoll = epoll_create1(0);
    for (long i = 0; i < connections; i++) {
        run.connections[i].descriptor = dial(atoi(words[1]));
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &run.connections[i]};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, run.connections[i].descriptor, &event)) die("epoll_ctl");
    }
    pace(&run, epoll, connections, atof(words[3]), requests, atol(words[6]));
    qsort(run.times, (size_t)requests, sizeof *run.times, by_size);
    printf("%.1f %.1f %.1f\n", run.times[requests / 2] * 1e6, run.times[requests * 99 / 100] * 1e6,
           run.times[requests * 999 / 1000] * 1e6);
    return 0;
}
