/*
 * The data plane of the Redis sharding proxy: several nodes behind one address. Threads of its own, each with a listening
 * socket, an epoll(7) instance and a connection to each node, read commands, send each to the node of its keys, or parts of it
 * to several, and answer in order. libc and threads only; Linux.
 */
#ifndef PLAIT_SHARD_H
#define PLAIT_SHARD_H

#ifdef __linux__

#include <sys/socket.h>

#include "placement.h"
#include "resp.h"

enum { SHARD_LABEL = 128, SHARD_SECRET = 512 };

struct shard_node {
    struct sockaddr_storage address;
    socklen_t size;           /* of the address */
    char label[SHARD_LABEL];  /* for messages: "127.0.0.1:6379" */
};

struct shard_settings {
    struct shard_node *nodes;   /* in the order of the placement's indices */
    uint32_t node_count;
    struct placement placement; /* its points are copied */
    struct resp_limits limits;
    double connect_timeout;     /* seconds for a connection to a node */
    double timeout;             /* seconds in which a node that was asked has to send something */
    double retry;               /* seconds until a node that can't be reached is tried again */
    size_t client_bytes;        /* that a client may leave unread before it is cut */
    size_t chunk;               /* what is larger is forwarded while it arrives */
    bool strict;                /* nothing is: commands and replies are forwarded when they are whole */
    uint32_t clients;           /* at once, on each thread */
    char password[SHARD_SECRET];      /* that clients have to give; empty: none */
    char node_user[SHARD_SECRET];     /* as whom the shard speaks to nodes; empty: the default user */
    char node_password[SHARD_SECRET]; /* empty: it does not authenticate */
    double slow;                      /* seconds from which on a command is remembered as slow; 0: none is */
    bool users;                       /* names and passwords of clients are for the nodes to judge */
};

/* Since the start, of all threads. */
struct shard_figures {
    uint64_t clients;      /* connected now */
    uint64_t accepted;
    uint64_t commands;
    uint64_t errors;       /* that the proxy has answered with itself */
    uint64_t bytes_in;     /* from clients */
    uint64_t bytes_out;    /* to clients */
    uint64_t node_failures;
};

struct shard;

/* Takes the listening sockets, one for each thread, and closes them in the end. NULL: an errno is in *error. */
struct shard *shard_start(const struct shard_settings *settings, const int *listeners, uint32_t threads, int *error);

/* Ends the threads and the connections, and frees all. */
void shard_stop(struct shard *shard);

/*
 * Listens no longer; what has been accepted goes on. `closes`: clients that wait for nothing are closed, as soon as they do. From
 * any thread; shard_stop is still to be called.
 */
void shard_drain(struct shard *shard, bool closes);

/* From any thread. */
void shard_count(const struct shard *shard, struct shard_figures *figures);

#endif
#endif
