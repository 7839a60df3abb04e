/*
 * kqueue(2) over epoll(7): as much of it as the server's core uses, so that tests run that code on Linux. A folder to be put
 * into CPATH. A descriptor is in one kqueue, its filters have the same udata, and are added and deleted in one call.
 */
#ifndef SUPPORT_KQUEUE_SYS_EVENT_H
#define SUPPORT_KQUEUE_SYS_EVENT_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <time.h>

enum { EVFILT_READ = -1, EVFILT_WRITE = -2 };

enum { EV_ADD = 0x1, EV_DELETE = 0x2, EV_ENABLE = 0x4, EV_DISABLE = 0x8, EV_CLEAR = 0x20, EV_EOF = 0x8000 };

/* Events of epoll taken at once: each becomes two of kqueue at most. */
enum { KQUEUE_BATCH = 256 };

struct kevent {
    uintptr_t ident; /* a descriptor; not known of an event */
    int16_t filter;
    uint16_t flags;
    uint32_t fflags; /* of an event with EV_EOF: an errno */
    intptr_t data;
    void *udata;
};

#define EV_SET(event, a, b, c, d, e, f) \
    (*(event) = (struct kevent){.ident = (a), .filter = (b), .flags = (c), .fflags = (d), .data = (e), .udata = (f)})

static inline int kqueue(void) {
    return epoll_create1(0);
}

static inline uint32_t kqueue_events_of(const struct kevent *change) {
    uint32_t events = change->filter == EVFILT_READ ? EPOLLIN | EPOLLRDHUP : EPOLLOUT;
    return events | (change->flags & EV_CLEAR ? EPOLLET : 0u);
}

static inline int kqueue_change(int queue, const struct kevent *change, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = change->udata};
    int operation = change->flags & EV_ADD ? EPOLL_CTL_ADD : change->flags & EV_DELETE ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
    if (change->flags & EV_DISABLE) event.events = 0;
    return epoll_ctl(queue, operation, (int)change->ident, &event);
}

/* Changes of one descriptor follow each other. */
static inline int kqueue_change_all(int queue, const struct kevent *changes, int count) {
    for (int index = 0; index < count; index++) {
        uint32_t events = kqueue_events_of(&changes[index]);
        for (; index + 1 < count && changes[index + 1].ident == changes[index].ident; index++) {
            events |= kqueue_events_of(&changes[index + 1]);
        }
        if (kqueue_change(queue, &changes[index], events) != 0) return -1;
    }
    return 0;
}

static inline struct kevent kqueue_event(const struct epoll_event *event, int filter, bool end) {
    struct kevent result = {.filter = (int16_t)filter, .udata = event->data.ptr};
    if (end) result.flags = EV_EOF;
    if (end && event->events & EPOLLERR) result.fflags = ECONNRESET;
    return result;
}

static inline int kqueue_take(const struct epoll_event *event, struct kevent *events) {
    int count = 0;
    bool lost = event->events & (EPOLLHUP | EPOLLERR), ended = lost || event->events & EPOLLRDHUP;
    if (ended || event->events & EPOLLIN) events[count++] = kqueue_event(event, EVFILT_READ, ended);
    if (lost || event->events & EPOLLOUT) events[count++] = kqueue_event(event, EVFILT_WRITE, lost);
    return count;
}

static inline int kevent(int queue, const struct kevent *changes, int change_count, struct kevent *events, int event_count,
                         const struct timespec *timeout) {
    if (kqueue_change_all(queue, changes, change_count) != 0) return -1;
    if (event_count == 0) return 0;

    struct epoll_event ready[KQUEUE_BATCH];
    int room = event_count / 2 < KQUEUE_BATCH ? event_count / 2 : KQUEUE_BATCH, count = 0;
    int milliseconds = timeout ? (int)(timeout->tv_sec * 1000 + timeout->tv_nsec / 1000000) : -1;
    int taken = epoll_wait(queue, ready, room, milliseconds);
    for (int index = 0; index < taken; index++) count += kqueue_take(&ready[index], events + count);
    return taken == -1 ? -1 : count;
}

#endif
