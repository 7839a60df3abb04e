/* Commands with keys of several slots, to a cluster. */
#ifndef PLAIT_SHARD_SLOTS_H
#define PLAIT_SHARD_SLOTS_H

#include "../shard_plane/shard_plane.h"

/* A cluster takes keys of one slot at a time: a part for each. */
void shard_split_slots(struct shard_call *call, uint32_t step);

/* The keys that are here, for a request that gathers. */
void shard_send_slots(struct shard_call *call, struct shard_request *request);

/* Where each key belongs, into worker->nodes; the keys are every `step` words from `first` on. False: no memory. */
bool shard_place_keys(struct shard_call *call, uint32_t first, uint32_t step, uint32_t *count);

#endif
