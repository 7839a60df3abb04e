/* A native thread of the data plane: its loop, and what it does with descriptors. */
#ifndef PLAIT_SHARD_WORKER_H
#define PLAIT_SHARD_WORKER_H

#include "../shard_plane/shard_plane.h"

void *shard_run(void *worker);
int shard_worker_open(struct shard_worker *worker);
void shard_worker_close(struct shard_worker *worker);

#endif
