/* Commands that the proxy answers itself. */
#ifndef PLAIT_SHARD_LOCAL_H
#define PLAIT_SHARD_LOCAL_H

#include "../shard_plane/shard_plane.h"

void shard_ping(struct shard_call *call);
void shard_echo(struct shard_call *call);
void shard_quit(struct shard_call *call);
void shard_select(struct shard_call *call);
void shard_time(struct shard_call *call);

#endif
