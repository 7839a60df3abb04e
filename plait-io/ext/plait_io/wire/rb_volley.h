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

#ifdef __linux__

void plait_define_volley(VALUE http);

#else

static inline void plait_define_volley(VALUE http) {
    (void)http;
}

#endif

#endif
