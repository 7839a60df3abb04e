/* Commands that go to several nodes. */
#include "shard_plane.h"

#ifdef __linux__

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
        worker->node_room = keys;
    }
    const struct placement *placement = &worker->shard->settings.placement;
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

static uint32_t parts_needed(const struct shard_worker *worker) {
    uint32_t parts = 0;
    for (uint32_t node = 0; node < worker->shard->settings.node_count; node++) parts += worker->counts[node] != 0;
    return parts;
}

/* From the header of a word up to behind its CRLF. */
static const char *whole_word(const struct shard_call *call, uint32_t place, uint32_t count, size_t *size) {
    struct resp_span before = call->words[place - 1];
    struct resp_span last = call->words[place + count - 1];
    size_t from = before.at + before.size + 2;
    *size = last.at + last.size + 2 - from;
    return call->data + from;
}

static void out_of_memory(struct shard_worker *worker, struct shard_link *link) {
    shard_link_close(worker, link); /* what it was sent is not a command any longer */
}

static void append(struct shard_call *call, struct shard_link *link, const char *data, size_t size) {
    struct shard_worker *worker = call->worker;
    if (!shard_rope_refer(&link->out, &worker->blocks, data, size, call->owner)) out_of_memory(worker, link);
    if (link->out.size > SHARD_HIGH) call->client->full = link;
}

/* "*3\r\n$3\r\nDEL\r\n". */
static void begin_named(struct shard_call *call, struct shard_link *link, uint64_t words, const char *name, size_t size) {
    char header[2 * RESP_HEADER];
    size_t header_size = resp_write_header(header, '*', words);
    header_size += resp_write_header(header + header_size, '$', size);
    struct shard_blocks *blocks = &call->worker->blocks;
    bool enough = shard_rope_copy(&link->out, blocks, header, header_size) &&
                  shard_rope_copy(&link->out, blocks, name, size) && shard_rope_copy(&link->out, blocks, "\r\n", 2);
    if (!enough) out_of_memory(call->worker, link);
}

/* The name as the client has written it. */
static void begin_part(struct shard_call *call, struct shard_link *link, uint64_t words) {
    begin_named(call, link, words, call->data + call->words[0].at, call->words[0].size);
}

/*
 * Asks each node that has keys of it, and says in worker->counts which part is whose: from 1 on; 0 where the node is not to be
 * sent anything.
 */
static void ask_nodes(struct shard_call *call, struct shard_request *request, uint32_t step) {
    struct shard_worker *worker = call->worker;
    uint32_t part = 0;
    for (uint32_t node = 0; node < worker->shard->settings.node_count; node++) {
        uint32_t keys = worker->counts[node];
        if (!keys) continue;

        bool last = part + 1 == request->merge->count;
        bool asked = shard_link_ask(worker, shard_link_to(call, node), request, part++);
        if (asked) begin_part(call, shard_link_to(call, node), 1 + (uint64_t)keys * step);
        worker->counts[node] = asked ? part : 0;
        if (last) break; /* if all have failed, the request is gone */
    }
}

static bool remember_order(const struct shard_worker *worker, struct shard_merge *merge, uint32_t keys) {
    uint32_t part = 0;
    uint32_t nodes = worker->shard->settings.node_count;
    uint16_t *parts = malloc(nodes * sizeof *parts);
    merge->keys = keys;
    merge->order = malloc(keys * sizeof *merge->order);
    if (parts && merge->order) {
        for (uint32_t node = 0; node < nodes; node++) {
            if (worker->counts[node]) parts[node] = (uint16_t)part++;
        }
        for (uint32_t i = 0; i < keys; i++) merge->order[i] = parts[worker->nodes[i]];
    }
    free(parts);
    return parts && merge->order;
}

struct shard_request *shard_begin_merge(struct shard_call *call, enum shard_way way, uint32_t parts) {
    struct shard_merge *merge = shard_merge_new(way, parts);
    struct shard_request *request = merge ? shard_request_new(call->worker, call->client) : NULL;
    if (request) request->merge = merge;
    else shard_merge_free(merge);
    if (!merge) shard_client_close(call->worker, call->client);
    return request;
}

/* All keys are on one node: as it came. */
static void send_whole(struct shard_call *call, uint32_t node) {
    struct shard_worker *worker = call->worker;
    struct shard_request *request = shard_request_new(worker, call->client);
    if (request && shard_link_ask(worker, shard_link_to(call, node), request, 0)) {
        append(call, shard_link_to(call, node), call->data, call->size);
    }
}

