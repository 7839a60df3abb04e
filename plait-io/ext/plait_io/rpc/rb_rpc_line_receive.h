/* What comes on a line. */
#ifndef PLAIT_RB_RPC_LINE_RECEIVE_H
#define PLAIT_RB_RPC_LINE_RECEIVE_H

#include "rb_rpc_line.h"

/* What is there, without waiting: by callers, for one another. */
void plait_line_take_in(struct line *line);

/* What is there, without waiting, for a permanent reader: requests are handed on. Returns a Symbol. */
VALUE plait_line_intake(struct line *line);

/*
 * A few requests that are there, as a batch, for a worker that runs them at once; else `batch` is left as it is. Returns
 * :idle, :partial, :closed; or :full, there is something that read_available has to look at.
 */
VALUE plait_line_visit(struct line *line, VALUE *batch);
void plait_init_rpc_line_receive(void);

#endif
