/* What is here of clients and for nodes, and its bounds. */
#ifndef PLAIT_SHARD_MEMORY_H
#define PLAIT_SHARD_MEMORY_H

#include "../shard_plane/shard_plane.h"

/* What is here of a client, or for it, has become more or less. */
void shard_weigh_client(struct shard_worker *worker, struct shard_client *client);
void shard_weigh_link(struct shard_worker *worker, struct shard_link *link);

/* Where clients hold more memory than they may together, the clients that hold the most are closed. */
void shard_relieve(struct shard_worker *worker);

/* Whether so many bytes wait for nodes that slow nodes get no more. */
bool shard_is_overfull(const struct shard_worker *worker, const struct shard_link *link);

/* Whether there is so much of what only grows that it is worth to be given back. */
bool shard_is_swollen(const struct shard_worker *worker);

/* Gives it back. */
void shard_shrink(struct shard_worker *worker);

#endif
