/* Waiting for a descriptor on a thread that has no scheduler. */
#ifndef PLAIT_RB_POLL_H
#define PLAIT_RB_POLL_H

/*
 * By poll(2), without the GVL. Returns the events (PLAIT_READABLE, PLAIT_WRITABLE) that came: all of them after an
 * error or a hangup, which the next move tells of, and 0 when the time was over or something else came first. Raises what
 * another thread has raised in this one.
 */
int plait_poll(int descriptor, int events, double limit);

#endif
