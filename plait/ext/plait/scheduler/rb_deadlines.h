/*
 * The deadlines of all waits of one scheduler, and one alarm for the first of them. A timer for each wait halves the speed
 * of short exchanges; here a wait that ends in time costs two pointers.
 */
#ifndef PLAIT_RB_DEADLINES_H
#define PLAIT_RB_DEADLINES_H

#include "../plait_core.h"

struct deadlines {
    struct deadline *first; /* in no order */
    double armed;           /* when the alarm rings; 0: there is none */
    VALUE alarm;            /* Plait::Scheduler::Alarm, or nil */
};

void plait_deadlines_mark(const struct deadlines *deadlines);

/* Takes them all out: the list's memory is about to go. */
void plait_deadlines_drop(struct deadlines *deadlines);

/* On the thread of the scheduler. `self` is what is marked along with the list, for as long as the list is there. */
void plait_deadlines_add(struct deadlines *deadlines, VALUE self, VALUE scheduler, struct deadline *deadline);

/* Takes one out of the list it is in. */
void plait_deadline_remove(struct deadline *deadline);

void plait_init_deadlines(void);

#endif
