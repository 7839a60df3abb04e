/*
 * Mutates commands and replies and feeds them to the RESP engine: whole, and cut at random, each time in memory of exactly its
 * size. Under ASan and UBSan every byte read beyond it is an error, and so is a trace that depends on the cuts. A command's
 * arguments must lie within it, and what an inline command is translated to must be a command.
 */
#include "fuzzing.h"
#include "resp.h"

enum { SPANS = 64 };

/* What an input came to. */
struct trace {
    uint64_t hash;     /* of what was told */
    uint64_t told;     /* commands or replies */
    uint64_t error_at; /* of the broken rule, in the input */
    int result;        /* the last result */
};

/* ---- mutation ---- */

static size_t mutate(char *data, size_t size) {
    static const char *const bits[] = {"\r\n", "*1\r\n", "*2\r\n", "$1\r\n", "$-1\r\n", "%1\r\n", "|1\r\n", "\"", "'", "\\",
                                       " ", "0", "-", "9999999999999999999", "*3000000000\r\n"};
    for (size_t left = below(5); left; left--) {
        size_t at = below(size + 1);
        const char *bit = bits[below(sizeof bits / sizeof *bits)];
        switch (below(5)) {
        case 0: size = at; break;
        case 1: if (at < size) data[at] = (char)random_bits(); break;
        case 2: size = erase(data, size, at); break;
        case 3: size = insert(data, size, at, bit, strlen(bit)); break;
        default: size = splice(data, size, at);
        }
    }
    return size;
}

/* ---- one run ---- */

static void translate(struct trace *trace, const char *line, size_t size) {
    char *array = malloc(resp_inline_room(size));
    size_t written;
    trace->result = resp_inline(line, size, array, &written);
    if (trace->result == RESP_COMMAND) {
        struct resp_span spans[LONGEST];
        struct resp_command command;
        require(written <= resp_inline_room(size), "a translation beyond its room");
        add_to_hash(&trace->hash, array, written);
        resp_command_start(&command, &resp_default_limits, spans, LONGEST);
        char *copy = copy_of(array, written);
        require(resp_command_scan(&command, copy, written) == RESP_COMMAND, "a translation that is no command");
        require(command.at == written, "a translation with more behind it");
        free(copy);
    }
    free(array);
}

static void check_command(struct trace *trace, const struct resp_command *command) {
    size_t behind = 0;
    for (uint32_t i = 0; i < command->count; i++) {
        require(command->spans[i].at > behind, "an argument before the one before it");
        behind = command->spans[i].at + command->spans[i].size;
        add_to_hash(&trace->hash, &command->spans[i], sizeof command->spans[i]);
    }
    require(command->count == 0 || behind + 2 == command->at, "a command that does not end with its last argument");
}

/* The input from `from` on, so many bytes more each time. */
static int scan_command(struct resp_command *command, struct resp_span **spans, const struct sample *sample, size_t from,
                        size_t cut) {
    size_t size = cut ? 0 : sample->size - from;
    for (;;) {
        char *copy = copy_of(sample->data + from, size);
        int event = resp_command_scan(command, copy, size);
        free(copy);
        if (event == RESP_SPANS) {
            command->room += 1 + (uint32_t)below(SPANS);
            command->spans = *spans = realloc(*spans, command->room * sizeof **spans);
            continue;
        }
        if (event != RESP_MORE) return event;
        if (from + size == sample->size) return resp_command_finish(command, size);

        size += 1 + below(cut);
        if (size > sample->size - from) size = sample->size - from;
    }
}

static struct trace run_commands(const struct sample *sample, const struct resp_limits *limits, size_t cut) {
    struct trace trace = {.hash = EMPTY_HASH};
    struct resp_span *spans = NULL;
    for (size_t from = 0;;) {
        struct resp_command command;
        resp_command_start(&command, limits, spans, 0);
        trace.result = scan_command(&command, &spans, sample, from, cut);
        trace.error_at = from + command.error_at;
        if (trace.result == RESP_INLINE) translate(&trace, sample->data + from, command.at);
        else if (trace.result == RESP_COMMAND) check_command(&trace, &command);
        if (trace.result != RESP_COMMAND) break;

        trace.told++;
        from += command.at;
        require(from <= sample->size, "a command beyond the input");
    }
    free(spans);
    return trace;
}

static struct trace run_replies(const struct sample *sample, const struct resp_limits *limits, size_t cut) {
    struct trace trace = {.hash = EMPTY_HASH};
    struct resp_reply reply;
    resp_reply_start(&reply, limits);
    for (size_t from = 0;;) {
        size_t left = sample->size - from;
        size_t size = cut && left ? 1 + below(cut < left ? cut : left) : left;
        size_t used;
        char *copy = copy_of(sample->data + from, size);
        trace.result = resp_reply_scan(&reply, copy, size, &used);
        free(copy);
        require(used <= size && (trace.result != RESP_MORE || used == size), "bytes that are neither used nor left");
        from += used;
        if (trace.result == RESP_MORE && from == sample->size) trace.result = resp_reply_finish(&reply);
        else if (trace.result == RESP_MORE) continue;
        if (trace.result != RESP_REPLY) break;

        trace.told++;
        add_to_hash(&trace.hash, &reply.at, sizeof reply.at);
        add_to_hash(&trace.hash, &reply.type, 1);
        resp_reply_start(&reply, limits);
    }
    trace.error_at = reply.at;
    return trace;
}

/* ---- a round ---- */

static struct resp_limits some_limits(void) {
    struct resp_limits limits = resp_default_limits;
    if (below(3)) return limits;
    limits.bulk = below(2) ? below(9) : UINT64_MAX >> 4;
    limits.command = below(2) ? below(60) : UINT64_MAX >> 2;
    limits.elements = below(5);
    limits.arguments = below(2) ? (uint32_t)below(5) : UINT32_MAX;
    limits.line = (uint32_t)below(40);
    return limits;
}

static void one_round(void) {
    struct sample sample = any_sample();
    struct resp_limits limits = some_limits();
    sample.size = mutate(sample.data, sample.size);
    struct trace (*const ways[])(const struct sample *, const struct resp_limits *, size_t) = {run_commands, run_replies};
    for (size_t way = 0; way < 2; way++) {
        struct trace whole = ways[way](&sample, &limits, 0);
        for (size_t cut = 1; cut < 65; cut *= 8) {
            struct trace other = ways[way](&sample, &limits, cut);
            require(other.result == whole.result, "another result when it is cut");
            require(other.error_at == whole.error_at, "another offset when it is cut");
            require(other.hash == whole.hash && other.told == whole.told, "something else told when it is cut");
        }
    }
}

int main(int count, char **arguments) {
    return fuzz(count, arguments, one_round);
}
