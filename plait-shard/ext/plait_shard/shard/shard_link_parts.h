/* What the files of connections to nodes share. */
#ifndef PLAIT_SHARD_LINK_PARTS_H
#define PLAIT_SHARD_LINK_PARTS_H

#include "shard_client_replies.h"
#include "shard_merge.h"
#include "shard_plane.h"

/* What a node may answer is its own affair: it is passed on, not kept. */
extern const struct resp_limits shard_link_replies;

/* Whether a request waits for a reply. */
static inline bool shard_link_is_busy(const struct shard_link *link) {
    return link->head != link->tail;
}

static inline struct shard_waiter *shard_link_waiter(const struct shard_link *link, uint32_t place) {
    return &link->waiters[place & (link->room - 1)];
}

/* Bytes of the reply that a request waits for. */
static inline void shard_waiter_feed(struct shard_worker *worker, const struct shard_waiter *waiter, const char *data, size_t size, bool last) {
    if (waiter->request->merge) shard_merge_feed(worker, waiter->request, waiter->part, data, size, last);
    else shard_request_feed(worker, waiter->request, data, size, last);
}

/* It is looked at from time to time whether it takes too long. */
void shard_link_time(struct shard_worker *worker, struct shard_link *link);

/* Closes the socket; the waiting requests go on waiting. */
void shard_link_disconnect(struct shard_worker *worker, struct shard_link *link);

/* As shard_link_give_up, because of an errno. */
void shard_link_give_up_by(struct shard_worker *worker, struct shard_link *link, const char *what, int number);

#endif
