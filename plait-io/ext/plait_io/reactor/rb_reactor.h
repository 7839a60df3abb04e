/* Plait::Io::NativeReactor, for a thread that waits for one of its descriptors and for the others too. Only on Linux. */
#ifndef PLAIT_RB_REACTOR_H
#define PLAIT_RB_REACTOR_H

#include <ruby.h>

/* Whose turn it is. */
enum plait_turn {
    PLAIT_TIME_UP,      /* the time is up */
    PLAIT_INTERRUPTED, /* no descriptor's: the caller checks for interrupts */
    PLAIT_OTHERS,      /* a descriptor's in the reactor; or it was woken, or closed */
    PLAIT_THIS         /* the descriptor's */
};

/*
 * Waits, on a thread without a scheduler, until a descriptor that is not armed is readable, or one that is. Raises nothing:
 * the caller checks for interrupts itself. The descriptor must not be closed meanwhile.
 */
enum plait_turn plait_reactor_wait_beside(VALUE reactor, int descriptor, int milliseconds);

#endif
