/*
 * One reply of several. Values of an MGET and keys are forwarded in their order while they arrive, once there are too many to wait
 * for the last; everything else is small, and put together when all is here.
 */
#include "shard_merge.h"
#include "../shard_data/shard_answers.h"
#include "shard_client_lists.h"
#include "shard_client_replies.h"
#include "../shard_plane/shard_greeting.h"
#include "../shard_plane/shard_io.h"
#include "../shard_data/shard_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 32, /* no header is longer */ DIGITS = 18, NIL = 5, NULL_SIZE = 3 /* of RESP3 */, CRLF = 2 };

static const char ODD[] = "-ERR a node has answered with something else than the command has for an answer\r\n";
static const char NO_MEMORY[] = "-ERR out of memory\r\n";

struct shard_merge *shard_merge_new(enum shard_merging kind, uint32_t parts, uint32_t keys) {
    size_t size = sizeof(struct shard_merge) + parts * sizeof(struct shard_part);
    struct shard_merge *merge = calloc(1, size + keys * sizeof(uint16_t));
    if (!merge) return NULL;

    merge->kind = (uint8_t)kind;
    merge->count = merge->waiting = parts;
    merge->keys = keys;
    merge->room = size + keys * sizeof(uint16_t);
    merge->order = (uint16_t *)((char *)merge + size);
    return merge;
}

static void shard_merge_forget_part(struct shard_worker *worker, struct shard_request *request, struct shard_part *part) {
    request->client->behind -= part->got.size;
    shard_rope_clear(&part->got, &worker->blocks);
}

void shard_merge_forget(struct shard_worker *worker, struct shard_request *request) {
    struct shard_merge *merge = request->merge;
    for (uint32_t i = 0; i < merge->count; i++) {
        shard_merge_forget_part(worker, request, &merge->parts[i]);
        if (merge->parts[i].link) shard_link_read(worker, merge->parts[i].link, true);
    }
}

void shard_merge_free(struct shard_worker *worker, struct shard_request *request) {
    struct shard_merge *merge = request->merge;
    if (!merge) return;
    shard_merge_forget(worker, request);
    shard_rope_clear(&merge->error, &worker->blocks);
    request->client->merged -= merge->room;
    free(merge);
}

/* ---- reading ---- */

/* Of a header or an integer at the beginning of a part: ":-1\r\n". Returns the bytes of the line, 0: it is none. */
static size_t shard_merge_read_number(const char *line, size_t size, int64_t *number) {
    size_t at = 1;
    bool negative = size > 1 && line[1] == '-';
    at += negative;
    size_t begins = at;
    for (*number = 0; at < size && at - begins < DIGITS && line[at] >= '0' && line[at] <= '9'; at++) {
        *number = *number * 10 + (line[at] - '0');
    }
    if (at == begins || at + CRLF > size || line[at] != '\r' || line[at + 1] != '\n') return 0;
    if (negative) *number = -*number;
    return at + CRLF;
}

static size_t shard_merge_take_number(const struct shard_part *part, char *type, int64_t *number) {
    char line[LINE];
    size_t size = shard_rope_peek(&part->got, line, sizeof line);
    *type = size ? line[0] : 0;
    return size ? shard_merge_read_number(line, size, number) : 0;
}

static char shard_merge_type_of(const struct shard_part *part) {
    return part->got.first ? part->got.first->data[0] : 0;
}

static bool shard_merge_begins_with(const struct shard_part *part, const char *text) {
    char bytes[LINE];
    size_t size = strlen(text);
    return shard_rope_peek(&part->got, bytes, size) == size && memcmp(bytes, text, size) == 0;
}

/* ---- what a part has to be ---- */

static bool shard_merge_is_array(const struct shard_merge *merge, const struct shard_part *part) {
    int64_t number;
    char type;
    if (!shard_merge_take_number(part, &type, &number) || type != '*' || number < 0) return false;
    return merge->kind != SHARD_VALUES || (uint64_t)number == part->values;
}

static bool shard_merge_is_integer(const struct shard_merge *merge, const struct shard_part *part) {
    int64_t number;
    char type;
    (void)merge;
    return shard_merge_take_number(part, &type, &number) && type == ':';
}

/* ---- writing ---- */

