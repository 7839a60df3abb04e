/* See shard_hot.h. */
#include "shard_hot.h"

#include <stdlib.h>
#include <string.h>

static const double STALE = 3; /* windows */

struct shard_hot *shard_hot_new(void) {
    struct shard_hot *hot = calloc(1, sizeof *hot);
    if (hot) pthread_mutex_init(&hot->lock, NULL);
    return hot;
}

void shard_hot_free(struct shard_hot *hot) {
    if (hot) pthread_mutex_destroy(&hot->lock);
    free(hot);
}

static uint64_t shard_hot_hash_of(const char *key, size_t size) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)key[i]) * UINT64_C(1099511628211);
    return hash;
}

/* The place of the key, or a free place, or the place of the key with the lowest count: a frequent key stays in its place. */
static struct shard_hot_key *shard_hot_place_for(struct shard_hot_keys *keys, uint64_t hash, size_t size) {
    struct shard_hot_key *least = &keys->keys[0];
    for (uint32_t i = 0; i < keys->used; i++) {
        struct shard_hot_key *key = &keys->keys[i];
        if (key->hash == hash && key->size == size) return key;
        if (key->count < least->count) least = key;
    }
    return keys->used < SHARD_HOT_PLACES ? &keys->keys[keys->used++] : least;
}

static void shard_hot_count(struct shard_hot_keys *keys, const char *bytes, size_t size) {
    uint64_t hash = shard_hot_hash_of(bytes, size);
    struct shard_hot_key *key = shard_hot_place_for(keys, hash, size);
    if (key->hash != hash || key->size != size) {
        key->hash = hash;
        key->size = (uint32_t)size;
        key->inherited = key->count;
        memcpy(key->bytes, bytes, size < SHARD_HOT_KEY ? size : SHARD_HOT_KEY);
    }
    key->count++;
}

static int shard_hot_count_at(void *argument, uint32_t place) {
    const struct shard_call *call = argument;
    struct resp_span word = call->words[place];
    shard_hot_count(&call->worker->hot->now, call->data + word.at, word.size);
    return 0;
}

static void shard_hot_begin_window(struct shard_worker *worker) {
    struct shard_hot *hot = worker->hot;
    hot->now.ended = worker->now;
    pthread_mutex_lock(&hot->lock);
    hot->last = hot->now;
    pthread_mutex_unlock(&hot->lock);
    memset(&hot->now, 0, sizeof hot->now);
    hot->now.began = worker->now;
}

void shard_hot_look(struct shard_call *call) {
    struct shard_worker *worker = call->worker;
    struct shard_hot_keys *keys = &worker->hot->now;
    double window = worker->shard->settings.hot;
    worker->until_look = 1 + shard_random(worker) % (2 * SHARD_HOT_EVERY - 1);
    if (window <= 0) return;
    if (keys->began == 0) keys->began = worker->now;
    if (worker->now - keys->began >= window) shard_hot_begin_window(worker);

    keys->looks++;
    shard_command_keys(call->command, call->data, call->words, call->count, shard_hot_count_at, call);
}

void shard_hot_read(const struct shard_worker *worker, double now, struct shard_hot_keys *keys) {
    struct shard_hot *hot = worker->hot;
    pthread_mutex_lock(&hot->lock);
    *keys = hot->last;
    pthread_mutex_unlock(&hot->lock);
    if (now - keys->ended > STALE * worker->shard->settings.hot) keys->used = keys->looks = 0;
}
