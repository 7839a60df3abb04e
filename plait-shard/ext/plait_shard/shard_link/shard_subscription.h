/* Subscriptions, each on a pin. */
#ifndef PLAIT_SHARD_SUBSCRIPTION_H
#define PLAIT_SHARD_SUBSCRIPTION_H

#include "../shard_plane/shard_pin.h"

/* SUBSCRIBE and its kin, of one that has not subscribed yet. */
void shard_subscribe(struct shard_call *call);

/* A command of one that has. False: it goes its usual way. */
bool shard_subscription_takes(struct shard_call *call);

/* Bytes that answer no command. False: they are no messages. */
bool shard_pin_push(struct shard_worker *worker, struct shard_pin *pin, const char *data, size_t size);
void shard_subscription_lost(struct shard_worker *worker, struct shard_pin *pin, const char *error);

#endif
