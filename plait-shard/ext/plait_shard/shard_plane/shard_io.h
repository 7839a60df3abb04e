/* What threads do with descriptors. */
#ifndef PLAIT_SHARD_IO_H
#define PLAIT_SHARD_IO_H

#include "shard_plane.h"

/* Tells epoll what to look for, if that is something else than before. */
void shard_watch(struct shard_worker *worker, int socket, uint32_t *known, uint32_t events, void *owner);

/* Ends the connection, even where a forked process has a copy of it. */
void shard_hang_up(struct shard_worker *worker, int socket);

/* Whether it is read from, or rests. */
void shard_link_read(struct shard_worker *worker, struct shard_link *link, bool wanted);

/* What epoll has to look for. */
uint32_t shard_link_events(const struct shard_link *link);

/* All threads take a turn, or one. */
void shard_ring(struct shard *shard);
void shard_ring_one(const struct shard_worker *worker);

#endif
