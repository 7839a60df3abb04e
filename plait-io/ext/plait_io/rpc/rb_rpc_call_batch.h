/*
 * Plait::RPC::NativeCallBatch: many calls of one method that leave together, and their answers: one object for all of them, which
 * is settled when the last answer is there. Their ids follow one another, so nothing has to be kept for each but its result.
 */
#ifndef PLAIT_RB_RPC_CALL_BATCH_H
#define PLAIT_RB_RPC_CALL_BATCH_H

#include <ruby.h>
#include <stdbool.h>
#include <stdint.h>

struct line;
struct call_batch;

/* The next in the line's list, which ends with NULL. */
struct call_batch *plait_call_batch_next(const struct call_batch *batch);
VALUE plait_call_batch_self(const struct call_batch *batch);

/* Whether the answer of this id is still to come. */
bool plait_call_batch_waits_for(const struct call_batch *batch, uint64_t id);

/* Takes the answer that the line's parser has announced, where a batch waits for it; else false. */
bool plait_call_batches_take(struct line *line);

/* Which waits for this answer, or NULL. */
struct call_batch *plait_call_batches_find(const struct line *line, uint64_t id);

/* Answers that are still to come. */
size_t plait_call_batches_pending(const struct line *line);

/* No caller waits for its answers any more. Does nothing to an object that is no batch. */
void plait_call_batch_unlink(struct line *line, VALUE object);

/* Opens one: calls of so many, the first of which has that id. */
void plait_call_batch_open(struct line *line, VALUE object, uint32_t first, long count);

void plait_init_rpc_call_batch(VALUE rpc);

#endif
