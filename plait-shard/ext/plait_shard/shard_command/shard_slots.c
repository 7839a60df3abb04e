/*
 * Commands with many keys for the nodes of a cluster, which take keys of one slot in a command only: a part for each slot, and parts
 * for one node one behind another.
 */
#include "shard_slots.h"
#include "shard_split.h"
#include "../shard_plane/shard_topology.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBER = 32 /* bits for the number of a key, below the bits of its slot */ };

static uint32_t shard_slots_slot_of(uint64_t grouped) {
    return (uint32_t)(grouped >> NUMBER);
}

static int shard_slots_compare(const void *one, const void *other) {
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

/* Keys by slot, the keys of one slot in their order. Returns their number; 0: there is no memory, and the client is closed. */
static uint32_t shard_slots_group(struct shard_call *call, uint32_t step) {
    struct shard_worker *worker = call->worker;
    uint32_t keys = (call->count - 1) / step;
    if (keys > worker->grouped_room) {
        uint64_t *grouped = realloc(worker->grouped, keys * sizeof *grouped);
        if (!grouped) {
            shard_close_client(worker, call->client);
            return 0;
        }
        worker->grouped = grouped;
        worker->grouped_room = keys;
    }
    for (uint32_t i = 0; i < keys; i++) {
        struct resp_span key = call->words[1 + i * step];
        uint64_t slot = placement_place(&worker->topology->placement, call->data + key.at, key.size);
        worker->grouped[i] = slot << NUMBER | i;
    }
    qsort(worker->grouped, keys, sizeof *worker->grouped, shard_slots_compare);
    return keys;
}

/* Where the keys of a slot end. */
static uint32_t shard_slots_end_of(const struct shard_worker *worker, uint32_t from, uint32_t keys) {
    uint32_t to = from + 1;
    while (to < keys && shard_slots_slot_of(worker->grouped[to]) == shard_slots_slot_of(worker->grouped[from])) to++;
    return to;
}

static uint32_t shard_slots_count_parts(const struct shard_worker *worker, uint32_t keys) {
    uint32_t parts = 0;
    for (uint32_t at = 0; at < keys; at = shard_slots_end_of(worker, at, keys)) parts++;
    return parts;
}

static void shard_slots_remember_order(const struct shard_worker *worker, struct shard_merge *merge, uint32_t keys) {
    uint32_t part = 0;
    for (uint32_t at = 0, end; at < keys; at = end, part++) {
        end = shard_slots_end_of(worker, at, keys);
        merge->parts[part].values = end - at;
        for (uint32_t i = at; i < end; i++) merge->order[(uint32_t)worker->grouped[i]] = (uint16_t)part;
    }
}

/* The words of the keys of one slot. */
static void shard_slots_send_part(struct shard_call *call, struct shard_request *request, struct shard_part_plan plan,
                                  uint32_t from, uint32_t to,
                                  uint32_t step) {
    struct shard_link *link = shard_begin_part(call, request, plan);
    for (uint32_t i = from; link && i < to; i++) {
        size_t size;
        const char *words = shard_whole_word(call, 1 + (uint32_t)call->worker->grouped[i] * step, step, &size);
        if (!shard_append(call, link, words, size)) return;
    }
}

static uint32_t shard_slots_owner_of(const struct shard_worker *worker, uint32_t at) {
    return worker->topology->placement.points[shard_slots_slot_of(worker->grouped[at])].node;
}

void shard_split_slots(struct shard_call *call, uint32_t step) {
    struct shard_worker *worker = call->worker;
    uint32_t keys = shard_slots_group(call, step);
    bool values = call->command->merge == SHARD_VALUES;
    uint32_t parts = keys ? shard_slots_count_parts(worker, keys) : 0;
    struct shard_request *request = keys ? shard_begin_merge(call, call->command->merge, parts, values ? keys : 0) : NULL;
    if (!request) return;

    if (values) shard_slots_remember_order(worker, request->merge, keys);
    const char *name = call->data + call->words[0].at;
    for (uint32_t part = 0, at = 0, end; part < parts; part++, at = end) { /* behind the last one the request may be gone */
        end = shard_slots_end_of(worker, at, keys);
        struct shard_part_plan plan = {shard_slots_owner_of(worker, at), part, 1 + (uint64_t)(end - at) * step, name,
                                       call->words[0].size};
        shard_slots_send_part(call, request, plan, at, end, step);
    }
}

void shard_send_slots(struct shard_call *call, struct shard_request *request) {
    struct shard_worker *worker = call->worker;
    const char *name = call->command->name;
    uint32_t step = shard_command_step(call->command);
    uint32_t keys = shard_slots_group(call, step);
    for (uint32_t at = 0, end; at < keys; at = end) {
        end = shard_slots_end_of(worker, at, keys);
        uint32_t node = shard_slots_owner_of(worker, at);
        struct shard_part_plan plan = {node, node, 1 + (uint64_t)(end - at) * step, name, strlen(name)};
        request->merge->waiting++;
        shard_slots_send_part(call, request, plan, at, end, step);
    }
}
