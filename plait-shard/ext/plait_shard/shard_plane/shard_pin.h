/* The state of a client that has a connection to a node of its own, or is in a transaction. */
#ifndef PLAIT_SHARD_PIN_H
#define PLAIT_SHARD_PIN_H

#include "shard_plane.h"

enum shard_pin_use { SHARD_PIN_IDLE, SHARD_PIN_WAITS, SHARD_PIN_WATCHES, SHARD_PIN_SUBSCRIBED };

enum { SHARD_PROBED = 64 };

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
    char probed[SHARD_PROBED];      /* the node's answer to the probe, with a NUL */
    bool refuses;                   /* the command that was held back for it is to be refused */
};

/* The commands of a client between MULTI and EXEC. */
struct shard_transaction {
    struct shard_rope queue; /* commands as they came */
    uint32_t count;          /* of them */
    uint32_t node;           /* of their keys */
    uint32_t place;          /* their slot, in a cluster */
    bool placed;             /* there was a key */
    bool broken;             /* one was refused: EXEC will be, too */
};

/* Whether it waits for what may never come: that it has gone must be noticed meanwhile. */
static inline bool shard_pin_waits(const struct shard_client *client) {
    return client->pin && client->pin->use == SHARD_PIN_WAITS;
}

/* Whether its commands may have another meaning than the commands of other clients. */
static inline bool shard_is_bound(const struct shard_client *client) {
    return client->pin || client->transaction || client->locked;
}

#endif
