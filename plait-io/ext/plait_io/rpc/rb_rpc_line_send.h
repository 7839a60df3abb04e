/* What goes out on a line. */
#ifndef PLAIT_RB_RPC_LINE_SEND_H
#define PLAIT_RB_RPC_LINE_SEND_H

#include "rb_rpc_line.h"

VALUE plait_line_writer(struct line *line);

/* Bytes that are said and not sent. */
uint64_t plait_line_unsent(const struct line *line);

/* Whether too many bytes are unsent to add more. A member that sends just now will notice itself when the peer takes no more. */
bool plait_line_congested(const struct line *line);

/* Bytes that were said, ever. */
uint64_t plait_line_said(const struct line *line);

/* Whether the peer may have all bytes up to this one. */
bool plait_line_may_be_sent(const struct line *line, uint64_t end);

/* Writes the answer; false: the result isn't small. Nothing is sent. */
bool plait_line_answer_small(struct line *line, VALUE id, VALUE result);

/* The same of a String of any size, which is not copied when it is large. */
bool plait_line_answer_string(struct line *line, VALUE id, VALUE result);

/* Sends what the peer takes. Returns whether that is all, or another member sends the rest. */
bool plait_line_flush(struct line *line);

/* Sends, unless another member is about to. */
bool plait_line_flush_soon(struct line *line);

void plait_init_rpc_line_send(void);

#endif
