/* See sleepers.h. */
#include "sleepers.h"

#include <errno.h>
#include <stdlib.h>

enum { AT_FIRST = 64 };

static void sleepers_put(struct sleepers *sleepers, struct sleeper *sleeper, ptrdiff_t place) {
    sleepers->heap[place] = sleeper;
    sleeper->place = place;
}

static void sleepers_rise(struct sleepers *sleepers, struct sleeper *sleeper, ptrdiff_t place) {
    while (place > 0) {
        struct sleeper *parent = sleepers->heap[(place - 1) / 2];
        if (parent->at <= sleeper->at) break;
        sleepers_put(sleepers, parent, place);
        place = (place - 1) / 2;
    }
    sleepers_put(sleepers, sleeper, place);
}

static void sleepers_sink(struct sleepers *sleepers, struct sleeper *sleeper, ptrdiff_t place) {
    for (ptrdiff_t child; (child = 2 * place + 1) < sleepers->size; place = child) {
        struct sleeper **heap = sleepers->heap;
        if (child + 1 < sleepers->size && heap[child + 1]->at < heap[child]->at) child++;
        if (sleeper->at <= heap[child]->at) break;
        sleepers_put(sleepers, heap[child], place);
    }
    sleepers_put(sleepers, sleeper, place);
}

int sleepers_add(struct sleepers *sleepers, struct sleeper *sleeper) {
    if (sleepers->size == sleepers->capacity) {
        ptrdiff_t capacity = sleepers->capacity ? sleepers->capacity * 2 : AT_FIRST;
        struct sleeper **heap = realloc(sleepers->heap, (size_t)capacity * sizeof *heap);
        if (!heap) return ENOMEM;

        sleepers->heap = heap;
        sleepers->capacity = capacity;
    }
    sleepers_rise(sleepers, sleeper, sleepers->size++);
    return 0;
}

void sleepers_remove(struct sleepers *sleepers, struct sleeper *sleeper) {
    ptrdiff_t place = sleeper->place;
    if (place == SLEEPERS_NOWHERE) return;

    sleeper->place = SLEEPERS_NOWHERE;
    struct sleeper *last = sleepers->heap[--sleepers->size];
    if (last == sleeper) return;

    if (last->at < sleeper->at) sleepers_rise(sleepers, last, place);
    else sleepers_sink(sleepers, last, place);
}

struct sleeper *sleepers_first(const struct sleepers *sleepers) {
    return sleepers->size > 0 ? sleepers->heap[0] : NULL;
}

void sleepers_free(struct sleepers *sleepers) {
    free(sleepers->heap);
    *sleepers = (struct sleepers){0};
}
