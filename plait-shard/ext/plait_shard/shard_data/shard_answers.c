/* See shard_answers.h. */
#include "shard_answers.h"
#include "../resp/resp.h"
#include "shard_info.h"
#include "shard_rope.h"
#include "shard_text.h"

#include <stdlib.h>
#include <string.h>

enum { FORMAT = 4 /* "txt:" */, DIFFER_ROOM = 64 };

static const char ODD[] = "-ERR a node has answered with something else than the command has for an answer\r\n";

static void shard_answers_add(struct shard_buffer *to, const char *data, size_t size) {
    memcpy(to->bytes + to->size, data, size);
    to->size += size;
}

static void shard_answers_add_header(struct shard_buffer *to, char type, uint64_t number) {
    char header[RESP_HEADER];
    shard_answers_add(to, header, resp_write_header(header, type, number));
}

static struct shard_buffer *shard_answers_odd(void) {
    struct shard_buffer *answer = shard_buffer_new(sizeof ODD);
    if (answer) shard_answers_add(answer, ODD, sizeof ODD - 1);
    return answer;
}

/* ---- reading ---- */

/* The number of a line that is of one of these types, taken off; -1: it is of none of them, or below zero. */
static int64_t shard_answers_take_header(struct shard_text *reply, const char *types) {
    const char *end = memchr(reply->data, '\n', reply->size);
    if (!end || !reply->size || !strchr(types, reply->data[0])) return -1;

    int64_t number = strtoll(reply->data + 1, NULL, 10);
    reply->size -= (size_t)(end + 1 - reply->data);
    reply->data = end + 1;
    return number < 0 ? -1 : number;
}

/* A string, taken off; false: there is none. */
static bool shard_answers_take_string(struct shard_text *reply, struct shard_text *string) {
    int64_t size = shard_answers_take_header(reply, "$=");
    if (size < 0 || (uint64_t)size + 2 > reply->size) return false;

    *string = (struct shard_text){reply->data, (size_t)size};
    reply->data += size + 2;
    reply->size -= (size_t)size + 2;
    return true;
}

/* ---- INFO ---- */

static struct shard_buffer *shard_answers_info(const struct shard_text *replies, uint32_t count, struct shard_text *texts) {
    bool verbatim = replies[0].data[0] == '=';
    size_t format = verbatim ? FORMAT : 0;
    for (uint32_t i = 0; i < count; i++) {
        struct shard_text rest = replies[i];
        if (!shard_answers_take_string(&rest, &texts[i]) || texts[i].size < format) return shard_answers_odd();
        texts[i] = (struct shard_text){texts[i].data + format, texts[i].size - format};
    }
    struct shard_buffer *text = shard_info_merge(texts, count);
    struct shard_buffer *answer = text ? shard_buffer_new(text->size + FORMAT + 2 + RESP_HEADER) : NULL;
    if (answer) {
        shard_answers_add_header(answer, verbatim ? '=' : '$', text->size + format);
        shard_answers_add(answer, "txt:", format);
        shard_answers_add(answer, text->bytes, text->size);
        shard_answers_add(answer, "\r\n", 2);
    }
    shard_buffer_drop(text);
    return answer;
}

/* ---- CONFIG GET ---- */

static bool shard_answers_find_value(struct shard_text reply, struct shard_text name, struct shard_text *value) {
    struct shard_text other;
    shard_answers_take_header(&reply, "*%");
    while (shard_answers_take_string(&reply, &other) && shard_answers_take_string(&reply, value)) {
        if (other.size == name.size && memcmp(other.data, name.data, name.size) == 0) return true;
    }
    return false;
}

static void shard_answers_add_string(struct shard_buffer *to, struct shard_text string) {
    shard_answers_add_header(to, '$', string.size);
    shard_answers_add(to, string.data, string.size);
    shard_answers_add(to, "\r\n", 2);
}

/* No number, so that no reader takes it for one. */
static void shard_answers_add_values(struct shard_buffer *to, const struct shard_text *values, uint32_t count) {
    static const char differs[] = "differs by node: ";
    size_t size = sizeof differs - 1 + 2 * (size_t)(count - 1);
    for (uint32_t i = 0; i < count; i++) size += values[i].size;
    shard_answers_add_header(to, '$', size);
    shard_answers_add(to, differs, sizeof differs - 1);
    for (uint32_t i = 0; i < count; i++) {
        if (i) shard_answers_add(to, ", ", 2);
        shard_answers_add(to, values[i].data, values[i].size);
    }
    shard_answers_add(to, "\r\n", 2);
}

/* False: a node does not have that name as the others do. */
static bool shard_answers_add_pair(struct shard_buffer *to, const struct shard_text *replies, uint32_t count,
                                   struct shard_text name,
                                   struct shard_text *values) {
    bool same = true;
    size_t size = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!shard_answers_find_value(replies[i], name, &values[i])) return false;
        size += values[i].size + 2;
        same = same && values[i].size == values[0].size && memcmp(values[i].data, values[0].data, values[i].size) == 0;
    }
    if (to->room - to->size < size + name.size + 3 * RESP_HEADER + DIFFER_ROOM) return false; /* a name that comes twice */
    shard_answers_add_string(to, name);
    if (same) shard_answers_add_string(to, values[0]);
    else shard_answers_add_values(to, values, count);
    return true;
}

static struct shard_buffer *shard_answers_pairs(const struct shard_text *replies, uint32_t count, struct shard_text *values) {
    struct shard_text rest = replies[0], name, value;
    char type = rest.size ? rest.data[0] : 0;
    int64_t header = shard_answers_take_header(&rest, "*%");
    size_t room = RESP_HEADER;
    for (uint32_t i = 0; i < count; i++) room += replies[i].size * 2;
    if (header < 0 || (size_t)header > replies[0].size) return shard_answers_odd();
    struct shard_buffer *answer = shard_buffer_new(room + ((size_t)header + 1) * (DIFFER_ROOM + 3 * RESP_HEADER + 2 * count));
    if (!answer) return NULL;

    shard_answers_add_header(answer, type, (uint64_t)header);
    bool right = true;
    while (right && shard_answers_take_string(&rest, &name) && shard_answers_take_string(&rest, &value)) {
        right = shard_answers_add_pair(answer, replies, count, name, values);
    }
    if (right) return answer;
    shard_buffer_drop(answer);
    return shard_answers_odd();
}

/* ---- all ---- */

static struct shard_buffer *shard_answers_with_room(const struct shard_text *replies, uint32_t count,
                                                    struct shard_buffer *(*make)(const struct shard_text *, uint32_t, struct shard_text *)) {
    struct shard_text *places = malloc(count * sizeof *places);
    struct shard_buffer *answer = places ? make(replies, count, places) : NULL;
    free(places);
    return answer;
}

struct shard_buffer *shard_answer_info(const struct shard_text *replies, uint32_t count) {
    return shard_answers_with_room(replies, count, shard_answers_info);
}

struct shard_buffer *shard_answer_pairs(const struct shard_text *replies, uint32_t count) {
    return shard_answers_with_room(replies, count, shard_answers_pairs);
}
