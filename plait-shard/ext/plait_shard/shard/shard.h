/*
 * The data plane of the Redis sharding proxy: several nodes behind one address. Threads of its own, each with a listening
 * socket, an epoll(7) instance and a connection to each node, read commands, send each to the node of its keys, or parts of it
 * to several, and answer in order. libc and threads only; Linux.
 */
#ifndef PLAIT_SHARD_H
#define PLAIT_SHARD_H

#include "../shard_plane/shard_settings.h"

/* Since the start, of all threads. */
struct shard_figures {
    uint64_t clients;      /* connected now */
    uint64_t accepted;
    uint64_t commands;
    uint64_t errors;       /* that the proxy has answered with itself */
    uint64_t bytes_in;     /* from clients */
    uint64_t bytes_out;    /* to clients */
    uint64_t node_failures;
    uint64_t cut;          /* clients that were closed because they had too much kept */
    uint64_t redirections; /* requests that were asked again, elsewhere or later */
};

struct shard;

/* Takes the listening sockets, one for each thread, and closes them in the end. NULL: an errno is in *error. */
struct shard *shard_start(const struct shard_settings *settings, const int *listeners, uint32_t threads, int *error);

/* Ends the threads and the connections, and frees all. */
void shard_stop(struct shard *shard);

/*
 * Listens no longer; accepted connections go on. `closes`: a client is closed as soon as it waits for nothing. From any thread.
 * Returns when no connection is accepted any more; shard_stop is still to be called.
 */
void shard_drain(struct shard *shard, bool closes);

/* The version of Redis that the proxy reports to clients: 0x070400 for 7.4.0; 7.0.0 until then. From any thread. */
void shard_tell_version(struct shard *shard, uint32_t version);

/* From any thread. */
void shard_count(const struct shard *shard, struct shard_figures *figures);

#endif
