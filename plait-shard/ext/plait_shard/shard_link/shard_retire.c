/* Takes up a new topology, and closes connections to nodes that have left. */
#include "shard_retire.h"
#include "shard_link.h"
#include "shard_redirect.h"
#include "../shard_plane/shard_topology.h"

/* No request is sent there any longer; the connection is closed when its last answers have come. */
static bool shard_retire_retire(struct shard_worker *worker, struct shard_pool *pool) {
    bool left = false;
    for (uint32_t i = 0; i < worker->topology->known; i++) {
        struct shard_link *link = &pool->links[i];
        if (worker->topology->master_of[i] != SHARD_NOBODY) continue;
        link->suspect = false; /* a probe of it is no longer needed */
        if (link->state == SHARD_DOWN) continue;
        if (link->head == link->tail) shard_link_close(worker, link);
        else left = true;
    }
    return left;
}

bool shard_topology_turn(struct shard_worker *worker) {
    bool other = atomic_load_explicit(&worker->shard->version, memory_order_acquire) != worker->version;
    if (other) {
        shard_topology_take_up(worker);
        shard_retries_hurry(worker);
        worker->retiring = true;
    }
    if (!worker->retiring) return false;

    worker->retiring = false;
    for (struct shard_pool *pool = &worker->pool; pool; pool = pool->next) {
        worker->retiring |= shard_retire_retire(worker, pool);
    }
    return worker->retiring;
}
