/* The threads and fibers that stay on a line: the lists in which they stand, how they are woken, and whose answer is there. */
#ifndef PLAIT_RB_RPC_LINE_MEMBERS_H
#define PLAIT_RB_RPC_LINE_MEMBERS_H

#include "rb_rpc_line.h"

/* Seconds for which a woken member may keep the others waiting. */
static const double LINE_PATIENCE = 0.001;

struct member plait_line_member(enum want want, double limit);

/* Lets the connection know when the future is settled; false: it is settled already. */
bool plait_line_follow(VALUE future);

/* Wakes one of the members whose answers are there, unless one of them is on its way. */
void plait_line_wake_first(struct line *line);

void plait_line_settle(struct line *line, VALUE future, VALUE state, VALUE outcome);
void plait_line_wake_senders(struct line *line);

/* The reader goes on if it waited for what was sent just now by another member. */
void plait_line_rouse_satisfied_reader(const struct line *line, uint64_t unsent);

void plait_line_wake_all(struct line *line);

void plait_line_mark_members(const struct line *line);

/* The result that the parser has announced, where that takes no time: something small, or a String; else Qundef. */
VALUE plait_line_plain_result(const struct line *line);

/* ---- for rb_rpc_line_roles.c and rb_rpc_line_end.c ---- */

bool plait_line_settled(VALUE future);
void plait_line_wake_next_due(struct line *line);
void plait_line_wake_held_up(struct line *line);
void plait_line_attach(struct line *line, struct member *member);
void plait_line_detach(struct line *line, struct member *member);
void plait_line_rouse(struct line *line, struct member *member);
void plait_line_wake_late(struct line *line, double now);

/* For the end of a line, which no interrupt breaks off. */
void plait_line_tell_followers(const struct line *line, VALUE future);

void plait_init_rpc_line_members(void);

#endif
