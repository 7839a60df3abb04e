/*
 * The nodes and their places: which node each key belongs to, which nodes are masters, and whose replicas the others are. Ruby
 * reads it (of a cluster, of Sentinels, or from the settings) and publishes it whole; each thread takes it up between two turns.
 */
#ifndef PLAIT_SHARD_TOPOLOGY_H
#define PLAIT_SHARD_TOPOLOGY_H

#include "shard_plane.h"

struct shard_topology {
    uint32_t references;        /* of threads, and of the shard; under its lock */
    uint32_t version;           /* of the first 1 */
    uint32_t known;             /* nodes that have an address, from 0 on: later nodes may get one later */
    uint32_t generation;        /* of the masters: a cursor of SCAN is worth nothing to others; below SHARD_GENERATIONS */
    bool partial;               /* the node of some keys is not known */
    uint32_t master_count;      /* at least 1 */
    uint32_t *masters;          /* in the order of SCAN */
    uint32_t *master_of;        /* for each node the master of its group, itself or another; SHARD_NOBODY: it has left */
    uint32_t *replicas;         /* to be read from, the replicas of a master one behind another … */
    uint32_t *replicas_from;    /* … from here on, for each node and behind the last */
    struct placement placement;
};

enum { SHARD_GENERATIONS = 256 };

/* Whether it ever changes without a call by Ruby. */
static inline bool shard_is_watched(const struct shard_worker *worker) {
    return worker->shard->settings.watched;
}

/* ---- of the shard ---- */

/* 0, or an errno. */
int shard_topology_open(struct shard *shard);
void shard_topology_close(struct shard *shard);

/* ---- of a thread ---- */

/* False: it is the first time, and there is none. */
bool shard_topology_take_up(struct shard_worker *worker);
void shard_topology_leave(struct shard_worker *worker);

/* The topology here may be out of date: Ruby gets a notice. */
void shard_topology_doubt(struct shard_worker *worker);

/* The number of a node with that label, or SHARD_NOBODY. */
uint32_t shard_topology_find(const struct shard_worker *worker, const char *label);

/* The node that has the keys of a node which may have lost its place since. */
static inline uint32_t shard_successor(const struct shard_worker *worker, uint32_t node) {
    uint32_t master = worker->topology->master_of[node];
    return master == SHARD_NOBODY ? node : master;
}

#endif
