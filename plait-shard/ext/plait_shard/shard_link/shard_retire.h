/* Takes up a new topology, and closes connections to nodes that have left. */
#ifndef PLAIT_SHARD_RETIRE_H
#define PLAIT_SHARD_RETIRE_H

#include "../shard_plane/shard_plane.h"

/* Each turn: takes up another, if there is one. Returns whether there is something to be looked at again. */
bool shard_topology_turn(struct shard_worker *worker);

#endif
