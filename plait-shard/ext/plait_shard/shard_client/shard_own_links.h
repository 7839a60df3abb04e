/* Connections to nodes for one command at a time. */
#ifndef PLAIT_SHARD_OWN_LINKS_H
#define PLAIT_SHARD_OWN_LINKS_H

#include "../shard_plane/shard_plane.h"

/* Whether there is a connection, from 1 on, or one to each: SHARD_ALL. */
bool shard_own_links(struct shard_worker *worker, uint32_t node);

/* A connection that no other client has until it was answered, or NULL: there is no memory. */
struct shard_link *shard_take_link(struct shard_worker *worker, struct shard_pool *pool, uint32_t node);

void shard_release_link(struct shard_worker *worker, struct shard_link *link);

#endif
