/* One reply made of the replies of all nodes, for commands whose replies have to be read whole: INFO, CONFIG GET. libc only. */
#ifndef PLAIT_SHARD_ANSWERS_H
#define PLAIT_SHARD_ANSWERS_H

#include "shard_rope.h"
#include "shard_text.h"

/* Replies are whole, and of either RESP. An error where they are not what the command has for an answer; NULL: no memory. */
typedef struct shard_buffer *(*shard_answer_maker)(const struct shard_text *replies, uint32_t count);

struct shard_buffer *shard_answer_info(const struct shard_text *replies, uint32_t count);
struct shard_buffer *shard_answer_pairs(const struct shard_text *replies, uint32_t count);

#endif
