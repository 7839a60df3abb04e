/* Finds the node of a command's keys. */
#ifndef PLAIT_SHARD_FIND_H
#define PLAIT_SHARD_FIND_H

#include "../shard_plane/shard_plane.h"

/* The node of the keys of a command. False: the keys have no single node, and the client has got an error. */
bool shard_find_node(struct shard_call *call, uint32_t *node);

/* The first master that is well, as far as is known. */
uint32_t shard_first_well(const struct shard_worker *worker);

#endif
