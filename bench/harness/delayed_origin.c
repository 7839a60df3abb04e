/*
 * An HTTP origin that answers every request after the same delay and counts how many it holds at once.
 *
 *   delayed_origin MILLISECONDS BODY_BYTES
 *
 * It prints its port. A body begins with the eight digits after the "n=" of its request's target, if there is one, so that an
 * answer to somebody else's request is noticed. A line on stdin makes it print one line of JSON: the requests received, the most connections that
 * were open at once, the most requests that were unanswered at once, and the CPU time it used; the counts begin anew with each line.
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
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "program.h"

#define BACKLOG 16384
#define EVENTS 512
#define MAX_DESCRIPTORS 65536
#define MAX_REQUEST 4096
#define DIGITS 8

struct connection {
    int length;                /* bytes of the head so far */
    int closing;               /* the request said "Connection: close" */
    unsigned generation;       /* of the descriptor: an answer is not sent to its next user */
    char number[DIGITS];       /* of the request that is unanswered */
    char request[MAX_REQUEST]; /* the head so far */
};

struct due {
    int descriptor;
    unsigned generation;
    double at; /* monotonic seconds */
};

struct response {
    char *text;
    size_t length;
    char *number; /* where in the text the request's number belongs */
};

static struct connection *connections[MAX_DESCRIPTORS];
/* The delay is the same for all, so the answers are due in the order of the requests: a ring is enough. */
static struct due ring[MAX_DESCRIPTORS];
static unsigned ring_first, ring_last;
static double delay;
static struct response kept, closing;
static long requests, open_now, open_peak, unanswered_now, unanswered_peak;

static struct response compose(int body_bytes, const char *header)
{
    struct response response = {.text = malloc(body_bytes + 256)};
    int head = sprintf(response.text, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n%s\r\n", body_bytes,
                       header);

    memset(response.text + head, 'x', body_bytes);
    response.number = response.text + head;
    response.length = head + body_bytes;
    return response;
}

static void watch(int epoll, int descriptor)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};

    check(epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
}

static void accept_all(int epoll, int listener)
{
    int descriptor, on = 1;

    while ((descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        if (descriptor >= MAX_DESCRIPTORS) {
            close(descriptor);
            continue;
        }
        if (!connections[descriptor]) {
            connections[descriptor] = calloc(1, sizeof(struct connection));
        }
        connections[descriptor]->length = 0;
        connections[descriptor]->generation++;
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        watch(epoll, descriptor);
        if (++open_now > open_peak) {
            open_peak = open_now;
        }
    }
    if (errno != EAGAIN) {
        die("accept4");
    }
}

static void forget(int descriptor)
{
    connections[descriptor]->generation++;
    close(descriptor);
    open_now--;
}

static void owe_answer(int descriptor, struct connection *connection)
{
    const char *number;

    connection->request[connection->length] = 0;
    number = strstr(connection->request, "n=");
    if (number && strspn(number + 2, "0123456789") >= DIGITS) {
        memcpy(connection->number, number + 2, DIGITS);
    } else {
        memset(connection->number, 'x', DIGITS);
    }
    connection->closing = strcasestr(connection->request, "\r\nConnection: close\r\n") != NULL;
    connection->length = 0;
    ring[ring_last++ % MAX_DESCRIPTORS] = (struct due){descriptor, connection->generation, seconds(CLOCK_MONOTONIC) + delay};
    requests++;
    if (++unanswered_now > unanswered_peak) {
        unanswered_peak = unanswered_now;
    }
}

static void read_request(int descriptor)
{
    struct connection *connection = connections[descriptor];
    ssize_t length = read(descriptor, connection->request + connection->length, MAX_REQUEST - 1 - connection->length);

    if (length < 0 && errno == EAGAIN) {
        return;
    }
    if (length <= 0) {
        forget(descriptor);
        return;
    }
    connection->length += length;
    if (connection->length >= 4 && memcmp(connection->request + connection->length - 4, "\r\n\r\n", 4) == 0) {
        owe_answer(descriptor, connection);
    }
}

/* A connection that is to be closed is only shut down: it counts as open until its client is done with the answer. */
static void answer(struct due *due)
{
    struct connection *connection = connections[due->descriptor];
    struct response *response = connection->closing ? &closing : &kept;

    unanswered_now--;
    if (connection->generation != due->generation) {
        return;
    }
    memcpy(response->number, connection->number, DIGITS);
    if (send(due->descriptor, response->text, response->length, MSG_NOSIGNAL) != (ssize_t)response->length) {
        forget(due->descriptor);
        return;
    }
    if (connection->closing) {
        shutdown(due->descriptor, SHUT_WR);
    }
}

/* Returns the milliseconds until the next answer is due, -1 for none. */
static int answer_due(void)
{
    double time = seconds(CLOCK_MONOTONIC);

    while (ring_first != ring_last && ring[ring_first % MAX_DESCRIPTORS].at <= time) {
        answer(&ring[ring_first++ % MAX_DESCRIPTORS]);
    }
    if (ring_first == ring_last) {
        return -1;
    }
    return (int)((ring[ring_first % MAX_DESCRIPTORS].at - time) * 1e3) + 1;
}

static void tell(void)
{
    char line[64];

    if (read(STDIN_FILENO, line, sizeof line) <= 0) {
        exit(0);
    }
    printf("{\"requests\":%ld,\"open_peak\":%ld,\"unanswered_peak\":%ld,\"cpu\":%.6f}\n", requests, open_peak, unanswered_peak,
           seconds(CLOCK_PROCESS_CPUTIME_ID));
    fflush(stdout);
    requests = 0;
    open_peak = open_now;
    unanswered_peak = unanswered_now;
}

static void serve(void)
{
    int epoll = check(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    int listener = listen_on_loopback(BACKLOG);
    struct epoll_event events[EVENTS];

    watch(epoll, listener);
    watch(epoll, STDIN_FILENO);
    for (;;) {
        int ready = epoll_wait(epoll, events, EVENTS, answer_due());

        for (int i = 0; i < ready; i++) {
            if (events[i].data.fd == listener) {
                accept_all(epoll, listener);
            } else if (events[i].data.fd == STDIN_FILENO) {
                tell();
            } else {
                read_request(events[i].data.fd);
            }
        }
    }
}

int main(int argc, char **argv)
{
    struct rlimit limit;

    if (argc != 3) {
        fprintf(stderr, "usage: %s MILLISECONDS BODY_BYTES\n", argv[0]);
        return 2;
    }
    check(getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
    limit.rlim_cur = limit.rlim_max;
    check(setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
    delay = atoi(argv[1]) / 1e3;
    kept = compose(atoi(argv[2]), "");
    closing = compose(atoi(argv[2]), "Connection: close\r\n");
    serve();
    return 0;
}
