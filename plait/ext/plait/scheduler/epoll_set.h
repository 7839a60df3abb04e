/*
 * The waits for each descriptor, and an epoll(7) instance that knows when a wait is over. One thread uses it; only
 * `epoll_set_sleep` and `epoll_set_wake` may be called while others run.
 *
 * A registration outlives its wait, level-triggered: a second wait for the same descriptor makes no system call. An
 * event without a wait takes it back.
 */
#ifndef PLAIT_EPOLL_SET_H
#define PLAIT_EPOLL_SET_H

#ifdef HAVE_PLAIT_EPOLL

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <time.h>

/* As IO::READABLE, IO::PRIORITY and IO::WRITABLE. */
enum { EPOLL_SET_READABLE = 1, EPOLL_SET_PRIORITY = 2, EPOLL_SET_WRITABLE = 4 };

/* Events taken from the kernel at once. */
enum { EPOLL_SET_BATCH = 64 };

/* One wait. It lies where its owner wants, and is in one list at most. */
struct interest {
    struct interest *next;
    struct interest **back; /* what points at this one; NULL: it is in no list */
    int descriptor;
    int events;             /* what it waits for */
    int ready;              /* what came */
};

/* What is known of a descriptor's number. */
struct descriptor {
    uintptr_t owner;         /* whose number it was when last waited for; with another, it is another file's */
    struct interest *first;  /* the waits, newest first */
    uint32_t generation;     /* of the registration: the kernel hands it back with each event */
    uint32_t changed;        /* the batch in which it was registered or forgotten */
    int registered;          /* the events that the kernel looks for; 0: it need not know the file */
};

struct epoll_set {
    int epoll;
    int wakeup;                   /* an eventfd that ends a sleep */
    int outdated;               /* the kernel reports a file that no number leads to any longer */
    uint32_t batch;             /* counts them */
    int chunks;                 /* in the table */
    struct descriptor **table;  /* chunks of descriptors; one never moves */
    struct interest *ready;     /* whose wait is over */
    struct interest *always;    /* whose descriptor is always ready (a file's): theirs is over in the next turn */
};

/* A function that returns an int returns 0 or an errno. */

int epoll_set_open(struct epoll_set *set);

/* Frees its descriptors; the waits stay in their lists. */
void epoll_set_close(struct epoll_set *set);

void epoll_set_free(struct epoll_set *set);

/* Bytes on the heap. */
size_t epoll_set_size(const struct epoll_set *set);

/* Every number that was waited for, and many that were not. */
void epoll_set_each(const struct epoll_set *set, void (*each)(const struct descriptor *, void *), void *argument);

/* Adds a wait: its descriptor and events are set. It will be in `ready` when it is over. */
int epoll_set_add(struct epoll_set *set, struct interest *interest, uintptr_t owner);

/* Ends a wait without an event, if it is not over yet. */
void epoll_set_expire(struct epoll_set *set, struct interest *interest);

/* Takes a wait out of the list it is in. */
void epoll_set_remove(struct interest *interest);

/* A descriptor is about to be closed: takes back what the kernel would go on reporting if others have the file open too. */
void epoll_set_forget(struct epoll_set *set, int descriptor);

/* Every owner may have got another file (by dup2(2), say), but the descriptors of which `sure` is true. NULL: none is. */
void epoll_set_doubt(struct epoll_set *set, bool (*sure)(const struct descriptor *));

/* Moves the waits for what is always ready to `ready`. */
void epoll_set_serve(struct epoll_set *set);

/* Returns how many events there are, at most EPOLL_SET_BATCH, or -1. A timeout of NULL is none. */
int epoll_set_sleep(const struct epoll_set *set, struct epoll_event *events, const struct timespec *timeout);

/* Moves the waits for this event to `ready`. */
void epoll_set_take(struct epoll_set *set, const struct epoll_event *event);

/* After the last event of a batch. */
void epoll_set_end_batch(struct epoll_set *set);

/* NULL when no fiber has waited for such a number. */
struct descriptor *epoll_set_find(const struct epoll_set *set, int number);

/* The one an event is about, or NULL. */
struct descriptor *epoll_set_concerned(const struct epoll_set *set, const struct epoll_event *event);

/* Ends a sleep; if there is none, the next one. Safe from any thread and from a signal handler. */
void epoll_set_wake(const struct epoll_set *set);

#endif
#endif
