/* What clients get: replies, in the order of their requests. */
#ifndef PLAIT_SHARD_CLIENT_REPLIES_H
#define PLAIT_SHARD_CLIENT_REPLIES_H

#include "../shard_plane/shard_plane.h"

void shard_client_flush(struct shard_worker *worker, struct shard_client *client);

/* Replies are due in the order of requests. NULL when there is no memory: the client is then closed. */
struct shard_request *shard_request_new(struct shard_worker *worker, struct shard_client *client);

/* Bytes of its reply; `last`: the end of it. */
void shard_request_feed(struct shard_worker *worker, struct shard_request *request, const char *data, size_t size, bool last);

/* The same with bytes of a buffer. */
void shard_request_take(struct shard_worker *worker, struct shard_request *request, struct shard_bytes bytes, bool last);

/* The reply will not come as a whole. */
void shard_request_fail(struct shard_worker *worker, struct shard_request *request, const char *error);

/* Of what has come of its reply. */
void shard_request_forget(struct shard_worker *worker, struct shard_request *request);

#endif
