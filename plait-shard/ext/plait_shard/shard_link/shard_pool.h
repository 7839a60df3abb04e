/* Pools: connections to the nodes that begin in the same way, as a user, with a version of RESP. */
#ifndef PLAIT_SHARD_POOL_H
#define PLAIT_SHARD_POOL_H

#include "../shard_plane/shard_plane.h"

/* That of most clients. False: no memory. */
bool shard_pool_open(struct shard_worker *worker);

/* Frees the pools without users where no answer is to come; worker->deserted: there are others. */
void shard_pools_free(struct shard_worker *worker);
void shard_pools_close(struct shard_worker *worker);

/* With this user (NULL: the shard's own) and version. NULL: no memory. */
struct shard_pool *shard_pool_find(struct shard_worker *worker, const char *user, const char *password, bool resp3);

/* A connection is there: what it begins with is sent. */
void shard_link_greet(struct shard_worker *worker, struct shard_link *link);

/* Answers to that have come. */
void shard_link_greeted(struct shard_worker *worker, struct shard_link *link);

#endif
