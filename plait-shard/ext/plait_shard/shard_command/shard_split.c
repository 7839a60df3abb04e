/* Commands that go to several nodes. */
#include "shard_split.h"
#include "shard_acknowledge.h"
#include "../shard_client/shard_client_replies.h"
#include "../shard_link/shard_link.h"
#include "../shard_client/shard_merge.h"
#include "../shard_client/shard_own_links.h"
#include "../shard_link/shard_reader.h"
#include "../shard_client/shard_reply.h"
#include "shard_slots.h"
#include "../shard_plane/shard_topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool shard_place_keys(struct shard_call *call, uint32_t first, uint32_t step, uint32_t *count) {
    struct shard_worker *worker = call->worker;
    size_t keys = (call->count - first + step - 1) / step;
    if (keys > worker->node_room) {
        uint32_t *nodes = realloc(worker->nodes, keys * sizeof *nodes);
        if (!nodes) return false;
        worker->nodes = nodes;
        worker->node_room = (uint32_t)keys;
    }
    const struct placement *placement = &worker->topology->placement;
    memset(worker->counts, 0, worker->shard->settings.node_count * sizeof *worker->counts);
    for (size_t i = 0; i < keys; i++) {
        struct resp_span key = call->words[first + i * step];
        worker->nodes[i] = placement_node(placement, call->data + key.at, key.size);
        worker->counts[worker->nodes[i]]++;
    }
    *count = (uint32_t)keys;
    return true;
}

/* ---- parts ---- */

static uint32_t shard_split_parts_needed(const struct shard_worker *worker) {
    uint32_t parts = 0;
    for (uint32_t node = 0; node < worker->shard->settings.node_count; node++) parts += worker->counts[node] != 0;
    return parts;
}

const char *shard_whole_word(const struct shard_call *call, uint32_t place, uint32_t count, size_t *size) {
    struct resp_span before = call->words[place - 1];
    struct resp_span last = call->words[place + count - 1];
    size_t from = before.at + before.size + 2;
    *size = last.at + last.size + 2 - from;
    return call->data + from;
}

/* What it was sent is not a command any longer, and what is still to be appended would not be one either. */
static bool shard_split_out_of_memory(struct shard_worker *worker, struct shard_link *link) {
    shard_link_abandon(worker, link, "-ERR out of memory\r\n");
    return false;
}

bool shard_append(struct shard_call *call, struct shard_link *link, const char *data, size_t size) {
    struct shard_worker *worker = call->worker;
    if (!shard_rope_refer(&link->out, &worker->blocks, data, size, call->owner)) return shard_split_out_of_memory(worker, link);
    if (link->out.size > SHARD_HIGH && !link->own) call->client->full = link;
    return true;
}

/* "*3\r\n$3\r\nDEL\r\n". */
static bool shard_split_begin_named(struct shard_call *call, struct shard_link *link, uint64_t words, const char *name,
                                    size_t size) {
    char header[2 * RESP_HEADER];
    size_t header_size = resp_write_header(header, '*', words);
    header_size += resp_write_header(header + header_size, '$', size);
    struct shard_blocks *blocks = &call->worker->blocks;
    bool enough = shard_rope_copy(&link->out, blocks, header, header_size) &&
                  shard_rope_copy(&link->out, blocks, name, size) && shard_rope_copy(&link->out, blocks, "\r\n", 2);
    return enough || shard_split_out_of_memory(call->worker, link);
}

/* The name as the client has written it. */
static bool shard_split_begin_part(struct shard_call *call, struct shard_link *link, uint64_t words) {
    return shard_split_begin_named(call, link, words, call->data + call->words[0].at, call->words[0].size);
}

/* The connection for a part: that of all, or one of its own. NULL: the request can't be asked. */
static struct shard_link *shard_split_link_for(struct shard_call *call, struct shard_request *request, uint32_t node,
                                               uint32_t part) {
    struct shard_worker *worker = call->worker;
    struct shard_link *link = call->alone ? shard_take_link(worker, call->client->pool, node)
                                          : shard_link_to(call, shard_reader_of(call, node));
    if (!link) {
        shard_merge_fail(worker, request, part, "-ERR out of memory\r\n");
        return NULL;
    }
    if (call->alone) request->merge->parts[part].link = link;
    return shard_link_ask(worker, link, request, part) ? link : NULL;
}

struct shard_link *shard_begin_part(struct shard_call *call, struct shard_request *request, struct shard_part_plan plan) {
    struct shard_link *link = shard_split_link_for(call, request, plan.node, plan.part);
    return link && shard_split_begin_named(call, link, plan.words, plan.name, plan.name_size) ? link : NULL;
}

