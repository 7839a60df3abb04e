/* Chooses the replica that is read from. */
#ifndef PLAIT_SHARD_READER_H
#define PLAIT_SHARD_READER_H

#include "../shard_plane/shard_plane.h"

/* One of a node's replicas that is well, or itself, for a command that may only read. */
uint32_t shard_choose_reader(const struct shard_call *call, uint32_t node);

/* Where a command goes whose keys are on this node. */
static inline uint32_t shard_reader_of(const struct shard_call *call, uint32_t node) {
    return call->worker->shard->settings.reads == SHARD_READS_MASTER ? node : shard_choose_reader(call, node);
}

#endif
