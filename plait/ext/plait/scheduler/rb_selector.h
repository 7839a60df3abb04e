/* How the scheduler's hooks wait for descriptors on Linux: by an epoll of their own. */
#ifndef PLAIT_RB_SELECTOR_H
#define PLAIT_RB_SELECTOR_H

#include <ruby.h>

#include "../plait_bindings.h"

struct selector;

#ifdef HAVE_PLAIT_EPOLL

/* NULL when it is another library's, such as io-event's. */
struct selector *plait_selector_of(VALUE object);

/* The current fiber waits. Returns the events that came, or false when it was resumed for another reason. */
VALUE plait_selector_wait(struct selector *selector, VALUE io, int descriptor, int events);

/* The current fiber waits until an object transfers to it: that object must know it, and call from the loop. */
void plait_selector_leave(const struct selector *selector);

/* Has that fiber go on, without an event, if it waits for the descriptor. Allocates nothing. */
void plait_selector_end_wait(struct selector *selector, int descriptor, VALUE fiber);

/* Resumes fibers whose wait is over. With nothing to do it sleeps, at most so many seconds; below 0: without an end. */
void plait_selector_turn(struct selector *selector, double seconds);

/* Whether what a fiber does next still belongs to this turn. */
bool plait_selector_slice_left(const struct selector *selector);

/* From any thread, with the GVL: has `transfer` called of it on the loop's thread, soon. */
void plait_selector_push(struct selector *selector, VALUE object);

/* The fibers that wait for it. */
VALUE plait_selector_waiting_for(struct selector *selector, VALUE io);

/* It is about to be closed on the loop's thread. */
void plait_selector_forget(struct selector *selector, int descriptor);

#else

static inline struct selector *plait_selector_of(VALUE object) {
    return (void)object, NULL;
}

static inline VALUE plait_selector_wait(struct selector *selector, VALUE io, int descriptor, int events) {
    return (void)selector, (void)io, (void)descriptor, (void)events, Qfalse;
}

static inline void plait_selector_leave(const struct selector *selector) {
    (void)selector;
}

static inline void plait_selector_end_wait(struct selector *selector, int descriptor, VALUE fiber) {
    (void)selector, (void)descriptor, (void)fiber;
}

static inline void plait_selector_turn(struct selector *selector, double seconds) {
    (void)selector, (void)seconds;
}

static inline bool plait_selector_slice_left(const struct selector *selector) {
    return (void)selector, false;
}

static inline void plait_selector_push(struct selector *selector, VALUE object) {
    (void)selector, (void)object;
}

static inline VALUE plait_selector_waiting_for(struct selector *selector, VALUE io) {
    return (void)selector, (void)io, Qnil;
}

static inline void plait_selector_forget(struct selector *selector, int descriptor) {
    (void)selector, (void)descriptor;
}

#endif

#endif
