/* Waiting for a line: on a scheduler or on a thread. */
#ifndef PLAIT_RB_RPC_LINE_WAIT_H
#define PLAIT_RB_RPC_LINE_WAIT_H

#include "rb_rpc_line.h"

/* Waits for the events, PLAIT_READABLE or PLAIT_WRITABLE or both, or until the moment. */
void plait_line_wait(struct line *line, int events, double limit);
void plait_line_sleep(struct line *line, struct member *member);
void plait_line_wake(const struct line *line, struct member *member);

/* Runs what calls into Ruby for others, and must not be broken off: an interrupt of this class (Object: a kill, too) comes after
 * it. */
VALUE plait_undisturbed_by(VALUE class, VALUE (*run)(VALUE), VALUE argument);

/* So that it can be woken. */
void plait_line_give_wakeup(struct line *line, struct member *member);
void plait_line_take_wakeup(struct line *line, struct member *member);
void plait_line_let_others_run(const struct member *member);

/*
 * The waiting member goes on: there is something that it would find no event of at the socket. Returns false where nothing can
 * end its wait.
 */
bool plait_line_rouse_reader(const struct line *line);
bool plait_line_rouse_drainer(const struct line *line);

/* On the thread of a scheduler whose fibers wait for the socket: they go on. */
void plait_line_end_waits(const struct line *line);

/* Ends every wait, and leaves the descriptor to the waiting members. */
void plait_line_shut(const struct line *line);

#endif
