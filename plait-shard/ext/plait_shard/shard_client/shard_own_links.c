/* Connections to nodes for one command at a time. */
#include "shard_own_links.h"
#include "shard_client_lists.h"

#include <stdlib.h>

enum { AWAKE = 16 /* clients that wait for a connection and are looked at, when there is one */ };

static struct shard_link *shard_own_links_find_free(struct shard_worker *worker, const struct shard_pool *pool,
                                                    const struct shard_node *node) {
    struct shard_link *link = worker->streams;
    while (link && (link->node != node || link->pool != pool || link->taken)) link = link->next;
    return link;
}

bool shard_own_links(struct shard_worker *worker, uint32_t node) {
    if (node != SHARD_ALL) return worker->taken[node - 1] < SHARD_OWN_LINKS;
    uint32_t at = 0;
    while (at < worker->shard->settings.node_count && worker->taken[at] < SHARD_OWN_LINKS) at++;
    return at == worker->shard->settings.node_count;
}

struct shard_link *shard_take_link(struct shard_worker *worker, struct shard_pool *pool, uint32_t number) {
    const struct shard_node *node = &worker->shard->settings.nodes[number];
    struct shard_link *link = shard_own_links_find_free(worker, pool, node);
    if (!link) {
        link = calloc(1, sizeof *link);
        if (!link) return NULL;

        link->kind = SHARD_LINK;
        link->socket = -1;
        link->node = node;
        link->own = true;
        link->pool = pool;
        pool->users++;
        link->next = worker->streams;
        worker->streams = link;
    }
    link->taken = true;
    worker->taken[number]++;
    return link;
}

void shard_release_link(struct shard_worker *worker, struct shard_link *link) {
    if (!link->taken) return;
    link->taken = link->resting = false;
    worker->taken[link->node - worker->shard->settings.nodes]--;
    shard_wake(worker, &worker->awaiting, AWAKE);
}
