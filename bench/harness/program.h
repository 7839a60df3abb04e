/* What the C programs of the benches have in common: an end with a reason, clocks, limits, where to listen. */
#ifndef BENCH_PROGRAM_H
#define BENCH_PROGRAM_H

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

/* Says errno's reason. */
__attribute__((noreturn)) static inline void die(const char *what) {
    perror(what);
    exit(1);
}

static inline int check(int result, const char *what) {
    if (result < 0) die(what);
    return result;
}

static inline double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static inline double now(void) {
    return seconds(CLOCK_MONOTONIC);
}

/* To the hard limit: ten thousand connections need it. */
static inline void raise_descriptor_limit(void) {
    struct rlimit limit;
    check(getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
    limit.rlim_cur = limit.rlim_max;
    check(setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
}

/* On a free port, which is printed for who has started the program. */
static inline int listen_on_loopback(int backlog) {
    int listener = check(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;

    check(bind(listener, (struct sockaddr *)&address, length), "bind");
    check(listen(listener, backlog), "listen");
    check(getsockname(listener, (struct sockaddr *)&address, &length), "getsockname");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

#endif
