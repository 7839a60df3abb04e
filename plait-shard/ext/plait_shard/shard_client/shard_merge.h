/* One reply made of several. */
#ifndef PLAIT_SHARD_MERGE_H
#define PLAIT_SHARD_MERGE_H

#include "shard_client_replies.h"
#include "../shard_plane/shard_plane.h"

/* `keys`: of SHARD_VALUES, or 0. NULL when there is no memory. */
struct shard_merge *shard_merge_new(enum shard_merging kind, uint32_t parts, uint32_t keys);
void shard_merge_free(struct shard_worker *worker, struct shard_request *request);

/* No client wants the bytes that have come, nor the bytes that will come. */
void shard_merge_forget(struct shard_worker *worker, struct shard_request *request);

/* Forwards what may be. */
void shard_merge_go_on(struct shard_worker *worker, struct shard_request *request);

/* Bytes of a part's reply. */
void shard_merge_feed(struct shard_worker *worker, struct shard_request *request, uint32_t part, const char *data,
                      size_t size, bool last);
void shard_merge_fail(struct shard_worker *worker, struct shard_request *request, uint32_t part, const char *error);

/* A part that needs no reply of a node is done with. */
void shard_merge_finish_part(struct shard_worker *worker, struct shard_request *request);

/* Bytes of the reply that a request waits for. */
static inline void shard_waiter_feed(struct shard_worker *worker, const struct shard_waiter *waiter, const char *data, size_t size, bool last) {
    if (waiter->request->merge) shard_merge_feed(worker, waiter->request, waiter->part, data, size, last);
    else shard_request_feed(worker, waiter->request, data, size, last);
}

#endif
