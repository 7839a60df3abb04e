/* What comes on a line. */
#ifndef PLAIT_RB_RPC_LINE_RECEIVE_H
#define PLAIT_RB_RPC_LINE_RECEIVE_H

#include "rb_rpc_line.h"

/* What is there, without waiting: by callers, for one another. */
void plait_line_take_in(struct line *line);

/* What is there, without waiting, for a permanent reader: requests are handed on. Returns a Symbol. */
VALUE plait_line_intake(struct line *line);

/*
 * Requests that are there, at most so many, as a batch, for a worker that runs them at once; else `batch` is left as it is.
 * Returns :idle, :partial, :closed; or :full, there is more. That is for the next call if the line holds a request, else for
 * read_available.
 */
VALUE plait_line_take_requests(struct line *line, uint32_t most, VALUE *batch);

/* Whether libssl may hold bytes of the peer. No event of the socket tells of them: they have to be received before a wait. */
bool plait_line_buffered(const struct line *line);

bool plait_line_holds_request(const struct line *line);

void plait_init_rpc_line_receive(void);

#endif
