/* One reply of several. */
#include "shard_answers.h"
#include "shard_session.h"

#ifdef __linux__

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 512 };

struct shard_merge *shard_merge_new(enum shard_way way, uint32_t parts) {
    struct shard_merge *merge = calloc(1, sizeof *merge + parts * sizeof *merge->parts);
    if (!merge) return NULL;

    merge->way = (uint8_t)way;
    merge->count = merge->waiting = parts;
    return merge;
}

void shard_merge_free(struct shard_merge *merge) {
    if (!merge) return;
    for (uint32_t i = 0; i < merge->count; i++) shard_buffer_drop(merge->parts[i].reply);
    free(merge->order);
    free(merge->error);
    free(merge);
}

/* ---- reading ---- */

/* A reply that is here as a whole. */
struct whole {
    const char *data;
    size_t size;
};

static struct whole reply_of(const struct shard_merge *merge, uint32_t part) {
    return (struct whole){merge->parts[part].reply->bytes, merge->parts[part].reply->size};
}

/* Of an integer or a header; takes its line off. */
static int64_t take_number(struct whole *reply) {
    char *end;
    int64_t number = strtoll(reply->data + 1, &end, 10);
    size_t line = (size_t)(end - reply->data) + 2;
    reply->data += line;
    reply->size -= line;
    return number;
}

/* Takes one value off. */
static struct whole take_value(struct whole *reply) {
    struct resp_reply scan;
    size_t used;
    resp_reply_start(&scan, &resp_default_limits);
    resp_reply_scan(&scan, reply->data, reply->size, &used);
    struct whole value = {reply->data, used};
    reply->data += used;
    reply->size -= used;
    return value;
}

/* ---- writing ---- */

/* Where the reply of a request goes: out, if it is its turn. */
struct sink {
    struct shard_worker *worker;
    struct shard_request *request;
    struct shard_rope *rope;
    bool enough; /* memory */
};

static void put(struct sink *sink, struct whole bytes, struct shard_buffer *owner) {
    struct shard_blocks *blocks = &sink->worker->blocks;
    bool enough = owner ? shard_rope_refer(sink->rope, blocks, bytes.data, bytes.size, owner)
                        : shard_rope_copy(sink->rope, blocks, bytes.data, bytes.size);
    sink->enough = sink->enough && enough;
}

static void put_header(struct sink *sink, char type, uint64_t number) {
    char header[RESP_HEADER];
    put(sink, (struct whole){header, resp_write_header(header, type, number)}, NULL);
}

static void put_part(struct sink *sink, uint32_t part) {
    put(sink, reply_of(sink->request->merge, part), sink->request->merge->parts[part].reply);
}

/* ---- each way ---- */

static void merge_values(struct sink *sink) {
    const struct shard_merge *merge = sink->request->merge;
    struct whole *cursors = malloc(merge->count * sizeof *cursors);
    if (!cursors) {
        sink->enough = false;
        return;
    }
    for (uint32_t part = 0; part < merge->count; part++) {
        cursors[part] = reply_of(merge, part);
        take_number(&cursors[part]);
    }
    put_header(sink, '*', merge->keys);
    for (uint32_t i = 0; i < merge->keys; i++) {
        struct whole value = take_value(&cursors[merge->order[i]]);
        put(sink, value, merge->parts[merge->order[i]].reply);
        if (value.size == 0) sink->enough = false; /* fewer than were asked for: nothing right can be made of it */
    }
    free(cursors);
}

static void merge_sum(struct sink *sink) {
    const struct shard_merge *merge = sink->request->merge;
    int64_t sum = 0;
    for (uint32_t part = 0; part < merge->count; part++) {
        struct whole reply = reply_of(merge, part);
        sum += take_number(&reply);
    }
    put_header(sink, ':', (uint64_t)sum);
}

static void merge_arrays(struct sink *sink) {
    const struct shard_merge *merge = sink->request->merge;
    uint64_t sum = 0;
    for (uint32_t part = 0; part < merge->count; part++) {
        struct whole reply = reply_of(merge, part);
        sum += (uint64_t)take_number(&reply);
    }
    put_header(sink, '*', sum);
    for (uint32_t part = 0; part < merge->count; part++) {
        struct whole reply = reply_of(merge, part);
        take_number(&reply);
        put(sink, reply, merge->parts[part].reply);
    }
}

/* Any node's, in turn. */
static void merge_one(struct sink *sink) {
    const struct shard_merge *merge = sink->request->merge;
    uint32_t from = (uint32_t)(uintptr_t)atomic_load_explicit(&sink->worker->figures[FIGURE_COMMANDS], memory_order_relaxed);
    uint32_t chosen = from % merge->count;
    for (uint32_t i = 0; i < merge->count; i++) {
        uint32_t part = (from + i) % merge->count;
        struct whole reply = reply_of(merge, part);
        if (reply.data[0] != '$' || reply.data[1] == '-') continue;
        chosen = part;
        break;
    }
    put_part(sink, chosen);
}

/* [cursor, keys]: the node's cursor made ours, or the beginning of the next node. */
static void merge_scan(struct sink *sink) {
    const struct shard_merge *merge = sink->request->merge;
    uint64_t nodes = sink->worker->shard->settings.node_count;
    struct whole reply = reply_of(merge, 0);
    take_number(&reply);
    struct whole word = take_value(&reply);
    take_number(&word);
    uint64_t cursor = strtoull(word.data, NULL, 10);
    if (cursor > INT64_MAX / nodes - 1) {
        static const char error[] = "-ERR the node's cursor is too large for the shard\r\n";
        put(sink, (struct whole){error, sizeof error - 1}, NULL);
        return;
    }
    if (cursor) cursor = cursor * nodes + merge->node;
    else if (merge->node + 1 < nodes) cursor = merge->node + 1;
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%llu", (unsigned long long)cursor);
    put_header(sink, '*', 2);
    put_header(sink, '$', (uint64_t)size);
    put(sink, (struct whole){digits, (size_t)size}, NULL);
    put(sink, (struct whole){"\r\n", 2}, NULL);
    put(sink, reply, merge->parts[0].reply);
}

