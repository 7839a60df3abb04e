/* What a client is answered once the nodes have taken its name and password, or not. */
#ifndef PLAIT_SHARD_GREETING_H
#define PLAIT_SHARD_GREETING_H

#include "shard_plane.h"

enum { SHARD_GREETING_ROOM = 256 };

/* The nodes have taken its name and password, or not. */
void shard_session_settle(struct shard_client *client, bool taken);

/* What it is answered then. Returns the bytes. */
size_t shard_session_greet(const struct shard_worker *worker, const struct shard_client *client, char reply[SHARD_GREETING_ROOM]);

#endif
