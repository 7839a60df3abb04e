/* Plane#hot_keys: see shard_hot.h. */
#include "rb_shard.h"

#include <time.h>

#include "../shard_plane/shard_hot.h"

/* What one that was seen by chance would have. */
enum { LEAST = 3 };

static void shard_hot_add(VALUE list, const struct shard_hot_keys *keys) {
    double seconds = keys->ended - keys->began;
    for (uint32_t i = 0; i < keys->used; i++) {
        const struct shard_hot_key *key = &keys->keys[i];
        uint32_t seen = key->count - key->inherited;
        if (seen < LEAST || seconds <= 0) continue;
        VALUE bytes = rb_str_new(key->bytes, key->size < SHARD_HOT_KEY ? key->size : SHARD_HOT_KEY);
        rb_ary_push(list, rb_ary_new_from_args(3, bytes, UINT2NUM(key->size), DBL2NUM(seen * (double)SHARD_HOT_EVERY / seconds)));
    }
}

/* plane.hot_keys => [[the key, or its beginning, its size, commands with it in a second], …] of each thread, in no order */
static VALUE shard_hot_plane_hot_keys(VALUE self) {
    const struct shard *shard = plait_shard_of(self);
    VALUE list = rb_ary_new();
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    for (uint32_t i = 0; shard && i < shard->threads; i++) {
        struct shard_hot_keys keys;
        shard_hot_read(&shard->workers[i], (double)time.tv_sec + (double)time.tv_nsec / 1e9, &keys);
        shard_hot_add(list, &keys);
    }
    return list;
}

void plait_init_shard_hot(VALUE class) {
    rb_define_method(class, "hot_keys", shard_hot_plane_hot_keys, 0);
}
