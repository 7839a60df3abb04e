/* Connections to nodes: how they are made, and what comes on them. */
#ifndef PLAIT_SHARD_LINK_RECEIVE_H
#define PLAIT_SHARD_LINK_RECEIVE_H

#include "../shard_plane/shard_plane.h"

void shard_link_event(struct shard_worker *worker, struct shard_link *link, uint32_t events);

/* From time to time: gives up links that have taken too long, and frees pools without users. Returns whether there may be more. */
bool shard_links_check(struct shard_worker *worker);

#endif
