/* What a server asks of the kernel, by epoll(7): see server_kernel.h. */
#ifndef PLAIT_SERVER_EPOLL_H
#define PLAIT_SERVER_EPOLL_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* For messages of errors. */
#define SERVER_KERNEL "epoll"

struct server_kernel {
    int number; /* -1: closed */
    int wakeup; /* an eventfd; -1: closed */
};

typedef struct epoll_event server_event;

/* More than one bit each: an end is input, too. */
enum {
    SERVER_READABLE = EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR,
    SERVER_WRITABLE = EPOLLOUT | EPOLLHUP | EPOLLERR,
    SERVER_ENDED = EPOLLRDHUP | EPOLLHUP | EPOLLERR, /* the peer sends nothing more */
    SERVER_LOST = EPOLLHUP | EPOLLERR                /* it takes nothing more either */
};

static inline uint64_t server_event_token(const server_event *event) {
    return event->data.u64;
}

static inline uint32_t server_event_flags(const server_event *event) {
    return event->events;
}

static inline int server_epoll_control(const struct server_kernel *kernel, int operation, int number, uint32_t events,
                                       uint64_t token) {
    struct epoll_event event = {.events = events, .data.u64 = token};
    return epoll_ctl(kernel->number, operation, number, &event) == 0 ? 0 : errno;
}

static inline int server_kernel_open(struct server_kernel *kernel, uint64_t token) {
    kernel->number = epoll_create1(EPOLL_CLOEXEC);
    kernel->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (kernel->number == -1 || kernel->wakeup == -1) return errno;
    return server_epoll_control(kernel, EPOLL_CTL_ADD, kernel->wakeup, EPOLLIN | EPOLLET, token);
}

static inline void server_kernel_close(struct server_kernel *kernel, bool forked) {
    (void)forked; /* a fork has a copy */
    if (kernel->number != -1) close(kernel->number);
    if (kernel->wakeup != -1) close(kernel->wakeup);
    kernel->number = kernel->wakeup = -1;
}

static inline int server_kernel_watch(const struct server_kernel *kernel, int number, uint64_t token) {
    return server_epoll_control(kernel, EPOLL_CTL_ADD, number, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, token);
}

static inline int server_kernel_listen(const struct server_kernel *kernel, int number, uint64_t token) {
    return server_epoll_control(kernel, EPOLL_CTL_ADD, number, EPOLLIN, token);
}

static inline int server_kernel_mute(const struct server_kernel *kernel, int number, uint64_t token, bool muted) {
    return server_epoll_control(kernel, EPOLL_CTL_MOD, number, muted ? 0 : EPOLLIN, token);
}

static inline void server_kernel_forget(const struct server_kernel *kernel, int number) {
    epoll_ctl(kernel->number, EPOLL_CTL_DEL, number, NULL);
}

static inline int server_kernel_sleep(const struct server_kernel *kernel, server_event *events, int count, int milliseconds) {
    return epoll_wait(kernel->number, events, count, milliseconds);
}

static inline void server_kernel_hush(const struct server_kernel *kernel) {
    uint64_t count;
    ssize_t unused = read(kernel->wakeup, &count, sizeof count);
    (void)unused;
}

#endif
