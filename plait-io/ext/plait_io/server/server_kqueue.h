/*
 * What a server asks of the kernel, by kqueue(2): see server_kernel.h. A descriptor has a filter for input and one for output,
 * which report by events of their own. A pipe ends a sleep, and no EVFILT_USER: write(2) is for signal handlers, too, and a
 * thread that spools keeps a copy of the descriptor beyond the end of the server.
 */
#ifndef PLAIT_SERVER_KQUEUE_H
#define PLAIT_SERVER_KQUEUE_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sys/event.h>
#include <time.h>
#include <unistd.h>

/* For messages of errors. */
#define SERVER_KERNEL "kqueue"

struct server_kernel {
    int number; /* -1: closed */
    int wakeup; /* the end of a pipe; -1: closed */
    int alarm;  /* its other end, which is watched */
};

typedef struct kevent server_event;

enum {
    SERVER_READABLE = 1,
    SERVER_WRITABLE = 2,
    SERVER_ENDED = 4, /* the peer sends nothing more */
    SERVER_LOST = 8   /* it takes nothing more either */
};

_Static_assert(sizeof(void *) >= sizeof(uint64_t), "an event carries a token of 64 bits as its udata");

static inline uint64_t server_event_token(const server_event *event) {
    return (uint64_t)(uintptr_t)event->udata;
}

/* The end of what may be written is the end of the connection: the peer has reset or closed it. */
static inline uint32_t server_event_flags(const server_event *event) {
    bool end = event->flags & EV_EOF, output = event->filter == EVFILT_WRITE;
    if (!end) return output ? SERVER_WRITABLE : SERVER_READABLE;
    if (!output && event->fflags == 0) return SERVER_READABLE | SERVER_ENDED;
    return SERVER_READABLE | SERVER_WRITABLE | SERVER_ENDED | SERVER_LOST;
}

static inline struct kevent server_kqueue_change(int number, int filter, unsigned flags, uint64_t token) {
    struct kevent change;
    EV_SET(&change, (uintptr_t)number, (short)filter, (unsigned short)flags, 0, 0, (void *)(uintptr_t)token);
    return change;
}

static inline int server_kqueue_control(const struct server_kernel *kernel, const struct kevent *changes, int count) {
    int result;
    do result = kevent(kernel->number, changes, count, NULL, 0, NULL);
    while (result == -1 && errno == EINTR);
    return result == -1 ? errno : 0;
}

static inline int server_kqueue_change_input(const struct server_kernel *kernel, int number, unsigned flags, uint64_t token) {
    struct kevent change = server_kqueue_change(number, EVFILT_READ, flags, token);
    return server_kqueue_control(kernel, &change, 1);
}

static inline int server_kqueue_change_both(const struct server_kernel *kernel, int number, unsigned flags, uint64_t token) {
    struct kevent changes[] = {server_kqueue_change(number, EVFILT_READ, flags, token),
                               server_kqueue_change(number, EVFILT_WRITE, flags, token)};
    return server_kqueue_control(kernel, changes, 2);
}

static inline int server_kqueue_open_pipe(struct server_kernel *kernel) {
    int ends[2];
    if (pipe(ends) != 0) return errno;

    for (int end = 0; end < 2; end++) {
        fcntl(ends[end], F_SETFD, FD_CLOEXEC);
        fcntl(ends[end], F_SETFL, O_NONBLOCK);
    }
    kernel->alarm = ends[0];
    kernel->wakeup = ends[1];
    return 0;
}

static inline int server_kernel_open(struct server_kernel *kernel, uint64_t token) {
    kernel->wakeup = kernel->alarm = -1;
    kernel->number = kqueue();
    if (kernel->number == -1) return errno;

    fcntl(kernel->number, F_SETFD, FD_CLOEXEC);
    int error = server_kqueue_open_pipe(kernel);
    return error != 0 ? error : server_kqueue_change_input(kernel, kernel->alarm, EV_ADD | EV_CLEAR, token);
}

/* No fork has a kqueue: there the number is that of no file, or of another one. */
static inline void server_kernel_close(struct server_kernel *kernel, bool forked) {
    if (kernel->number != -1 && !forked) close(kernel->number);
    if (kernel->wakeup != -1) close(kernel->wakeup);
    if (kernel->wakeup != -1) close(kernel->alarm);
    kernel->number = kernel->wakeup = -1;
}

static inline int server_kernel_watch(const struct server_kernel *kernel, int number, uint64_t token) {
    return server_kqueue_change_both(kernel, number, EV_ADD | EV_CLEAR, token);
}

static inline int server_kernel_listen(const struct server_kernel *kernel, int number, uint64_t token) {
    return server_kqueue_change_input(kernel, number, EV_ADD, token);
}

static inline int server_kernel_mute(const struct server_kernel *kernel, int number, uint64_t token, bool muted) {
    return server_kqueue_change_input(kernel, number, muted ? EV_DISABLE : EV_ENABLE, token);
}

/* A listener has no filter for output, which then is an error of no interest. */
static inline void server_kernel_forget(const struct server_kernel *kernel, int number) {
    server_kqueue_change_both(kernel, number, EV_DELETE, 0);
}

static inline int server_kernel_sleep(const struct server_kernel *kernel, server_event *events, int count, int milliseconds) {
    struct timespec time = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L};
    return kevent(kernel->number, NULL, 0, events, count, milliseconds < 0 ? NULL : &time);
}

static inline void server_kernel_hush(const struct server_kernel *kernel) {
    char bytes[512];
    while (read(kernel->alarm, bytes, sizeof bytes) == (ssize_t)sizeof bytes) continue;
}

#endif
