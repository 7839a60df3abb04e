/* Clients: how they come, and how they go. */
#ifndef PLAIT_SHARD_CLIENT_H
#define PLAIT_SHARD_CLIENT_H

#include "../shard_plane/shard_plane.h"

void shard_accept(struct shard_worker *worker);

/* Now; replies for it are dropped as they come. */
void shard_client_close(struct shard_worker *worker, struct shard_client *client);

/* Closes the leaving clients that had time enough to close themselves. Returns whether there are others. */
bool shard_clients_leave(struct shard_worker *worker);

void shard_bury(struct shard_worker *worker);

#endif
