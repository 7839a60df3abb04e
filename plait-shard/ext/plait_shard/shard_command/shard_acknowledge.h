/* WAIT. */
#ifndef PLAIT_SHARD_ACKNOWLEDGE_H
#define PLAIT_SHARD_ACKNOWLEDGE_H

#include "../shard_plane/shard_plane.h"

/* WAIT; all that the client has asked before is answered. */
void shard_acknowledge(struct shard_call *call);

/* Replies that come before the replies to WAIT, and go to no client. */
uint32_t shard_acknowledge_first(const struct shard_call *call);

#endif
