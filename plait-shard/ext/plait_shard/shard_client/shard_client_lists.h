/* The lists in which clients stand until something is done with them. */
#ifndef PLAIT_SHARD_CLIENT_LISTS_H
#define PLAIT_SHARD_CLIENT_LISTS_H

#include "../shard_plane/shard_plane.h"

/* It has something to write. */
static inline void shard_client_touch(struct shard_worker *worker, struct shard_client *client) {
    if (client->touched || client->socket == -1) return;

    client->touched = true;
    client->next_touched = worker->touched;
    worker->touched = client;
}

/* Whether it need not wait any longer. */
bool shard_may_go_on(struct shard_worker *worker, const struct shard_client *client);

/* One that is paused, if it may go on. */
void shard_client_look_again(struct shard_worker *worker, struct shard_client *client);

/* Looks again at the clients of a list, `most` at most. */
void shard_wake(struct shard_worker *worker, struct shard_client **list, uint32_t most);

/* It gets what is on its way, and no more: a part of a reply is among that. */
void shard_client_cut(struct shard_worker *worker, struct shard_client *client);

/* Of one that is closed, once nothing of it is on its way. */
void shard_client_bury(struct shard_worker *worker, struct shard_client *client);

/* It has got its last reply. */
void shard_client_leave(struct shard_worker *worker, struct shard_client *client);

#endif
