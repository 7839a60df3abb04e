/* Commands that the proxy answers itself. */
#ifndef PLAIT_SHARD_LOCAL_H
#define PLAIT_SHARD_LOCAL_H

#include "../shard_plane/shard_plane.h"

void shard_answer_here(struct shard_call *call);

#endif
