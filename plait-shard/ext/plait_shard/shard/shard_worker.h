/* A native thread of the data plane: its loop, and what it does with descriptors. */
#ifndef PLAIT_SHARD_WORKER_H
#define PLAIT_SHARD_WORKER_H

#include "shard_plane.h"

#ifdef __linux__

void *shard_run(void *worker);
int shard_worker_open(struct shard_worker *worker);
void shard_worker_close(struct shard_worker *worker);

/* Tells epoll what to look for, if that is something else than before. */
void shard_watch(struct shard_worker *worker, int socket, uint32_t *known, uint32_t events, void *owner);

/* Ends the connection, even where a forked process has a copy of it. */
void shard_hang_up(struct shard_worker *worker, int socket);

/* Where so many bytes at most can be received; what was received before may be gone if nobody keeps it. */
char *shard_room(struct shard_worker *worker, size_t *size);

/* Writes all that is waiting, and copies what is borrowed and could not be written. */
void shard_flush(struct shard_worker *worker);

#endif
#endif
