/*
 * Pins: connections to nodes for one client at a time, which waits (BLPOP), watches (WATCH), or has subscribed. And transactions,
 * which are kept here until EXEC and need a pin only where keys are watched.
 */
#ifndef PLAIT_SHARD_PINNED_H
#define PLAIT_SHARD_PINNED_H

#include "shard_plane.h"

enum shard_pin_use { SHARD_PIN_IDLE, SHARD_PIN_WAITS, SHARD_PIN_WATCHES, SHARD_PIN_SUBSCRIBED };

struct shard_pin {
    struct shard_link link;         /* first: events are the link's */
    struct shard_pin *next;         /* of all of the thread */
    struct shard_pin *next_idle;
    struct shard_pin *next_touched;
    struct shard_client *client;    /* whose it is, or NULL */
    uint32_t node;
    enum shard_pin_use use;
    bool touched;                   /* in the list of pins with something to write … */
    bool behind;                    /* … which others, by the connection that they share, had before it */
    bool leaving;                   /* it is given back with the last answer that is to come */
    bool settled;                   /* an answer has come: there is something to lose */
    /* ---- of subscriptions ---- */
    struct shard_buffer *message;   /* what has come of the next one, or NULL */
    int64_t channels;               /* subscribed to, with patterns, as the node last said */
    int64_t shard_channels;
    struct shard_request *probe;    /* answered when the node has said so of all before it, or NULL */
    bool refuses;                   /* the command that was held back for it is to be refused */
};

struct shard_transaction {
    struct shard_rope queue; /* commands as they came */
    uint32_t count;          /* of them */
    uint32_t node;           /* of their keys */
    uint32_t place;          /* their slot, in a cluster */
    bool placed;             /* there was a key */
    bool broken;             /* one was refused: EXEC will be, too */
};

/* ---- shard_pinned.c ---- */

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

/* Whether it waits for what may never come: that it has gone must be noticed meanwhile. */
static inline bool shard_pin_waits(const struct shard_client *client) {
    return client->pin && client->pin->use == SHARD_PIN_WAITS;
}

/* The command is to be read again when all before it is answered. Returns false when all is. */
bool shard_hold_back(struct shard_call *call);

/* A command that waits at its node. */
void shard_wait(struct shard_call *call);

void shard_transaction_drop(struct shard_worker *worker, struct shard_client *client);

/* ---- shard_transaction.c ---- */

/* MULTI, EXEC, DISCARD, WATCH, UNWATCH. */
void shard_transact(struct shard_call *call);
/* A command of one in a transaction or that watches. False: it goes its usual way. */
bool shard_transaction_takes(struct shard_call *call);

/* ---- shard_subscription.c ---- */

/* SUBSCRIBE and its kin, of one that has not subscribed yet. */
void shard_subscribe(struct shard_call *call);

/* A command of one that has. False: it goes its usual way. */
bool shard_subscription_takes(struct shard_call *call);

/* Bytes that answer no command. False: they are no messages. */
bool shard_pin_push(struct shard_worker *worker, struct shard_pin *pin, const char *data, size_t size);
void shard_subscription_lost(struct shard_worker *worker, struct shard_pin *pin, const char *error);

/* Whether its commands may have another meaning than the commands of other clients. */
static inline bool shard_is_bound(const struct shard_client *client) {
    return client->pin || client->transaction || client->locked;
}

#endif
