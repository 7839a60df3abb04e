/*
 * Plait::HTTP::NativeBatch: many requests on their way, and one fiber that waits for all their answers. A request that waits
 * takes no fiber and no thread: it is a descriptor in an epoll set and a place in a table. Of the scheduler the batch needs
 * no more than to wait for that set, which is a descriptor as well.
 *
 * Edge-triggered: what arrives is reported once, so that an idle connection, or one whose body a fiber is reading,
 * costs nothing further. Linux only: elsewhere there is no such class.
 */
#ifndef PLAIT_RB_WIRE_BATCH_H
#define PLAIT_RB_WIRE_BATCH_H

#include <ruby.h>

#ifdef HAVE_PLAIT_EPOLL

void plait_define_wire_batch(VALUE http);

#else

static inline void plait_define_wire_batch(VALUE http) {
    (void)http;
}

#endif

#endif
