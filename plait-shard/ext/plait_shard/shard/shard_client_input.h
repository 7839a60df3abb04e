/* What clients send: it is read, and made commands. */
#ifndef PLAIT_SHARD_CLIENT_INPUT_H
#define PLAIT_SHARD_CLIENT_INPUT_H

#include "../shard_plane/shard_plane.h"

void shard_client_readable(struct shard_worker *worker, struct shard_client *client, uint32_t events);

/* Goes on with paused clients that need not be paused any longer. Returns whether there was one. */
bool shard_resume(struct shard_worker *worker);

/* From time to time, looks at the clients that wait for a connection of their own. Returns whether there is one. */
bool shard_awaiting_check(struct shard_worker *worker);

void shard_client_drop_input(struct shard_client *client);

#endif
