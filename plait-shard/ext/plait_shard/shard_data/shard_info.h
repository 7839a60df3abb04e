/* The texts of INFO of several nodes as one. libc only. */
#ifndef PLAIT_SHARD_INFO_H
#define PLAIT_SHARD_INFO_H

#include "shard_rope.h"
#include "shard_text.h"

/*
 * Sections and lines of the first text: figures that can be added are, of times the largest is taken, and words that all say alike
 * stand as they are. What differs, and figures that can't be added, are left out. NULL: no memory.
 */
struct shard_buffer *shard_info_merge(const struct shard_text *texts, uint32_t count);

#endif
