/* The end of a data plane without the end of what is under way. */
#ifndef PLAIT_SHARD_DRAIN_H
#define PLAIT_SHARD_DRAIN_H

#include "../shard_plane/shard_plane.h"

/* What shard->draining says. */
enum { SHARD_SERVES, SHARD_LINGERS, SHARD_DRAINS };

/* The wakeup has rung: it is not to ring on. */
void shard_drain_heard(struct shard_worker *worker);

/* Each turn. Returns whether there is something to wait for. */
bool shard_drain_turn(struct shard_worker *worker);

#endif