/* ---- the end ---- */

/* What a part has to be, or the request has failed. */
static bool fits(const struct shard_merge *merge, struct whole reply) {
    switch (merge->way) {
    case SHARD_MGET: case SHARD_ALL_ARRAYS: case SHARD_SCAN: return reply.data[0] == '*';
    case SHARD_COUNT: case SHARD_ALL_COUNT: return reply.data[0] == ':';
    default: return reply.data[0] != '-';
    }
}

static const char ODD[] = "-ERR a node has answered with something else than the command has for an answer\r\n";

static bool put_error(struct sink *sink) {
    const struct shard_merge *merge = sink->request->merge;
    for (uint32_t part = 0; part < merge->count && !merge->gathers; part++) {
        if (!merge->parts[part].reply || fits(merge, reply_of(merge, part))) continue;
        if (reply_of(merge, part).data[0] == '-') put_part(sink, part);
        else put(sink, (struct whole){ODD, sizeof ODD - 1}, NULL);
        return true;
    }
    if (merge->error) put(sink, (struct whole){merge->error, strlen(merge->error)}, NULL);
    return merge->error != NULL;
}

/* What has to be read whole before anything can be said. */
static void merge_whole(struct sink *sink) {
    const struct shard_merge *merge = sink->request->merge;
    struct shard_text *replies = malloc(merge->count * sizeof *replies);
    for (uint32_t part = 0; replies && part < merge->count; part++) {
        struct whole reply = reply_of(merge, part);
        replies[part] = (struct shard_text){reply.data, reply.size};
    }
    struct shard_buffer *answer = replies ? shard_answer_of(merge->way, replies, merge->count) : NULL;
    free(replies);
    sink->enough = answer != NULL;
    if (answer) put(sink, (struct whole){answer->bytes, answer->size}, answer);
    shard_buffer_drop(answer);
}

static void merge_verified(struct sink *sink) {
    char reply[SHARD_GREETING_ROOM];
    put(sink, (struct whole){reply, shard_session_greet(sink->request->client, reply)}, NULL);
}

static void put_all(struct sink *sink) {
    bool failed = put_error(sink);
    if (sink->request->merge->way == SHARD_VERIFIED) shard_session_settle(sink->request->client, !failed);
    if (failed) return;
    switch (sink->request->merge->way) {
    case SHARD_MGET: merge_values(sink); break;
    case SHARD_COUNT: case SHARD_ALL_COUNT: merge_sum(sink); break;
    case SHARD_ALL_ARRAYS: merge_arrays(sink); break;
    case SHARD_ALL_ONE: merge_one(sink); break;
    case SHARD_SCAN: merge_scan(sink); break;
    case SHARD_INFO: case SHARD_LEAST: case SHARD_PAIRS: merge_whole(sink); break;
    case SHARD_VERIFIED: merge_verified(sink); break;
    default:
        if (sink->request->merge->gathers) put(sink, (struct whole){"+OK\r\n", 5}, NULL);
        else put_part(sink, 0);
    }
}

void shard_merge_finish_part(struct shard_worker *worker, struct shard_request *request) {
    if (--request->merge->waiting) return;

    struct shard_client *client = request->client;
    struct sink sink = {worker, request, client->first == request ? &client->out : &request->reply, true};
    if (client->socket != -1) {
        put_all(&sink);
        if (!sink.enough) shard_client_close(worker, client);
    }
    shard_request_feed(worker, request, "", 0, true);
}

static bool keep(struct shard_part *part, const char *data, size_t size) {
    struct shard_buffer *reply = part->reply;
    size_t used = reply ? reply->size : 0;
    if (!reply || reply->room - used < size) {
        size_t room = used * 2 > used + size ? used * 2 : used + size;
        if (room < FIRST_ROOM) room = FIRST_ROOM;
        struct shard_buffer *larger = realloc(reply, sizeof *reply + room);
        if (!larger) return false;
        if (!reply) *larger = (struct shard_buffer){.references = 1};
        larger->room = room;
        part->reply = reply = larger;
    }
    memcpy(reply->bytes + used, data, size);
    reply->size = used + size;
    return true;
}

static void remember_error(struct shard_merge *merge, const char *error) {
    if (!merge->error) merge->error = strdup(error);
}

/* The node's next one comes into the same place. */
static void forget_reply(struct shard_merge *merge, struct shard_part *part) {
    struct shard_buffer *reply = part->reply;
    if (!reply) return;
    if (reply->bytes[0] != '+' && !merge->error) merge->error = strndup(reply->bytes, reply->size);
    reply->size = 0;
}

void shard_merge_feed(struct shard_worker *worker, struct shard_request *request, uint32_t part, const char *data,
                      size_t size, bool last) {
    if (request->client->socket != -1 && !keep(&request->merge->parts[part], data, size)) {
        shard_client_close(worker, request->client);
    }
    if (last && request->merge->gathers) forget_reply(request->merge, &request->merge->parts[part]);
    if (last) shard_merge_finish_part(worker, request);
}

void shard_merge_fail(struct shard_worker *worker, struct shard_request *request, const char *error) {
    remember_error(request->merge, error);
    shard_add(worker, FIGURE_ERRORS, 1);
    shard_merge_finish_part(worker, request);
}

#endif