/* Where the reply of a request goes: out, if it is its turn. */
struct sink {
    struct shard_worker *worker;
    struct shard_request *request;
    struct shard_rope *rope;
    bool enough; /* memory */
};

static void shard_merge_put(struct sink *sink, const char *bytes, size_t size) {
    sink->enough = shard_rope_copy(sink->rope, &sink->worker->blocks, bytes, size) && sink->enough;
}

static void shard_merge_put_text(struct sink *sink, const char *text) {
    shard_merge_put(sink, text, strlen(text));
}

static void shard_merge_put_header(struct sink *sink, char type, uint64_t number) {
    char header[RESP_HEADER];
    shard_merge_put(sink, header, resp_write_header(header, type, number));
}

static void shard_merge_put_integer(struct sink *sink, int64_t number) {
    char line[LINE];
    shard_merge_put(sink, line, (size_t)snprintf(line, sizeof line, ":%lld\r\n", (long long)number));
}

static void shard_merge_put_some(struct sink *sink, struct shard_part *part, size_t size) {
    sink->request->client->behind -= size;
    sink->enough = shard_rope_pass(sink->rope, &part->got, &sink->worker->blocks, size) && sink->enough;
}

static void shard_merge_put_part(struct sink *sink, struct shard_part *part) {
    shard_merge_put_some(sink, part, part->got.size);
}

static void shard_merge_drop_some(struct sink *sink, struct shard_part *part, size_t size) {
    sink->request->client->behind -= size;
    shard_rope_drop(&part->got, &sink->worker->blocks, size);
}

/* ---- forwarding in order ---- */

/* The header of all, in place of theirs. */
static void shard_merge_begin(struct sink *sink) {
    struct shard_merge *merge = sink->request->merge;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < merge->count; i++) {
        int64_t number = 0;
        char type;
        size_t line = shard_merge_take_number(&merge->parts[i], &type, &number);
        shard_merge_drop_some(sink, &merge->parts[i], line);
        sum += (uint64_t)number;
    }
    shard_merge_put_header(sink, '*', merge->kind == SHARD_VALUES ? merge->keys : sum);
    merge->started = true;
}

/* Of the value that a part begins with, or as much as is known to belong to it; 0: that can't be said yet; -1: it is none. */
static int64_t shard_merge_size_of_value(const struct shard_part *part) {
    int64_t number;
    char type, line[LINE];
    const struct shard_block *block = part->got.first;
    if (!block) return 0;
    bool here = block->size >= sizeof line;
    size_t size = here ? sizeof line : shard_rope_peek(&part->got, line, sizeof line);
    const char *data = here ? block->data : line;
    type = data[0];
    if (type == '_') return NULL_SIZE;
    size_t header = shard_merge_read_number(data, size, &number);
    if (type != '$') return -1;
    if (!header) return part->whole || size == sizeof line ? -1 : 0;
    return number < 0 ? NIL : (int64_t)header + number + CRLF;
}

static bool shard_merge_put_values(struct sink *sink, size_t most) {
    struct shard_merge *merge = sink->request->merge;
    while (merge->at < merge->keys && sink->rope->size < most) {
        struct shard_part *part = &merge->parts[merge->order[merge->at]];
        if (merge->left == 0) {
            int64_t size = shard_merge_size_of_value(part);
            if (size < 0 || (size == 0 && part->whole)) return false;
            if (size == 0) break;
            merge->left = (uint64_t)size;
        }
        size_t size = merge->left < part->got.size ? (size_t)merge->left : part->got.size;
        shard_merge_put_some(sink, part, size);
        merge->left -= size;
        if (merge->left) break;
        merge->at++;
    }
    return true;
}

static void shard_merge_put_arrays(struct sink *sink, size_t most) {
    struct shard_merge *merge = sink->request->merge;
    while (merge->at < merge->count && sink->rope->size < most) {
        struct shard_part *part = &merge->parts[merge->at];
        shard_merge_put_part(sink, part);
        if (!part->whole) break;
        merge->at++;
    }
}

/* False: a node has sent what can't be made sense of, in the middle. */
static bool shard_merge_put_in_order(struct sink *sink, size_t most) {
    struct shard_merge *merge = sink->request->merge;
    if (!merge->started) shard_merge_begin(sink);
    if (merge->kind == SHARD_VALUES) return shard_merge_put_values(sink, most);

    shard_merge_put_arrays(sink, most);
    return true;
}

