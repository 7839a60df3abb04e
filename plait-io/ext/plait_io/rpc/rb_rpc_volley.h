/*
 * Plait::RPC::NativeVolley: many calls of one method that leave together, and their answers: one object for all of them, which
 * is settled when the last answer is there. Their ids follow one another, so nothing has to be kept for each but its result.
 */
#ifndef PLAIT_RB_RPC_VOLLEY_H
#define PLAIT_RB_RPC_VOLLEY_H

#include <ruby.h>
#include <stdbool.h>
#include <stdint.h>

struct line;
struct volley;

/* The next in the line's list, which ends with NULL. */
struct volley *plait_volley_next(const struct volley *volley);
VALUE plait_volley_self(const struct volley *volley);

/* Whether the answer of this id is still to come. */
bool plait_volley_waits_for(const struct volley *volley, uint64_t id);

/* The answer that the line's parser has told, where one waits for it; else false. */
bool plait_volleys_take(struct line *line);

/* Which waits for this answer, or NULL. */
struct volley *plait_volleys_find(const struct line *line, uint64_t id);

/* Answers that are still to come. */
size_t plait_volleys_pending(const struct line *line);

/* Nobody waits for its answers any more. Does nothing to what is no volley. */
void plait_volley_unlink(struct line *line, VALUE object);

/* Opens one: calls of so many, the first of which has that id. */
void plait_volley_open(struct line *line, VALUE object, uint32_t first, long count);

void plait_init_rpc_volley(VALUE rpc);

#endif
