/*
 * The physical limits that bench/core compares with: the same work in C, on one thread, with the same system calls.
 *
 *   floor echo                          an echo server; prints its port; a line on stdin makes it print its CPU time
 *   floor ping-pong PAIRS ROUND_TRIPS   one byte to and fro through two pipes a pair
 *   floor sleepers NUMBER               as many timers between 0.1 s and 1 s
 *
 * Each prints one line of JSON; times are in seconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../harness/program.h"

#define BACKLOG 4096
#define EVENTS 512

static void watch(int epoll, int descriptor, uint64_t data)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = data};

    check(epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
}

static int wait_for_events(int epoll, struct epoll_event *events, int milliseconds)
{
    int ready;

    do {
        ready = epoll_wait(epoll, events, EVENTS, milliseconds);
    } while (ready < 0 && errno == EINTR);
    return check(ready, "epoll_wait");
}

/* --- echo ------------------------------------------------------------------------------------------------------- */

static void accept_all(int epoll, int listener)
{
    int connection;
    int on = 1;

    while ((connection = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        watch(epoll, connection, connection);
    }
    if (errno != EAGAIN) {
        die("accept4");
    }
}

/* Messages are far smaller than a socket's buffer, so a short write can't happen and is not handled. */
static void echo(int connection)
{
    char buffer[16384];
    ssize_t length = read(connection, buffer, sizeof buffer);

    if (length > 0 && write(connection, buffer, length) == length) {
        return;
    }
    if (length < 0 && errno == EAGAIN) {
        return;
    }
    close(connection);
}

static void answer_command(void)
{
    char line[64];

    if (read(STDIN_FILENO, line, sizeof line) <= 0) {
        exit(0);
    }
    printf("{\"cpu\":%.9f}\n", seconds(CLOCK_PROCESS_CPUTIME_ID));
    fflush(stdout);
}

static void serve_echo(void)
{
    int epoll = check(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    int listener = listen_on_loopback(BACKLOG);
    struct epoll_event events[EVENTS];

    watch(epoll, listener, listener);
    watch(epoll, STDIN_FILENO, STDIN_FILENO);
    for (;;) {
        int ready = wait_for_events(epoll, events, -1);

        for (int i = 0; i < ready; i++) {
            int descriptor = (int)events[i].data.u64;

            if (descriptor == listener) {
                accept_all(epoll, listener);
            } else if (descriptor == STDIN_FILENO) {
                answer_command();
            } else {
                echo(descriptor);
            }
        }
    }
}

/* --- ping-pong -------------------------------------------------------------------------------------------------- */

struct pair {
    int to_echoer[2];  /* read end, write end */
    int to_caller[2];  /* read end, write end */
    long trips_left;   /* round trips the caller still has to make */
};

static void send_byte(int descriptor)
{
    if (write(descriptor, "x", 1) != 1) {
        die("write");
    }
}

static void receive_byte(int descriptor)
{
    char byte;

    if (read(descriptor, &byte, 1) != 1) {
        die("read");
    }
}

static void open_pair(int epoll, struct pair *pair, uint64_t index, long trips)
{
    check(pipe2(pair->to_echoer, O_NONBLOCK | O_CLOEXEC), "pipe2");
    check(pipe2(pair->to_caller, O_NONBLOCK | O_CLOEXEC), "pipe2");
    pair->trips_left = trips;
    watch(epoll, pair->to_echoer[0], index * 2);
    watch(epoll, pair->to_caller[0], index * 2 + 1);
}

/* One waiting place was reached: the echoer's (even) or the caller's (odd). Returns the round trips completed. */
static int step(struct pair *pair, int caller)
{
    if (!caller) {
        receive_byte(pair->to_echoer[0]);
        send_byte(pair->to_caller[1]);
        return 0;
    }
    receive_byte(pair->to_caller[0]);
    if (--pair->trips_left > 0) {
        send_byte(pair->to_echoer[1]);
    }
    return 1;
}

static long play(int epoll, struct pair *pairs, long count, long trips)
{
    struct epoll_event events[EVENTS];
    long done = 0;

    for (long i = 0; i < count; i++) {
        send_byte(pairs[i].to_echoer[1]);
    }
    while (done < count * trips) {
        int ready = wait_for_events(epoll, events, -1);

        for (int i = 0; i < ready; i++) {
            done += step(&pairs[events[i].data.u64 / 2], events[i].data.u64 % 2);
        }
    }
    return done;
}

static void ping_pong(long count, long trips)
{
    int epoll = check(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    struct pair *pairs = calloc(count, sizeof *pairs);
    double wall, cpu;
    long done;

    for (long i = 0; i < count; i++) {
        open_pair(epoll, &pairs[i], i, trips);
    }
    wall = seconds(CLOCK_MONOTONIC);
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    done = play(epoll, pairs, count, trips);
    printf("{\"cpu\":%.9f,\"wall\":%.9f,\"result\":%ld}\n", seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu,
           seconds(CLOCK_MONOTONIC) - wall, done);
}

/* --- sleepers --------------------------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;

    return (difference > 0) - (difference < 0);
}

/* The same spread as in sleepers.rb: every length once, in a fixed disorder. */
static void draw_times(double *times, long count)
{
    for (long i = 0; i < count; i++) {
        times[i] = 0.1 + 0.9 * (i * 7919 % count) / count;
    }
}

static void sleep_all(long count)
{
    double *times = calloc(count, sizeof *times);
    double start = seconds(CLOCK_MONOTONIC);
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    long done = 0;

    draw_times(times, count);
    qsort(times, count, sizeof *times, compare);
    while (done < count) {
        double due = start + times[done];
        struct timespec until = {.tv_sec = (time_t)due, .tv_nsec = (long)((due - (time_t)due) * 1e9)};

        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        while (done < count && start + times[done] <= seconds(CLOCK_MONOTONIC)) {
            done++;
        }
    }
    printf("{\"cpu\":%.9f,\"wall\":%.9f,\"result\":%ld}\n", seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu,
           seconds(CLOCK_MONOTONIC) - start, done);
}

int main(int argc, char **argv)
{
    raise_descriptor_limit();
    if (argc == 2 && strcmp(argv[1], "echo") == 0) {
        serve_echo();
    } else if (argc == 4 && strcmp(argv[1], "ping-pong") == 0) {
        ping_pong(atol(argv[2]), atol(argv[3]));
    } else if (argc == 3 && strcmp(argv[1], "sleepers") == 0) {
        sleep_all(atol(argv[2]));
    } else {
        fprintf(stderr, "usage: %s echo | ping-pong PAIRS ROUND_TRIPS | sleepers NUMBER\n", argv[0]);
        return 2;
    }
    return 0;
}
