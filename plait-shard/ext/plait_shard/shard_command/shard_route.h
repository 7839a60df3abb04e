/* Where a command goes. */
#ifndef PLAIT_SHARD_ROUTE_H
#define PLAIT_SHARD_ROUTE_H

#include "../shard_plane/shard_plane.h"

/* Sends it where it belongs, or answers; call->command is found, or NULL. */
void shard_dispatch(struct shard_call *call);

#endif