/* To the nodes that have been asked. */
static void append_words(struct shard_call *call, uint32_t keys, uint32_t step) {
    struct shard_worker *worker = call->worker;
    for (uint32_t i = 0; i < keys; i++) {
        if (!worker->counts[worker->nodes[i]]) continue;
        size_t size;
        const char *data = whole_word(call, 1 + i * step, step, &size);
        append(call, shard_link_to(call, worker->nodes[i]), data, size);
    }
}

static void send_parts(struct shard_call *call, uint32_t keys, uint32_t step, uint32_t parts) {
    struct shard_worker *worker = call->worker;
    enum shard_way way = call->command->way;
    struct shard_request *request = shard_begin_merge(call, way, parts);
    if (!request) return;
    if (way == SHARD_MGET && !remember_order(worker, request->merge, keys)) {
        for (uint32_t i = 0; i < parts; i++) shard_merge_fail(worker, request, "-ERR out of memory\r\n");
        return;
    }
    ask_nodes(call, request, step);
    append_words(call, keys, step);
}

void shard_split(struct shard_call *call) {
    uint32_t step = call->command->way == SHARD_MSET ? 2 : 1;
    uint32_t keys;
    if (step == 2 && call->count % 2 == 0) {
        shard_refuse(call, "ERR wrong number of arguments for 'mset' command");
    } else if (!shard_place_keys(call, 1, step, &keys)) {
        shard_client_close(call->worker, call->client);
    } else {
        uint32_t parts = parts_needed(call->worker);
        if (parts == 1) send_whole(call, call->worker->nodes[0]);
        else send_parts(call, keys, step, parts);
    }
}

void shard_send_to_all(struct shard_call *call) {
    struct shard_worker *worker = call->worker;
    uint32_t nodes = worker->shard->settings.node_count;
    struct shard_request *request = shard_begin_merge(call, call->command->way, nodes);
    for (uint32_t node = 0; request && node < nodes; node++) {
        if (shard_link_ask(worker, shard_link_to(call, node), request, node)) append(call, shard_link_to(call, node), call->data, call->size);
    }
}

void shard_send_pairs(struct shard_call *call, struct shard_request *request) {
    struct shard_worker *worker = call->worker;
    uint32_t keys;
    if (!shard_place_keys(call, 1, 2, &keys)) {
        shard_client_close(worker, call->client);
        return;
    }
    for (uint32_t node = 0; node < worker->shard->settings.node_count; node++) {
        uint32_t count = worker->counts[node];
        if (!count) continue;

        request->merge->waiting++;
        bool asked = shard_link_ask(worker, shard_link_to(call, node), request, node);
        if (asked) begin_named(call, shard_link_to(call, node), 1 + 2 * (uint64_t)count, "MSET", 4);
        worker->counts[node] = asked;
    }
    append_words(call, keys, 2);
}

/* ---- SCAN ---- */

/* The client's cursor is a node's, times the number of nodes, plus the number of the node. */
static bool read_cursor(const char *word, size_t size, uint64_t *cursor) {
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
    uint32_t nodes = worker->shard->settings.node_count;
    uint64_t cursor;
    if (!read_cursor(call->data + call->words[1].at, call->words[1].size, &cursor)) {
        shard_refuse(call, "ERR invalid cursor");
        return;
    }
    uint32_t node = (uint32_t)(cursor % nodes);
    struct shard_request *request = shard_begin_merge(call, SHARD_SCAN, 1);
    if (!request) return;

    request->merge->node = node;
    if (!shard_link_ask(worker, shard_link_to(call, node), request, 0)) return;

    char digits[24], word[RESP_HEADER + 24];
    int size = snprintf(digits, sizeof digits, "%llu", (unsigned long long)(cursor / nodes));
    size_t header = resp_write_header(word, '$', (uint64_t)size);
    memcpy(word + header, digits, (size_t)size);
    memcpy(word + header + size, "\r\n", 2);
    begin_part(call, shard_link_to(call, node), call->count);
    if (!shard_rope_copy(&shard_link_to(call, node)->out, &worker->blocks, word, header + (size_t)size + 2)) {
        out_of_memory(worker, shard_link_to(call, node));
    }
    size_t rest = 0;
    const char *options = call->count > 2 ? whole_word(call, 2, call->count - 2, &rest) : NULL;
    if (options) append(call, shard_link_to(call, node), options, rest);
}

#endif
