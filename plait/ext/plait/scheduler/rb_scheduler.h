/* What other bindings need of the scheduler: to wait on it without a call into Ruby. */
#ifndef PLAIT_RB_SCHEDULER_H
#define PLAIT_RB_SCHEDULER_H

#include <ruby.h>
#include <stdbool.h>

#include "rb_deadlines.h"

/* Of a Plait::Scheduler; NULL for another one. */
struct native *plait_native_of(VALUE scheduler);

/* A deadline of what the scheduler's thread does not wait for in a fiber of its own. Its owner takes it out. */
void plait_native_deadline(VALUE scheduler, struct deadline *deadline);

/*
 * The current fiber, one of the scheduler's, waits for an IO, or until its deadline expires: then `expire` has been called.
 * Without a deadline (NULL) it waits without an end. Returns the events that came, or false when something else resumed it.
 * When it raises, the deadline may still be in its list: its owner takes it out.
 */
VALUE plait_native_wait(struct native *native, VALUE scheduler, VALUE io, int events, struct deadline *deadline);

/*
 * As the hook unblock, from any thread; false: it is not ours. A thread that calls the hook itself can be interrupted when the
 * hook returns, in the middle of its work for others.
 */
bool plait_native_unblock(VALUE scheduler, VALUE blocker, VALUE fiber);

/* Whether plait_native_end_wait works with it. */
bool plait_native_ends_waits(const struct native *native);

/*
 * Whether plait_native_leave works with it: the current fiber waits until an object transfers to it on the loop. That object
 * is called by plait_native_push. Not with a watchdog, which would not see it.
 */
bool plait_native_leaves(const struct native *native, VALUE scheduler);
void plait_native_leave(const struct native *native);

/* As Scheduler#ticks: another number than before if a fiber has waited in between. */
unsigned long plait_native_ticks(const struct native *native, VALUE scheduler);

/* The thread of its loop. */
VALUE plait_native_thread(const struct native *native);

/* From any thread: has `transfer` called of the object on that thread, soon. Where plait_native_ends_waits. */
void plait_native_push(const struct native *native, VALUE object);

/* For an `expire`: has that fiber go on, if it waits for the descriptor by plait_native_wait. */
void plait_native_end_wait(const struct native *native, int descriptor, VALUE fiber);

#endif
