/* Transactions. Commands are kept here until EXEC; they need a pin only where keys are watched. */
#ifndef PLAIT_SHARD_TRANSACTION_H
#define PLAIT_SHARD_TRANSACTION_H

#include "../shard_plane/shard_plane.h"

void shard_multi(struct shard_call *call);
void shard_exec(struct shard_call *call);
void shard_discard(struct shard_call *call);
void shard_watch_keys(struct shard_call *call);
void shard_unwatch(struct shard_call *call);

/* A command of one in a transaction or that watches. False: it goes its usual way. */
bool shard_transaction_takes(struct shard_call *call);

#endif
