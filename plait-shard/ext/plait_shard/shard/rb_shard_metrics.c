/* What a Plane has counted, and how it comes to its end: see shard_metrics.h and shard_drain.h. */
#include "rb_shard.h"

#include <errno.h>
#include <fcntl.h>

#include "../shard_plane/shard_metrics.h"

typedef uint64_t counter_reader(const struct shard_worker *worker, const void *where);

static uint64_t shard_metrics_sum(const struct shard *shard, counter_reader *read, const void *where) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < shard->threads; i++) total += read(&shard->workers[i], where);
    return total;
}

struct place {
    uint32_t index;
    int bucket;
};

static uint64_t shard_metrics_load(const _Atomic uint64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static const struct shard_times *shard_metrics_times_at(const struct shard_worker *worker, const void *where) {
    return &worker->metrics->times[((const struct place *)where)->index];
}

static const struct shard_node_counts *shard_metrics_node_at(const struct shard_worker *worker, const void *where) {
    return &worker->metrics->nodes[((const struct place *)where)->index];
}

static uint64_t shard_metrics_taken(const struct shard_worker *worker, const void *where) {
    return shard_metrics_load(&shard_metrics_times_at(worker, where)->taken);
}

static uint64_t shard_metrics_bucket(const struct shard_worker *worker, const void *where) {
    return shard_metrics_load(&shard_metrics_times_at(worker, where)->buckets[((const struct place *)where)->bucket]);
}

static uint64_t shard_metrics_nanoseconds(const struct shard_worker *worker, const void *where) {
    return shard_metrics_load(&shard_metrics_times_at(worker, where)->nanoseconds);
}

static uint64_t shard_metrics_asked_of(const struct shard_worker *worker, const void *where) {
    return shard_metrics_load(&shard_metrics_node_at(worker, where)->asked);
}

static uint64_t shard_metrics_failures(const struct shard_worker *worker, const void *where) {
    return shard_metrics_load(&shard_metrics_node_at(worker, where)->failures);
}

/* plane.commands => { name => [times it came, seconds in all, [answered within the first bound, …, later]] } */
static VALUE shard_metrics_plane_commands(VALUE self) {
    const struct shard *shard = plait_shard_of(self);
    VALUE hash = rb_hash_new();
    for (uint32_t i = 0; shard && i < shard_command_room(); i++) {
        struct place place = {i, 0};
        uint64_t count = shard_metrics_sum(shard, shard_metrics_taken, &place);
        if (!count) continue;
        VALUE buckets = rb_ary_new();
        for (place.bucket = 0; place.bucket <= SHARD_BOUNDS; place.bucket++) {
            rb_ary_push(buckets, ULL2NUM(shard_metrics_sum(shard, shard_metrics_bucket, &place)));
        }
        double seconds = (double)shard_metrics_sum(shard, shard_metrics_nanoseconds, &place) / 1e9;
        rb_hash_aset(hash, rb_str_new_cstr(shard_command_at(i)->name), rb_ary_new_from_args(3, ULL2NUM(count), DBL2NUM(seconds), buckets));
    }
    return hash;
}

/* plane.nodes => [[requests, failures], …] in the order of their indices */
static VALUE shard_metrics_plane_nodes(VALUE self) {
    const struct shard *shard = plait_shard_of(self);
    VALUE nodes = rb_ary_new();
    for (uint32_t i = 0; shard && i < shard->settings.node_count; i++) {
        struct place place = {i, 0};
        rb_ary_push(nodes,
                    rb_ary_new_from_args(2, ULL2NUM(shard_metrics_sum(shard, shard_metrics_asked_of, &place)),
                                         ULL2NUM(shard_metrics_sum(shard, shard_metrics_failures, &place))));
    }
    return nodes;
}

/* The thread's, oldest first; copied, as Ruby may raise or wait while it makes objects. */
static uint32_t shard_metrics_copy_slow(const struct shard_worker *worker, struct shard_slow to[SHARD_SLOW]) {
    struct shard_metrics *metrics = worker->metrics;
    pthread_mutex_lock(&metrics->lock);
    uint32_t count = metrics->slow_count < SHARD_SLOW ? (uint32_t)metrics->slow_count : SHARD_SLOW;
    for (uint32_t i = 0; i < count; i++) to[i] = metrics->slow[(metrics->slow_count - count + i) % SHARD_SLOW];
    pthread_mutex_unlock(&metrics->lock);
    return count;
}

/* plane.slow => [[seconds since 1970, seconds that it took, command, CLIENT ID], …] */
static VALUE shard_metrics_plane_slow(VALUE self) {
    const struct shard *shard = plait_shard_of(self);
    struct shard_slow slow[SHARD_SLOW];
    VALUE list = rb_ary_new();
    for (uint32_t i = 0; shard && i < shard->threads; i++) {
        uint32_t count = shard_metrics_copy_slow(&shard->workers[i], slow);
        for (uint32_t j = 0; j < count; j++) {
            rb_ary_push(list, rb_ary_new_from_args(4, DBL2NUM(slow[j].at), DBL2NUM(slow[j].seconds), rb_str_new_cstr(slow[j].command),
                                                   ULL2NUM(slow[j].client)));
        }
    }
    return list;
}

/* plane.listeners => copies of the descriptors that it listens on */
static VALUE shard_metrics_plane_listeners(VALUE self) {
    const struct shard *shard = plait_shard_of(self);
    VALUE list = rb_ary_new();
    for (uint32_t i = 0; shard && i < shard->threads; i++) {
        int copy = fcntl(shard->workers[i].listener, F_DUPFD_CLOEXEC, 0);
        if (copy == -1) {
            int error = errno;
            while (RARRAY_LEN(list) > 0) close(NUM2INT(rb_ary_pop(list)));
            rb_syserr_fail(error, "the listening socket of the shard");
        }
        rb_ary_push(list, INT2NUM(copy));
    }
    return list;
}

/* plane.drain(closes) */
static VALUE shard_metrics_plane_drain(VALUE self, VALUE closes) {
    struct shard *shard = plait_shard_of(self);
    if (shard) shard_drain(shard, RTEST(closes));
    return Qnil;
}

/* plane.tell_version(major, minor, patch): the version of Redis that the proxy reports to clients */
static VALUE shard_metrics_plane_tell_version(VALUE self, VALUE major, VALUE minor, VALUE patch) {
    struct shard *shard = plait_shard_of(self);
    uint32_t version = (NUM2UINT(major) & 0xff) << 16 | (NUM2UINT(minor) & 0xff) << 8 | (NUM2UINT(patch) & 0xff);
    if (shard) shard_tell_version(shard, version);
    return Qnil;
}

void plait_init_shard_metrics(VALUE class) {
    VALUE bounds = rb_ary_new();
    for (int i = 0; i < SHARD_BOUNDS; i++) rb_ary_push(bounds, DBL2NUM(shard_bounds[i]));
    rb_define_const(class, "BOUNDS", rb_ary_freeze(bounds));
    rb_define_method(class, "commands", shard_metrics_plane_commands, 0);
    rb_define_method(class, "nodes", shard_metrics_plane_nodes, 0);
    rb_define_method(class, "slow", shard_metrics_plane_slow, 0);
    rb_define_method(class, "listeners", shard_metrics_plane_listeners, 0);
    rb_define_method(class, "drain", shard_metrics_plane_drain, 1);
    rb_define_method(class, "tell_version", shard_metrics_plane_tell_version, 3);
}
