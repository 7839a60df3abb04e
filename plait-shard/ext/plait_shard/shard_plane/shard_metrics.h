/*
 * What the data plane counts: for each command how often and how long it took, for each node how much it was asked, and the last
 * commands that took long. Counters are written by their thread alone and may be read by any; times are as exact as a turn of the
 * thread.
 */
#ifndef PLAIT_SHARD_METRICS_H
#define PLAIT_SHARD_METRICS_H

#include "shard_plane.h"

enum { SHARD_BOUNDS = 15, SHARD_SLOW = 128 };

/* Upper ends of the buckets, in seconds; what took longer is in one more. */
extern const double shard_bounds[SHARD_BOUNDS];

struct shard_times {
    _Atomic uint64_t taken;                      /* commands that came, with commands that no node answers */
    _Atomic uint64_t buckets[SHARD_BOUNDS + 1];  /* of the commands that nodes were asked */
    _Atomic uint64_t nanoseconds;                /* of all of these together */
};

struct shard_node_counts {
    _Atomic uint64_t asked;
    _Atomic uint64_t failures;
};

struct shard_slow {
    double at;       /* seconds since 1970 */
    double seconds;
    uint64_t client; /* its CLIENT ID */
    const char *command;
};

struct shard_metrics {
    struct shard_times *times;       /* one for each command that there can be */
    struct shard_node_counts *nodes;
    const struct shard_command *current; /* what is dispatched */
    pthread_mutex_t lock;            /* of what follows */
    struct shard_slow slow[SHARD_SLOW]; /* a ring */
    uint64_t slow_count;             /* ever */
};

/* False: no memory. */
bool shard_metrics_open(struct shard_worker *worker);
void shard_metrics_close(struct shard_worker *worker);

/* A command has come. */
void shard_metrics_take(struct shard_worker *worker, const struct shard_command *command);

/* It was not taken after all. */
void shard_metrics_put_back(struct shard_worker *worker, const struct shard_command *command);

/* A request has its whole reply. */
void shard_metrics_answered(struct shard_worker *worker, const struct shard_request *request);

/* A node was asked, or its connection was given up. */
void shard_metrics_asked(struct shard_worker *worker, const struct shard_node *node);
void shard_metrics_failed(struct shard_worker *worker, const struct shard_node *node);

#endif
