/* The end of a call that no member waits for any more, and that of a line. */
#ifndef PLAIT_RB_RPC_LINE_END_H
#define PLAIT_RB_RPC_LINE_END_H

#include "rb_rpc_line.h"

/* No member waits for this answer any more. */
bool plait_line_drop(struct line *line, VALUE future, const char *state);

/* The line is over: every call that has no answer fails at once. */
void plait_line_finish(struct line *line, VALUE reason);

/* Closes the socket, once it is over and no member is at it. */
void plait_line_release(struct line *line);

void plait_init_rpc_line_end(void);

#endif
