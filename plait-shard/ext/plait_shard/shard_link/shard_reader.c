/* Chooses the replica that is read from. */
#include "shard_reader.h"
#include "shard_link.h"
#include "../shard_data/shard_table.h"
#include "../shard_plane/shard_topology.h"

/* Scripts are loaded into masters only. */
static bool shard_reader_may_be_read_elsewhere(const struct shard_command *command) {
    return command && command->flags & SHARD_READONLY && !(command->traits & SHARD_SCRIPT);
}

uint32_t shard_choose_reader(const struct shard_call *call, uint32_t node) {
    struct shard_worker *worker = call->worker;
    if (!shard_reader_may_be_read_elsewhere(call->command)) return node;

    const struct shard_topology *topology = worker->topology;
    const uint32_t *replicas = topology->replicas + topology->replicas_from[node];
    uint32_t count = topology->replicas_from[node + 1] - topology->replicas_from[node];
    uint32_t choices = count + (worker->shard->settings.reads == SHARD_READS_ANY);
    uint32_t from = choices ? shard_random(worker) % choices : 0;
    for (uint32_t i = 0; i < choices; i++) {
        uint32_t chosen = (from + i) % choices;
        if (chosen == count) return node;
        if (shard_link_is_well(worker, shard_link_to(call, replicas[chosen]))) return replicas[chosen];
    }
    return node;
}