static bool shard_merge_is_forwarded(const struct shard_merge *merge) {
    return merge->kind == SHARD_VALUES || merge->kind == SHARD_ARRAYS;
}

/* An error will be the answer. */
static bool shard_merge_is_lost(const struct shard_merge *merge) {
    return merge->failed || merge->spoilt;
}

static bool shard_merge_may_begin(const struct shard_worker *worker, const struct shard_request *request) {
    const struct shard_settings *settings = &worker->shard->settings;
    const struct shard_merge *merge = request->merge;
    return merge->headed == merge->count && !shard_merge_is_lost(merge) && !settings->strict &&
        request->client->behind > settings->chunk;
}

/* Nodes on connections of their own are read from as long as not too much of theirs is waiting here. */
static void shard_merge_read_on(struct shard_worker *worker, struct shard_merge *merge) {
    bool all = worker->shard->settings.strict || shard_merge_is_lost(merge);
    for (uint32_t i = 0; i < merge->count; i++) {
        struct shard_part *part = &merge->parts[i];
        if (part->link) shard_link_read(worker, part->link, all || part->got.size < SHARD_HIGH);
    }
}

/* What is to be forwarded is looked at when it is certain to have its header. */
static void shard_merge_look_at_header(struct shard_merge *merge, struct shard_part *part) {
    if (part->headed || (part->got.size < LINE && !part->whole)) return;

    part->headed = true;
    part->fits = shard_merge_is_array(merge, part);
    merge->headed++;
    if (!part->fits) merge->spoilt = true;
}

void shard_merge_go_on(struct shard_worker *worker, struct shard_request *request) {
    struct shard_client *client = request->client;
    struct shard_merge *merge = request->merge;
    if (client->socket == -1 || client->cut || !merge->waiting || !shard_merge_is_forwarded(merge)) return;

    bool first = client->first == request;
    if (first && (merge->started || shard_merge_may_begin(worker, request))) {
        struct sink sink = {worker, request, &client->out, true};
        size_t before = client->out.size;
        bool right = shard_merge_put_in_order(&sink, SHARD_HIGH);
        if (client->out.size != before) shard_client_touch(worker, client);
        if (!sink.enough) shard_close_client(worker, client);
        else if (!right) shard_client_cut(worker, client);
    }
    shard_merge_read_on(worker, merge);
}

/* ---- each other way ---- */

static void shard_merge_sum(struct sink *sink) {
    const struct shard_merge *merge = sink->request->merge;
    int64_t sum = 0;
    bool right = true;
    for (uint32_t i = 0; i < merge->count; i++) {
        int64_t number = 0;
        char type;
        shard_merge_take_number(&merge->parts[i], &type, &number);
        right = !__builtin_add_overflow(sum, number, &sum) && right;
    }
    if (right) shard_merge_put_integer(sink, sum);
    else shard_merge_put_text(sink, ODD);
}

static bool shard_merge_is_nil(const struct shard_part *part) {
    return shard_merge_begins_with(part, "$-") || shard_merge_begins_with(part, "_");
}

static bool shard_merge_runs_nothing(const struct shard_part *part) {
    static const char *const idle[] = {"*4\r\n$14\r\nrunning_script\r\n$-", "*4\r\n$14\r\nrunning_script\r\n*-",
                                       "%2\r\n$14\r\nrunning_script\r\n_"};
    return shard_merge_begins_with(part, idle[0]) || shard_merge_begins_with(part, idle[1]) ||
        shard_merge_begins_with(part, idle[2]);
}

static bool shard_merge_ended_nothing(const struct shard_part *part) {
    return shard_merge_begins_with(part, "-");
}

/* The first error of any node, behind a part of the reply that can't be known before. */
static void shard_merge_one(struct sink *sink, bool (*says_nothing)(const struct shard_part *part)) {
    struct shard_merge *merge = sink->request->merge;
    uint32_t from = shard_random(sink->worker) % merge->count;
    uint32_t chosen = from;
    for (uint32_t i = 0; i < merge->count; i++) {
        uint32_t part = (from + i) % merge->count;
        if (says_nothing(&merge->parts[part])) continue;
        chosen = part;
        break;
    }
    shard_merge_put_part(sink, &merge->parts[chosen]);
}

