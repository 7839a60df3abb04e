/*
 * Plait::HTTP::NativeVolley: many requests on their way, and one fiber that waits for all their answers. A request that waits
 * takes no fiber and no thread: it is a descriptor in an epoll set and a place in a table. Of the scheduler the volley needs
 * no more than to wait for that set, which is a descriptor as well.
 *
 * Edge-triggered: what arrives is told once, so that a connection between two requests, or one whose body a fiber is reading,
 * costs nothing further. Linux only: elsewhere there is no such class.
 */
#ifndef PLAIT_RB_VOLLEY_H
#define PLAIT_RB_VOLLEY_H

#include <ruby.h>
#include <stdbool.h>

struct volley;
struct wire;

#ifdef __linux__

/*
 * Takes a wire aboard whose request is about to be sent; `passenger` is handed out again with the answer. Returns false where
 * that can't be: the volley is another scheduler's, or closed, or the kernel refuses.
 */
bool plait_volley_board(VALUE volley, VALUE wire, VALUE passenger);

/*
 * Whether something has come on a connection while it was not aboard: bytes that nobody has asked for, or the end; or those
 * of a body that a fiber has received meanwhile. Tells it once.
 */
bool plait_volley_stirred(VALUE volley, const struct wire *wire, int descriptor);

/* Once aboard: when it has to end, in monotonic seconds, or INFINITY. */
void plait_volley_limit(struct wire *wire, double at);

/* Lets it go, if it is aboard of one. */
void plait_volley_leave(struct wire *wire);

void plait_define_volley(VALUE http);

#else

static inline bool plait_volley_board(VALUE volley, VALUE wire, VALUE passenger) {
    (void)volley, (void)wire, (void)passenger;
    return false;
}

static inline bool plait_volley_stirred(VALUE volley, const struct wire *wire, int descriptor) {
    (void)volley, (void)wire, (void)descriptor;
    return false;
}

static inline void plait_volley_limit(struct wire *wire, double at) {
    (void)wire, (void)at;
}

static inline void plait_volley_leave(struct wire *wire) {
    (void)wire;
}

static inline void plait_define_volley(VALUE http) {
    (void)http;
}

#endif

#endif
