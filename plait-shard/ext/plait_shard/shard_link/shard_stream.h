/* Commands and replies that are forwarded while they arrive, and connections of their own. */
#ifndef PLAIT_SHARD_STREAM_H
#define PLAIT_SHARD_STREAM_H

#include "../shard_plane/shard_plane.h"

/* Whether what is scanned, of which `size` bytes are here, had better be forwarded while it arrives. */
bool shard_stream_wanted(const struct shard_worker *worker, const struct shard_client *client, const char *data, size_t size);

/* Only when all that the client has asked for before is answered, and there is a connection. False: there is none. */
bool shard_stream_begin(struct shard_worker *worker, struct shard_client *client, const char *data, size_t size,
                        struct shard_buffer *owner);

/* While client->left: returns the bytes that belonged to it. */
size_t shard_stream_pass(struct shard_worker *worker, struct shard_client *client, const char *data, size_t size,
                         struct shard_buffer *owner);

/* The client is closed with bytes still to come. */
void shard_stream_leave(struct shard_worker *worker, struct shard_client *client);

/* Returns whether there is a connection that has to be looked at again. */
bool shard_streams_check(struct shard_worker *worker);
void shard_streams_close(struct shard_worker *worker);

#endif