/* Each element the least of all: what one node does not have, the shard has not. */
static void shard_merge_least(struct sink *sink) {
    struct shard_merge *merge = sink->request->merge;
    int64_t count = 0;
    char type;
    bool right = true;
    for (uint32_t i = 0; i < merge->count; i++) {
        int64_t number = 0;
        shard_merge_drop_some(sink, &merge->parts[i], shard_merge_take_number(&merge->parts[i], &type, &number));
        right = right && number >= 0 && (i == 0 || number == count);
        count = number;
    }
    if (!right) {
        shard_merge_put_text(sink, ODD);
        return;
    }
    shard_merge_put_header(sink, '*', (uint64_t)count);
    for (int64_t element = 0; element < count; element++) {
        int64_t least = INT64_MAX;
        for (uint32_t i = 0; i < merge->count; i++) {
            int64_t number = 0;
            shard_merge_drop_some(sink, &merge->parts[i], shard_merge_take_number(&merge->parts[i], &type, &number));
            if (number < least) least = number;
        }
        shard_merge_put_integer(sink, least);
    }
}

static void shard_merge_any(struct sink *sink) {
    shard_merge_one(sink, shard_merge_is_nil);
}

static void shard_merge_running(struct sink *sink) {
    shard_merge_one(sink, shard_merge_runs_nothing);
}

static void shard_merge_killed(struct sink *sink) {
    shard_merge_one(sink, shard_merge_ended_nothing);
}

static void shard_merge_first(struct sink *sink) {
    shard_merge_put_part(sink, &sink->request->merge->parts[0]);
}

static void shard_merge_done(struct sink *sink) {
    shard_merge_put_text(sink, "+OK\r\n");
}

static void shard_merge_extreme(struct sink *sink, bool greatest) {
    const struct shard_merge *merge = sink->request->merge;
    int64_t extreme = 0;
    for (uint32_t i = 0; i < merge->count; i++) {
        int64_t number = 0;
        char type;
        shard_merge_take_number(&merge->parts[i], &type, &number);
        if (i == 0 || (greatest ? number > extreme : number < extreme)) extreme = number;
    }
    shard_merge_put_integer(sink, extreme);
}

static void shard_merge_minimum(struct sink *sink) {
    shard_merge_extreme(sink, false);
}

static void shard_merge_maximum(struct sink *sink) {
    shard_merge_extreme(sink, true);
}

/* "*2\r\n$3\r\n123\r\n…". False: it is something else. */
static bool shard_merge_take_cursor(struct sink *sink, struct shard_part *part, uint64_t *cursor) {
    char digits[LINE];
    int64_t size;
    char type;
    shard_merge_drop_some(sink, part, sizeof "*2\r\n" - 1);
    size_t line = shard_merge_take_number(part, &type, &size);
    if (!line || size < 1 || size > 20) return false;

    shard_merge_drop_some(sink, part, line);
    if (shard_rope_peek(&part->got, digits, (size_t)size + CRLF) != (size_t)size + CRLF) return false;
    *cursor = 0;
    for (int64_t i = 0; i < size; i++) {
        if (digits[i] < '0' || digits[i] > '9' || __builtin_mul_overflow(*cursor, UINT64_C(10), cursor)) return false;
        if (__builtin_add_overflow(*cursor, (uint64_t)(digits[i] - '0'), cursor)) return false;
    }
    shard_merge_drop_some(sink, part, (size_t)size + CRLF);
    return shard_merge_type_of(part) == '*';
}

/* [cursor, keys]: the node's cursor made ours, or the beginning of the next node. */
static void shard_merge_scan(struct sink *sink) {
    struct shard_merge *merge = sink->request->merge;
    const struct shard_scan_place *scan = &merge->scan;
    uint64_t cursor;
    if (!shard_merge_take_cursor(sink, &merge->parts[0], &cursor)) {
        shard_merge_put_text(sink, ODD);
        return;
    }
    if (cursor > INT64_MAX / scan->base - 1) {
        shard_merge_put_text(sink, "-ERR the node's cursor is too large for the shard\r\n");
        return;
    }
    if (cursor) cursor = cursor * scan->base + scan->first + scan->master;
    else if (!scan->final) cursor = scan->first + scan->master + 1;
    char word[2 * LINE], digits[LINE];
    int size = snprintf(digits, sizeof digits, "%llu", (unsigned long long)cursor);
    shard_merge_put(sink, word, (size_t)snprintf(word, sizeof word, "*2\r\n$%d\r\n%s\r\n", size, digits));
    shard_merge_put_part(sink, &merge->parts[0]);
}

