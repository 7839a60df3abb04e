/*
 * The keys that are asked for most: of one command in many its keys are counted, by the space-saving algorithm, so that a few
 * places are enough however many keys there are. Each window begins with none; other threads can read the counts of the last window.
 */
#ifndef PLAIT_SHARD_HOT_H
#define PLAIT_SHARD_HOT_H

#include "shard_plane.h"

#include <pthread.h>

enum { SHARD_HOT_PLACES = 64, SHARD_HOT_KEY = 96, SHARD_HOT_EVERY = 64 /* commands, on average */ };

struct shard_hot_key {
    uint64_t hash;
    uint32_t count;             /* times it was seen, or more: by `inherited` at most */
    uint32_t inherited;         /* what the one had that was here before it */
    uint32_t size;              /* of the key; it may be longer than what is kept */
    char bytes[SHARD_HOT_KEY];
};

struct shard_hot_keys {
    struct shard_hot_key keys[SHARD_HOT_PLACES];
    uint32_t used;              /* of the places */
    uint32_t looks;             /* commands that were looked at */
    double began;
    double ended;
};

struct shard_hot {
    struct shard_hot_keys now;
    pthread_mutex_t lock;       /* of what follows */
    struct shard_hot_keys last; /* window that is over */
};

/* NULL: no memory. */
struct shard_hot *shard_hot_new(void);
void shard_hot_free(struct shard_hot *hot);

/* Looks at a command, and says to the thread when the next one is to be. */
void shard_hot_look(struct shard_call *call);

/* The last window, from any thread. `now`: windows that are long over are empty. */
void shard_hot_read(const struct shard_worker *worker, double now, struct shard_hot_keys *keys);

#endif
