/* Plait::Io::NativeReactor, for other bindings. Only on Linux. */
#ifndef PLAIT_RB_REACTOR_H
#define PLAIT_RB_REACTOR_H

#include <ruby.h>
#include <stdbool.h>

/*
 * As `wait`, until the moment (monotonic seconds, or INFINITY). `at_once`: the thread sleeps, and gives the GVL away, without a
 * look before; it has none of a scheduler.
 */
VALUE plait_reactor_wait(VALUE reactor, double limit, bool at_once);

/* As `rearm`, for reading, in the first queue. `drained`: nothing was left to read. */
void plait_reactor_rearm(VALUE reactor, int descriptor, bool drained);

#endif