/* All of the parts, one behind another, and where each is. */
static char *shard_merge_gather_parts(struct sink *sink, struct shard_text *replies) {
    struct shard_merge *merge = sink->request->merge;
    size_t size = 0;
    for (uint32_t i = 0; i < merge->count; i++) size += merge->parts[i].got.size;
    char *bytes = malloc(size + 1);
    char *at = bytes;
    for (uint32_t i = 0; bytes && i < merge->count; i++) {
        size_t own = shard_rope_peek(&merge->parts[i].got, at, merge->parts[i].got.size);
        replies[i] = (struct shard_text){at, own};
        at += own;
    }
    return bytes;
}

/* What has to be read whole before anything can be said. */
static void shard_merge_whole(struct sink *sink, shard_answer_maker make) {
    struct shard_merge *merge = sink->request->merge;
    struct shard_text *replies = malloc(merge->count * sizeof *replies);
    char *bytes = replies ? shard_merge_gather_parts(sink, replies) : NULL;
    struct shard_buffer *answer = bytes ? make(replies, merge->count) : NULL;
    free(bytes);
    free(replies);
    if (answer) shard_merge_put(sink, answer->bytes, answer->size);
    else sink->enough = false;
    shard_buffer_drop(answer);
}

static void shard_merge_info(struct sink *sink) {
    shard_merge_whole(sink, shard_answer_info);
}

static void shard_merge_pairs(struct sink *sink) {
    shard_merge_whole(sink, shard_answer_pairs);
}

static void shard_merge_verified(struct sink *sink) {
    char reply[SHARD_GREETING_ROOM];
    shard_merge_put(sink, reply, shard_session_greet(sink->worker, sink->request->client, reply));
}

/* ---- all ways ---- */

/* What a part has to be: it begins with one of two words, or fits otherwise; and how one reply is made of all. */
static const struct {
    const char *begins[2];
    bool (*fits)(const struct shard_merge *merge, const struct shard_part *part);
    void (*put)(struct sink *sink); /* NULL: parts are forwarded in their order */
} kinds[SHARD_MERGINGS] = {
    [SHARD_VALUES] = {{NULL}, shard_merge_is_array, NULL},
    [SHARD_ARRAYS] = {{NULL}, shard_merge_is_array, NULL},
    [SHARD_DONE] = {{"+"}, NULL, shard_merge_done},
    [SHARD_SAME] = {{"+", "$"}, NULL, shard_merge_first},
    [SHARD_SUM] = {{NULL}, shard_merge_is_integer, shard_merge_sum},
    [SHARD_LEAST] = {{NULL}, shard_merge_is_integer, shard_merge_minimum},
    [SHARD_GREATEST] = {{NULL}, shard_merge_is_integer, shard_merge_maximum},
    [SHARD_LEAST_OF_EACH] = {{"*"}, NULL, shard_merge_least},
    [SHARD_ANY] = {{"$", "_"}, NULL, shard_merge_any},
    [SHARD_RUNNING] = {{"*", "%"}, NULL, shard_merge_running},
    [SHARD_KILLED] = {{"+", "-NOTBUSY"}, NULL, shard_merge_killed},
    [SHARD_CURSOR] = {{"*2\r\n$"}, NULL, shard_merge_scan},
    [SHARD_INFO] = {{"$", "="}, NULL, shard_merge_info},
    [SHARD_PAIRS] = {{"*", "%"}, NULL, shard_merge_pairs},
    [SHARD_VERIFIED] = {{"+", "$"}, NULL, shard_merge_verified},
};

static bool shard_merge_fits(const struct shard_merge *merge, const struct shard_part *part) {
    const char *const *begins = kinds[merge->kind].begins;
    if (kinds[merge->kind].fits) return kinds[merge->kind].fits(merge, part);
    return shard_merge_begins_with(part, begins[0]) || (begins[1] && shard_merge_begins_with(part, begins[1]));
}

/* ---- the end ---- */

