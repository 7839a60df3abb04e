/* Plait::Io::NativeReactor, for who is at one of its descriptors and waits for the others too. Only on Linux. */
#ifndef PLAIT_RB_REACTOR_H
#define PLAIT_RB_REACTOR_H

#include <ruby.h>

/* Whose turn it is. */
enum plait_turn {
    PLAIT_NOBODY,      /* the time is up */
    PLAIT_INTERRUPTED, /* nobody's: interrupts are to be seen to */
    PLAIT_OTHERS,      /* somebody's in the reactor; or it was woken, or closed */
    PLAIT_THIS         /* the descriptor's */
};

/*
 * Waits, on a thread without a scheduler, until a descriptor that is not armed is readable, or one that is. Raises nothing:
 * who waits sees to interrupts himself. The descriptor must not be closed meanwhile.
 */
enum plait_turn plait_reactor_wait_beside(VALUE reactor, int descriptor, int milliseconds);

#endif