/* Asks each node that has keys of it, and says in worker->asked on which connection; NULL where it is not to be sent anything. */
static void shard_split_ask_nodes(struct shard_call *call, struct shard_request *request, uint32_t step) {
    struct shard_worker *worker = call->worker;
    uint32_t part = 0, parts = request->merge->count;
    for (uint32_t node = 0; node < worker->shard->settings.node_count; node++) {
        uint32_t keys = worker->counts[node];
        worker->asked[node] = NULL;
        if (!keys) continue;

        bool last = part + 1 == parts;
        struct shard_link *link = shard_split_link_for(call, request, node, part++);
        if (link && shard_split_begin_part(call, link, 1 + (uint64_t)keys * step)) worker->asked[node] = link;
        if (last) break; /* if all have failed, the request is gone */
    }
}

/* Parts in the order of the nodes, as ask_nodes asks them. */
static void shard_split_remember_order(const struct shard_worker *worker, struct shard_merge *merge) {
    uint32_t part = 0;
    for (uint32_t node = 0; node < worker->shard->settings.node_count; node++) {
        if (!worker->counts[node]) continue;
        merge->parts[part].values = worker->counts[node];
        worker->numbers[node] = (uint16_t)part++;
    }
    for (uint32_t i = 0; i < merge->keys; i++) merge->order[i] = worker->numbers[worker->nodes[i]];
}

struct shard_request *shard_begin_merge(struct shard_call *call, enum shard_merging kind, uint32_t parts, uint32_t keys) {
    struct shard_merge *merge = shard_merge_new(kind, parts, keys);
    struct shard_request *request = merge ? shard_request_new(call->worker, call->client) : NULL;
    if (request) {
        request->merge = merge;
        call->client->merged += merge->room;
    } else {
        free(merge);
    }
    if (!merge) shard_close_client(call->worker, call->client);
    return request;
}

bool shard_goes_alone(const struct shard_call *call) {
    const struct shard_command *command = call->command;
    if (command->link == SHARD_SHARED || !shard_command_fits(command, call->count)) return false;
    bool cluster = call->worker->shard->settings.cluster; /* there its parts are many, on a connection for each node */
    return command->link != SHARD_OWN_IF_MANY || (call->count > SHARD_MANY && !cluster);
}

/* All keys are on one node: as it came. */
static void shard_split_send_whole(struct shard_call *call, uint32_t node) {
    struct shard_worker *worker = call->worker;
    struct shard_request *request = shard_request_new(worker, call->client);
    struct shard_link *link = shard_link_to(call, shard_reader_of(call, node));
    if (request && shard_link_ask(worker, link, request, 0)) shard_append(call, link, call->data, call->size);
}

/* To the nodes that have been asked. */
static void shard_split_append_words(struct shard_call *call, uint32_t keys, uint32_t step) {
    struct shard_worker *worker = call->worker;
    for (uint32_t i = 0; i < keys; i++) {
        struct shard_link *link = worker->asked[worker->nodes[i]];
        if (!link) continue;
        size_t size;
        const char *data = shard_whole_word(call, 1 + i * step, step, &size);
        if (!shard_append(call, link, data, size)) worker->asked[worker->nodes[i]] = NULL;
    }
}

static void shard_split_send_parts(struct shard_call *call, uint32_t keys, uint32_t step, uint32_t parts) {
    struct shard_worker *worker = call->worker;
    bool values = call->command->merge == SHARD_VALUES;
    struct shard_request *request = shard_begin_merge(call, call->command->merge, parts, values ? keys : 0);
    if (!request) return;
    if (values) shard_split_remember_order(worker, request->merge);
    call->client->alone = call->alone;
    shard_split_ask_nodes(call, request, step);
    shard_split_append_words(call, keys, step);
}

void shard_split(struct shard_call *call) {
    uint32_t step = shard_command_step(call->command);
    uint32_t keys;
    if ((call->count - 1) % step) {
        shard_refuse(call, "ERR wrong number of arguments for '%s' command", call->command->name);
    } else if (call->worker->shard->settings.cluster && call->count > 1 + step) {
        shard_split_slots(call, step);
    } else if (!shard_place_keys(call, 1, step, &keys)) {
        shard_close_client(call->worker, call->client);
    } else {
        uint32_t parts = shard_split_parts_needed(call->worker);
        call->alone = shard_goes_alone(call);
        if (parts == 1 && !call->alone) shard_split_send_whole(call, call->worker->nodes[0]);
        else shard_split_send_parts(call, keys, step, parts);
    }
}

/* Whatever it reads, replicas are not asked, too: they have the same. */
static struct shard_link *shard_split_master_link(struct shard_call *call, struct shard_request *request, uint32_t node,
                                                  uint32_t part) {
    struct shard_call question = *call;
    question.command = NULL;
    return shard_split_link_for(&question, request, node, part);
}

