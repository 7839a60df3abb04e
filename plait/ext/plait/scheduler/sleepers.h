/*
 * The sleeping fibers by time: a binary heap of structs that lie where their owner wants. Adding and taking one out costs a few
 * pointers, whichever it is, and no memory of its own.
 */
#ifndef PLAIT_SLEEPERS_H
#define PLAIT_SLEEPERS_H

#include <stddef.h>

enum { SLEEPERS_NOWHERE = -1 };

struct sleeper {
    double at;       /* seconds, on any clock */
    ptrdiff_t place; /* in the heap, or SLEEPERS_NOWHERE */
};

struct sleepers {
    struct sleeper **heap;
    ptrdiff_t size;
    ptrdiff_t capacity;
};

/* Returns 0 or ENOMEM. */
int sleepers_add(struct sleepers *sleepers, struct sleeper *sleeper);

/* Takes one out, if it is still in there. */
void sleepers_remove(struct sleepers *sleepers, struct sleeper *sleeper);

/* The first one to wake, still in there; NULL: none sleeps. */
struct sleeper *sleepers_first(const struct sleepers *sleepers);

/* Takes every sleeper out. Its memory may have gone with its fiber's stack, so it is not touched. */
void sleepers_free(struct sleepers *sleepers);

#endif
