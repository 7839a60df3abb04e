/* The bytes that were sent to a node and are not answered, where they may have to be sent elsewhere. */
#ifndef PLAIT_SHARD_KEPT_H
#define PLAIT_SHARD_KEPT_H

#include "../shard_plane/shard_plane.h"

/* Whether a node may redirect a request at all. */
static inline bool shard_is_redirected(const struct shard_worker *worker) {
    const struct shard_settings *settings = &worker->shard->settings;
    return settings->watched || settings->reads != SHARD_READS_MASTER;
}

/* What is to be sent now will have been sent. */
void shard_kept_add(struct shard_worker *worker, struct shard_link *link);

/* All before that place is answered. */
void shard_kept_drop(struct shard_worker *worker, struct shard_link *link, uint64_t until);
void shard_kept_clear(struct shard_worker *worker, struct shard_link *link);

/* The bytes from the first place on up to the second. False: they are not here. */
bool shard_kept_take(struct shard_worker *worker, struct shard_link *link, uint64_t from, uint64_t to, struct shard_rope *bytes);

#endif