void shard_send_to_all(struct shard_call *call) {
    struct shard_worker *worker = call->worker;
    const struct shard_topology *topology = worker->topology;
    struct shard_request *request = shard_begin_merge(call, call->command->merge, topology->master_count, 0);
    if (!request) return;
    bool acknowledges = call->command->way == SHARD_ACKNOWLEDGE;
    call->alone = call->command->link != SHARD_SHARED;
    if (call->alone) call->client->alone = true;
    for (uint32_t i = 0; i < topology->master_count; i++) {
        struct shard_link *link = shard_split_master_link(call, request, topology->masters[i], i);
        if (link && acknowledges) shard_link_skip(link, shard_acknowledge_first(call));
        if (link) shard_append(call, link, call->data, call->size);
    }
}

void shard_send_more(struct shard_call *call, struct shard_request *request) {
    struct shard_worker *worker = call->worker;
    const char *name = call->command->name;
    uint32_t keys, step = shard_command_step(call->command);
    if (worker->shard->settings.cluster) {
        shard_send_slots(call, request);
        return;
    }
    if (!shard_place_keys(call, 1, step, &keys)) {
        shard_close_client(worker, call->client);
        return;
    }
    for (uint32_t node = 0; node < worker->shard->settings.node_count; node++) {
        uint32_t count = worker->counts[node];
        worker->asked[node] = NULL;
        if (!count) continue;

        request->merge->waiting++;
        struct shard_link *link = shard_split_link_for(call, request, node, node);
        bool started = link && shard_split_begin_named(call, link, 1 + step * (uint64_t)count, name, strlen(name));
        worker->asked[node] = started ? link : NULL;
    }
    shard_split_append_words(call, keys, step);
}

/* ---- SCAN ---- */

/*
 * The client's cursor is a node's, times the number of masters, plus the number of the master. Where masters may become others, it
 * is times SHARD_MASTERS for each generation of them, of which it names its own: what a former master called a place is none here.
 */
static bool shard_split_find_scanned(const struct shard_topology *topology, bool watched, uint64_t *cursor,
                                     struct shard_scan_place *place) {
    uint64_t generations = watched ? SHARD_GENERATIONS : 1;
    uint64_t masters = watched ? SHARD_MASTERS : topology->master_count;
    uint64_t number = *cursor % (masters * generations);
    bool begins = *cursor == 0;
    *place = (struct shard_scan_place){.base = masters * generations, .first = watched ? topology->generation * masters : 0};
    *cursor /= place->base;
    place->master = begins ? 0 : (uint32_t)(number % masters);
    place->final = place->master + 1 == topology->master_count;
    return place->master < topology->master_count && (begins || number / masters * masters == place->first);
}

static bool shard_split_read_cursor(const char *word, size_t size, uint64_t *cursor) {
    *cursor = 0;
    if (size == 0 || size > 19) return false;
    for (size_t i = 0; i < size; i++) {
        if (word[i] < '0' || word[i] > '9') return false;
        *cursor = *cursor * 10 + (uint64_t)(word[i] - '0');
    }
    return true;
}

void shard_scan(struct shard_call *call) {
    struct shard_worker *worker = call->worker;
    struct shard_scan_place place;
    uint64_t cursor;
    if (!shard_split_read_cursor(call->data + call->words[1].at, call->words[1].size, &cursor)) {
        shard_refuse(call, "ERR invalid cursor");
        return;
    }
    if (!shard_split_find_scanned(worker->topology, shard_is_watched(worker), &cursor, &place)) {
        shard_refuse(call, "ERR the nodes have changed since this cursor was given: SCAN again, from 0");
        return;
    }
    uint32_t node = worker->topology->masters[place.master];
    struct shard_request *request = shard_begin_merge(call, SHARD_CURSOR, 1, 0);
    if (!request) return;

    request->merge->scan = place;
    if (!shard_link_ask(worker, shard_link_to(call, node), request, 0)) return;

    char digits[24], word[RESP_HEADER + 24];
    int size = snprintf(digits, sizeof digits, "%llu", (unsigned long long)cursor);
    size_t header = resp_write_header(word, '$', (uint64_t)size);
    memcpy(word + header, digits, (size_t)size);
    memcpy(word + header + size, "\r\n", 2);
    struct shard_link *link = shard_link_to(call, node);
    if (!shard_split_begin_part(call, link, call->count)) return;
    if (!shard_rope_copy(&link->out, &worker->blocks, word, header + (size_t)size + 2)) {
        shard_split_out_of_memory(worker, link);
        return;
    }
    size_t rest = 0;
    const char *options = call->count > 2 ? shard_whole_word(call, 2, call->count - 2, &rest) : NULL;
    if (options) shard_append(call, link, options, rest);
}
