/* Pins: connections to nodes for one client at a time, which waits (BLPOP), watches (WATCH), or has subscribed. */
#ifndef PLAIT_SHARD_PINNED_H
#define PLAIT_SHARD_PINNED_H

#include "../shard_plane/shard_pin.h"

/* A connection to a node that is the client's until it is given back; NULL: no memory, and the client is closed. */
struct shard_pin *shard_pin_take(struct shard_call *call, uint32_t node, enum shard_pin_use use);

/* It is in the state of a new connection: the next client may take it. */
void shard_pin_give_back(struct shard_worker *worker, struct shard_pin *pin);

/* Its bytes are to be written there; while the node is behind with them the client is not read from. */
void shard_pin_append(struct shard_call *call, struct shard_pin *pin);

/* Sends the command on it. False: that failed, and the client has got an error. */
bool shard_pin_send(struct shard_call *call, struct shard_pin *pin);

/* It has something to write, or may have. */
void shard_pin_touch(struct shard_worker *worker, struct shard_pin *pin);

/* In the order in which they were touched; `all` false: without pins that are behind the bytes of the shared connections. */
void shard_pins_flush(struct shard_worker *worker, bool all);

/* Returns whether there is one that has to be looked at again. */
bool shard_pins_check(struct shard_worker *worker);
void shard_pins_close(struct shard_worker *worker);

/* A whole answer has come on it. */
void shard_pin_replied(struct shard_worker *worker, struct shard_pin *pin);

/* Its connection has ended; a request that waited for an answer has got the error. */
void shard_pin_lost(struct shard_worker *worker, struct shard_pin *pin, const char *error);

/* The client is closed. */
void shard_pin_leave(struct shard_worker *worker, struct shard_client *client);

/* The command is to be read again when all before it is answered. Returns false when all is. */
bool shard_hold_back(struct shard_call *call);

/* A command that waits at its node. */
void shard_wait(struct shard_call *call);

void shard_transaction_drop(struct shard_worker *worker, struct shard_client *client);

#endif
