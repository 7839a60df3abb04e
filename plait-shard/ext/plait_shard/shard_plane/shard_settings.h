/* The nodes of the data plane, their places, and the options of the proxy. libc only. */
#ifndef PLAIT_SHARD_SETTINGS_H
#define PLAIT_SHARD_SETTINGS_H

#include <sys/socket.h>

#include "../placement/placement.h"
#include "../resp/resp.h"

enum { SHARD_LABEL = 128, SHARD_HOST = 256, SHARD_SECRET = 512, SHARD_FENCE = 2048 };

struct shard_tls_context;

struct shard_node {
    struct sockaddr_storage address;
    socklen_t size;           /* of the address */
    char label[SHARD_LABEL];  /* for messages: "127.0.0.1:6379" */
    char host[SHARD_HOST];    /* the name that its certificate has to have, with TLS */
    char fence[SHARD_FENCE];  /* commands that each connection begins with: its name, and whether the node takes this placement */
    size_t fence_size;
    uint32_t fences;          /* of these commands */
};

/* Where commands go that only read. */
enum shard_reads { SHARD_READS_MASTER, SHARD_READS_REPLICAS, SHARD_READS_ANY };

static const uint32_t SHARD_NOBODY = UINT32_MAX;

/* Which nodes are what, at a time; all of it is copied. */
struct shard_plan {
    const struct shard_node *nodes; /* nodes that exist already keep their numbers */
    uint32_t known;                 /* of them; never fewer than before */
    struct placement placement;     /* each key's master */
    const uint32_t *masters;
    uint32_t master_count;          /* at least 1 */
    const uint32_t *master_of;      /* for each node the master of its group, itself or another; SHARD_NOBODY: it has left */
    const bool *readable;           /* for each node whether it is a replica to read from */
    uint32_t generation;            /* another one for other masters */
    bool partial;                   /* the node of some keys is not known */
};

struct shard_settings {
    struct shard_node *nodes;   /* in the order of the placement's indices */
    uint32_t node_count;        /* with nodes that may come later */
    struct placement placement; /* its points are copied */
    const struct shard_plan *plan; /* NULL: all nodes are masters, placed by the above */
    bool cluster;               /* nodes take keys of one slot in a command, and say where others are: MOVED, ASK */
    bool watched;               /* Ruby looks for other masters, and gets a notice when they may have changed */
    enum shard_reads reads;
    struct resp_limits limits;
    double connect_timeout;     /* seconds for a connection to a node */
    double timeout;             /* seconds in which a node that was asked has to send something */
    double retry;               /* seconds until a node that can't be reached is tried again */
    size_t client_bytes;        /* that a client may leave unread before it is cut */
    size_t thread_bytes;        /* that all clients of a thread may have it keep, and again all nodes */
    size_t chunk;               /* what is larger is forwarded while it arrives */
    bool strict;                /* nothing is: commands and replies are forwarded when they are whole */
    bool keyless;               /* scripts that name no key are run, by the first node that is well */
    uint32_t clients;           /* at once, on each thread */
    char password[SHARD_SECRET];      /* that clients have to give; empty: none */
    char node_user[SHARD_SECRET];     /* the user as which the shard speaks to nodes; empty: the default user */
    char node_password[SHARD_SECRET]; /* empty: it does not authenticate */
    double slow;                      /* seconds from which on a command is remembered as slow; 0: none is */
    double hot;                       /* seconds over which the keys that are asked for most are counted; 0: none are */
    bool users;                       /* names and passwords of clients are for the nodes to judge */
    struct shard_tls_context *tls_clients; /* NULL: they speak plainly; freed by the shard, as is the next */
    struct shard_tls_context *tls_nodes;
    bool config;                      /* clients may CONFIG SET, on all nodes */
};

/* ---- shard_topology.c ---- */

struct shard;

/* Goes on with other nodes, masters, places: threads take them up at their next turn. By one thread at a time. 0, or an errno. */
int shard_publish(struct shard *shard, const struct shard_plan *plan);

/* A descriptor that can be read from when the plan may be out of date, until shard_notice_taken. */
int shard_notice(const struct shard *shard);
void shard_notice_taken(struct shard *shard);

#endif
