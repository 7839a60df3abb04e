/*
 * Connections that wait for their peer: an epoll(7) instance, 40 bytes each, and queues by the time since when they wait.
 *
 * An armed connection is reported once, when something has come on it. Then the kernel ignores it until it is armed again
 * (EPOLLONESHOT): one thread alone gets the event. Until then it costs nothing but its bytes. A connection that is read until
 * nothing is left, again and again, is armed once for all its events (EPOLLET).
 *
 * A queue holds the connections that wait for the same reason, the oldest first. So an expired connection is found without
 * a look at the others. A reported connection keeps its place: armed again with `keep`, its time goes on.
 *
 * One thread at a time uses it; only `reactor_sleep` and `reactor_wake` may be called while others run.
 */
#ifndef PLAIT_REACTOR_H
#define PLAIT_REACTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

/* As IO::READABLE and IO::WRITABLE. */
enum { REACTOR_READABLE = 1, REACTOR_WRITABLE = 4 };

/* Events taken from the kernel at once: so many are served before it is asked again which others are ready. */
enum { REACTOR_BATCH = 64 };

enum { REACTOR_QUEUES = 4 };

/* No entry's number. */
enum { REACTOR_NONE = -1 };

enum reactor_state {
    REACTOR_ABSENT,
    REACTOR_ARMED, /* its event is awaited */
    REACTOR_READY, /* its event has come, and it was not reported yet */
    REACTOR_TAKEN   /* a caller has it */
};

/* What is known of a descriptor's number. */
struct reactor_entry {
    uintptr_t token;     /* the caller's word for it */
    double since;        /* when it was put at the end of its queue */
    int before, after;   /* its neighbours in the queue: numbers, or REACTOR_NONE */
    int next_ready;      /* in the list of the ready ones */
    uint32_t generation; /* of the arming: the kernel hands it back with the event */
    uint8_t state;       /* enum reactor_state */
    uint8_t queue;
    bool in_ready;       /* it stands in the list of the ready ones, perhaps in vain */
    bool lasts;          /* the kernel reports its next bytes too, without another arming */
};

struct reactor_list {
    int first, last; /* numbers, or REACTOR_NONE */
};

struct reactor {
    int epoll;                                  /* -1: closed */
    int wakeup;                                   /* an eventfd that ends a sleep */
    int chunks;                                 /* in the table */
    struct reactor_entry **table;               /* chunks of entries; one never moves */
    size_t count;                               /* entries that are not absent */
    struct reactor_list ready;                  /* in the order in which their events came */
    struct reactor_list queues[REACTOR_QUEUES]; /* oldest first */
};

/* A function that returns an int returns 0 or an errno. Times are seconds on any clock, the same for all calls. */

int reactor_open(struct reactor *reactor);

/* Frees the descriptors and the memory: every connection is forgotten. */
void reactor_close(struct reactor *reactor);

/* Bytes on the heap. */
size_t reactor_bytes(const struct reactor *reactor);

/* Calls back for every connection. */
void reactor_each(const struct reactor *reactor, void (*each)(struct reactor_entry *, void *), void *argument);

/* Adds a descriptor, armed. What was known of its number is forgotten: a file that was closed leaves epoll by itself. */
int reactor_add(struct reactor *reactor, int number, uintptr_t token, int events, int queue, double now);

/* Arms it again; ENOENT when it was never added. `keep`: in the same queue it stays at its place, with its time. */
int reactor_rearm(struct reactor *reactor, int number, int events, int queue, bool keep, double now);

/* Arms it again for reading, at the end of queue 0, after all there was has been read. As a rule without a system call. */
int reactor_rearm_drained(struct reactor *reactor, int number, double now);

/* Forgets it. Returns whether it was there. */
bool reactor_remove(struct reactor *reactor, int number);

/* NULL when it is absent. */
struct reactor_entry *reactor_find(const struct reactor *reactor, int number);

/* Fills REACTOR_BATCH events; returns how many, or -1. Milliseconds below 0: without an end. */
int reactor_sleep(const struct reactor *reactor, struct epoll_event *events, int milliseconds);

/* Takes note of an event. Returns false for the event of the wakeup: a thread has called `reactor_wake`. */
bool reactor_take(struct reactor *reactor, const struct epoll_event *event);

/* The next one whose event has come, or NULL; it is then taken. */
struct reactor_entry *reactor_next_ready(struct reactor *reactor);

/*
 * The next of a queue that is armed, and since before `before`, or NULL; it is then taken, and its event, if one comes now,
 * is dropped. `cursor` begins as REACTOR_NONE; taken connections are passed over, once.
 */
struct reactor_entry *reactor_next_expired(struct reactor *reactor, int queue, double before, int *cursor);

/* The one of a queue that has been armed longest, or NULL. */
const struct reactor_entry *reactor_oldest(const struct reactor *reactor, int queue);

/* Ends a sleep; if there is none, the next one. Safe from any thread and from a signal handler. */
void reactor_wake(const struct reactor *reactor);

#endif
