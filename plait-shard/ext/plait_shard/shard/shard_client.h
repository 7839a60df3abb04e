/* Clients: how they come, and how they go. */
#ifndef PLAIT_SHARD_CLIENT_H
#define PLAIT_SHARD_CLIENT_H

#include "shard_plane.h"

#ifdef __linux__

void shard_accept(struct shard_worker *worker);

/* Now; replies for it are dropped as they come. */
void shard_client_close(struct shard_worker *worker, struct shard_client *client);

/* It gets what is on its way, and no more: a part of a reply is among that. */
void shard_client_cut(struct shard_worker *worker, struct shard_client *client);

/* Closes those that had time enough to do it themselves. Returns whether there are others. */
bool shard_clients_leave(struct shard_worker *worker);

void shard_bury(struct shard_worker *worker);

/* Of one that is closed, once nothing of it is on its way. */
void shard_client_bury(struct shard_worker *worker, struct shard_client *client);

/* It has got its last reply. */
void shard_client_leave(struct shard_worker *worker, struct shard_client *client);

/* What one that leaves still sends. */
void shard_client_ignore(struct shard_worker *worker, struct shard_client *client);

#endif
#endif
