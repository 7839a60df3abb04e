/* What the files of the scheduler share, and others do not see. */
#ifndef PLAIT_RB_SCHEDULER_NATIVE_H
#define PLAIT_RB_SCHEDULER_NATIVE_H

#include "rb_scheduler.h"
#include "rb_selector.h"
#include "sleepers.h"

/* Seconds; the twin is Scheduler::LONGEST_POLL. */
enum { PLAIT_LONGEST_POLL = 3600 };

/* What the hooks need at each call, one instance variable away. */
struct native {
    VALUE selector;
    struct selector *own;    /* the same, when it is ours; else NULL */
    VALUE thread;
    VALUE loop;              /* Scheduler's @loop */
    VALUE ready;             /* its @ready */
    VALUE blocked;           /* its @blocked */
    VALUE inbox;             /* its @inbox, and that one's entries */
    VALUE entries;
    VALUE raised;            /* its @raised: threads with a longer time slice */
    VALUE unblock;           /* the class */
    double slice;            /* its @slice */
    int exposed;             /* Mutex#unlock can be overtaken inside our hook */
    unsigned long waits;     /* part of Scheduler#ticks */
    int written;             /* 1 + the descriptor to which io_write has just written all that it was given; else 0 */
    struct deadlines deadlines;
    bool sleeps;             /* what asks for kernel_sleep is nothing but sleep, see Patches.mutex_sleep? */
    struct sleepers sleepers;
};

/* A fiber that sleeps; it lies on that fiber's stack. */
struct nap {
    struct sleeper sleeper; /* first: the heap's pointers are ours */
    struct native *native;
    VALUE fiber;
};

extern const rb_data_type_t plait_native_type;

/* The instance variable. */
extern ID plait_native_id;

void plait_init_native(void);

/* Of a Plait::Scheduler. */
static inline struct native *plait_native_in(VALUE self) {
    return rb_check_typeddata(rb_ivar_get(self, plait_native_id), &plait_native_type);
}

/* The current fiber waits for it. Returns the events that came, or false. */
static inline VALUE plait_native_await(struct native *native, VALUE io, int events) {
    native->waits++;
    native->written = 0;
    return plait_selector_wait(native->own, io, plait_descriptor_of(io), events);
}

/* Whether an IO has a timeout of its own. */
int plait_has_timeout(VALUE io);

/* Fibers whose time to sleep is over go on. */
void plait_native_wake_sleepers(struct native *native);

void plait_scheduler_define_moves(VALUE native);
void plait_scheduler_define_sleep(VALUE native);
void plait_scheduler_define_spin(VALUE native);
void plait_scheduler_define_unblock(VALUE native);

#endif
