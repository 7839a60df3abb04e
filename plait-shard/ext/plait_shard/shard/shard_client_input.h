/* What clients send: it is read, and made commands. */
#ifndef PLAIT_SHARD_CLIENT_INPUT_H
#define PLAIT_SHARD_CLIENT_INPUT_H

#include "shard_plane.h"

void shard_client_readable(struct shard_worker *worker, struct shard_client *client, uint32_t events);

/* Goes on with those that were paused and need not be any longer. Returns whether there was one. */
bool shard_resume(struct shard_worker *worker);

/* Those who wait for a connection of their own are looked at from time to time. Returns whether there is one. */
bool shard_awaiting_check(struct shard_worker *worker);

void shard_client_drop_input(struct shard_client *client);

#endif
