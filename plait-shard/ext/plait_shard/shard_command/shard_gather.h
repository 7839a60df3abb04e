/* A command with many keys, such as MSET, that is sent on before all of it has come. */
#ifndef PLAIT_SHARD_GATHER_H
#define PLAIT_SHARD_GATHER_H

#include "../shard_plane/shard_plane.h"

/* Whether keys of a command had better be sent on before the rest of it has come; `size` bytes of it are here. */
bool shard_gather_wanted(const struct shard_worker *worker, const struct shard_client *client, const char *data, size_t size);

/* Returns the bytes that are done with. */
size_t shard_gather(struct shard_worker *worker, struct shard_client *client, const char *data, struct shard_buffer *owner);

/* The last keys. */
void shard_gather_last(struct shard_call *call);

/* No more will come. */
void shard_gather_leave(struct shard_worker *worker, struct shard_client *client);

#endif