/* The first node's own error, or what has happened, or that one has not answered as it should. */
static bool shard_merge_put_error(struct sink *sink) {
    struct shard_merge *merge = sink->request->merge;
    bool odd = false;
    for (uint32_t i = 0; i < merge->count && !merge->gathers; i++) {
        struct shard_part *part = &merge->parts[i];
        if (!part->whole || part->fits) continue;
        bool fit = shard_merge_fits(merge, part);
        if (!fit && shard_merge_type_of(part) == '-') {
            shard_merge_put_part(sink, part);
            return true;
        }
        odd = odd || !fit;
    }
    if (!merge->failed && !odd) return false;
    if (merge->error.first) shard_rope_move(sink->rope, &merge->error);
    else shard_merge_put_text(sink, merge->failed ? NO_MEMORY : ODD);
    return true;
}

static void shard_merge_put_all(struct sink *sink) {
    struct shard_merge *merge = sink->request->merge;
    bool failed = shard_merge_put_error(sink);
    if (merge->kind == SHARD_VERIFIED) shard_session_settle(sink->request->client, !failed);
    if (!failed) kinds[merge->kind].put(sink);
}

/* All is here, or failed. */
static void shard_merge_complete(struct sink *sink) {
    struct shard_merge *merge = sink->request->merge;
    bool forward = shard_merge_is_forwarded(merge) && (merge->started || !shard_merge_put_error(sink));
    bool right = !forward || shard_merge_put_in_order(sink, SIZE_MAX);
    if (!shard_merge_is_forwarded(merge)) shard_merge_put_all(sink);
    if (!right) shard_client_cut(sink->worker, sink->request->client);
}

void shard_merge_finish_part(struct shard_worker *worker, struct shard_request *request) {
    struct shard_client *client = request->client;
    if (--request->merge->waiting) {
        shard_merge_go_on(worker, request);
        return;
    }
    bool first = client->first == request;
    struct sink sink = {worker, request, first ? &client->out : &request->reply, true};
    if (client->socket != -1 && !client->cut) {
        shard_merge_complete(&sink);
        if (!first) client->behind += request->reply.size;
        if (!sink.enough) shard_close_client(worker, client);
    }
    shard_request_feed(worker, request, "", 0, true);
}

/* The node's next one comes into the same place. */
static void shard_merge_forget_reply(struct shard_worker *worker, struct shard_request *request, struct shard_part *part) {
    struct shard_merge *merge = request->merge;
    bool wrong = !shard_merge_begins_with(part, "+");
    if (wrong && !merge->failed && shard_merge_type_of(part) == '-') {
        request->client->behind -= part->got.size;
        shard_rope_move(&merge->error, &part->got);
    }
    merge->failed = merge->failed || wrong;
    shard_merge_forget_part(worker, request, part);
}

void shard_merge_feed(struct shard_worker *worker, struct shard_request *request, uint32_t number, const char *data,
                      size_t size, bool last) {
    struct shard_client *client = request->client;
    struct shard_merge *merge = request->merge;
    struct shard_part *part = &merge->parts[number];
    if (client->socket != -1 && !client->cut) {
        client->behind += size;
        bool enough = shard_rope_copy(&part->got, &worker->blocks, data, size);
        if (!enough) shard_close_client(worker, client);
        else if (client->behind > worker->shard->settings.client_bytes) shard_client_touch(worker, client);
    }
    part->whole = last;
    if (last) part->link = NULL;
    if (shard_merge_is_forwarded(merge)) shard_merge_look_at_header(merge, part);
    if (part->fits && shard_merge_is_lost(merge)) shard_merge_forget_part(worker, request, part);
    if (last && merge->gathers) shard_merge_forget_reply(worker, request, part);
    if (last) shard_merge_finish_part(worker, request);
    else shard_merge_go_on(worker, request);
}

void shard_merge_fail(struct shard_worker *worker, struct shard_request *request, uint32_t number, const char *error) {
    struct shard_client *client = request->client;
    struct shard_merge *merge = request->merge;
    struct shard_part *part = &merge->parts[number];
    part->link = NULL;
    shard_merge_forget_part(worker, request, part);
    if (!merge->failed && !shard_rope_copy(&merge->error, &worker->blocks, error, strlen(error))) {
        shard_rope_clear(&merge->error, &worker->blocks);
    }
    if (!merge->failed) shard_add(worker, FIGURE_ERRORS, 1);
    merge->failed = true;
    if (merge->started) shard_client_cut(worker, client);
    shard_merge_finish_part(worker, request);
}
