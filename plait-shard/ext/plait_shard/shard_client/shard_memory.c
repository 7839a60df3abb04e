/* How much a thread keeps for its clients and its nodes, and what happens when that is too much. */
#include "shard_memory.h"
#include "../shard_plane/shard_pin.h"
#include "../shard_plane/shard_topology.h"

#include <stdlib.h>

enum { MANY_WAITERS = 4096, FEW = 4096 /* words of a command, or free requests, that need no memory given back */ };

static size_t shard_memory_held_of(const struct shard_client *client) {
    size_t held = client->out.size + client->behind + client->merged + client->in_flight * sizeof(struct shard_request);
    if (client->in) held += client->in->size;
    if (client->spans) held += client->command.room * sizeof *client->spans;
    if (client->transaction) held += client->transaction->queue.size;
    if (client->pin && client->pin->message) held += client->pin->message->size;
    return held;
}

void shard_weigh_client(struct shard_worker *worker, struct shard_client *client) {
    size_t held = client->socket == -1 ? 0 : shard_memory_held_of(client);
    worker->held += held - client->held;
    client->held = held;
}

void shard_weigh_link(struct shard_worker *worker, struct shard_link *link) {
    worker->queued += link->out.size - link->weighed;
    link->weighed = link->out.size;
}

bool shard_is_overfull(const struct shard_worker *worker, const struct shard_link *link) {
    return link->out.size > SHARD_HIGH && worker->queued > worker->shard->settings.thread_bytes;
}

static size_t shard_memory_most_held(const struct shard_worker *worker) {
    size_t most = 0;
    for (const struct shard_client *client = worker->clients; client; client = client->after) {
        if (client->held > most) most = client->held;
    }
    return most;
}

/* Closes each client that holds half as much as the largest, or more: two walks, and not one walk for each closed client. */
static void shard_memory_close_largest(struct shard_worker *worker, size_t least, size_t enough) {
    struct shard_client *next;
    for (struct shard_client *client = worker->clients; client && worker->held > enough; client = next) {
        next = client->after;
        if (client->socket == -1 || client->held < least) continue;
        shard_add(worker, FIGURE_CUT, 1);
        shard_close_client(worker, client);
    }
}

void shard_relieve(struct shard_worker *worker) {
    size_t room = worker->shard->settings.thread_bytes;
    if (worker->held <= room) return;

    size_t most;
    while (worker->held > room - room / 8 && (most = shard_memory_most_held(worker)) > 0) {
        shard_memory_close_largest(worker, most > 1 ? most / 2 : 1, room - room / 8);
    }
}

static void shard_memory_shrink(void **array, uint32_t *room, size_t element) {
    void *smaller = *room > FEW ? realloc(*array, FEW * element) : NULL;
    if (!smaller) return;
    *array = smaller;
    *room = FEW;
}

bool shard_is_swollen(const struct shard_worker *worker) {
    return worker->spare_requests > FEW;
}

static size_t shard_memory_free_requests(struct shard_worker *worker) {
    size_t freed = 0;
    for (; worker->spare_requests > FEW; worker->spare_requests--, freed++) {
        struct shard_request *request = worker->requests;
        worker->requests = request->next;
        free(request);
    }
    return freed * sizeof(struct shard_request);
}

/* Gives back the memory of rings of waiting requests that have grown large. Returns the bytes. */
static size_t shard_memory_shrink_link(struct shard_link *link) {
    size_t freed = link->room * sizeof *link->waiters;
    if (shard_link_is_busy(link) || link->room <= MANY_WAITERS) return 0;
    free(link->waiters);
    link->waiters = NULL;
    link->room = link->head = link->tail = 0;
    return freed;
}

void shard_shrink(struct shard_worker *worker) {
    shard_memory_shrink((void **)&worker->spans, &worker->span_room, sizeof *worker->spans);
    shard_memory_shrink((void **)&worker->nodes, &worker->node_room, sizeof *worker->nodes);
    worker->bytes_freed -= shard_memory_free_requests(worker); /* what is compared with it has not seen them */
    for (struct shard_pool *pool = &worker->pool; pool; pool = pool->next) {
        for (uint32_t i = 0; i < worker->topology->known; i++) worker->bytes_freed -= shard_memory_shrink_link(&pool->links[i]);
    }
}
