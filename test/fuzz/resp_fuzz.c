/*
 * Mutates commands and replies and feeds them to the RESP engine: whole, and cut at random, each time in memory of exactly its
 * size. Under ASan and UBSan every byte read beyond it is an error, and so is a trace that depends on the cuts. A command's
 * arguments must lie within it, and what an inline command is translated to must be a command.
 *
 *     resp_fuzz CORPUS SEED SECONDS
 *
 * CORPUS: "size\n", then so many bytes and "\n", again and again. Prints how many inputs it has tried. A failure prints the
 * round; the same SEED comes to it again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "resp.h"

enum { LONGEST = 4096, SAMPLES = 2048, SPANS = 64 };

struct sample {
    size_t size;
    char *data;
};

/* What an input came to. */
struct trace {
    uint64_t hash;     /* of what was told */
    uint64_t told;     /* commands or replies */
    uint64_t error_at; /* of the broken rule, in the input */
    int result;        /* the last result */
};

static struct sample samples[SAMPLES];
static size_t sample_count;
static uint64_t state;
static unsigned long rounds;

static uint64_t random_bits(void) {
    state += 0x9e3779b97f4a7c15ULL; /* splitmix64 */
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static size_t below(size_t bound) {
    return bound ? (size_t)(random_bits() % bound) : 0;
}

static void require(bool condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "round %lu: %s\n", rounds, what);
    abort();
}

static void add(struct trace *trace, const void *data, size_t size) {
    for (size_t i = 0; i < size; i++) trace->hash = (trace->hash ^ ((const unsigned char *)data)[i]) * 0x100000001b3ULL;
}

/* ---- mutation ---- */

static size_t insert(char *data, size_t size, size_t at, const char *bits, size_t length) {
    if (size + length > LONGEST) return size;
    memmove(data + at + length, data + at, size - at);
    memcpy(data + at, bits, length);
    return size + length;
}

static size_t mutate(char *data, size_t size) {
    static const char *const bits[] = {"\r\n", "*1\r\n", "*2\r\n", "$1\r\n", "$-1\r\n", "%1\r\n", "|1\r\n", "\"", "'", "\\",
                                       " ", "0", "-", "9999999999999999999", "*3000000000\r\n"};
    for (size_t left = below(5); left; left--) {
        size_t at = below(size + 1);
        const struct sample *other = &samples[below(sample_count)];
        const char *bit = bits[below(sizeof bits / sizeof *bits)];
        switch (below(5)) {
        case 0: size = at; break;
        case 1: if (at < size) data[at] = (char)random_bits(); break;
        case 2: if (at < size) memmove(data + at, data + at + 1, --size - at); break;
        case 3: size = insert(data, size, at, bit, strlen(bit)); break;
        default: size = insert(data, size, at, other->data, other->size);
        }
    }
    return size;
}

/* ---- one run ---- */

static char *exactly(const char *data, size_t size) {
    char *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    return copy;
}

static void translate(struct trace *trace, const char *line, size_t size) {
    char *array = malloc(resp_inline_room(size));
    size_t written;
    trace->result = resp_inline(line, size, array, &written);
    if (trace->result == RESP_COMMAND) {
        struct resp_span spans[LONGEST];
        struct resp_command command;
        require(written <= resp_inline_room(size), "a translation beyond its room");
        add(trace, array, written);
        resp_command_start(&command, &resp_default_limits, spans, LONGEST);
        char *copy = exactly(array, written);
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
        add(trace, &command->spans[i], sizeof command->spans[i]);
    }
    require(command->count == 0 || behind + 2 == command->at, "a command that does not end with its last argument");
}

/* The input from `from` on, so many bytes more each time. */
static int scan_command(struct resp_command *command, struct resp_span **spans, const struct sample *sample, size_t from,
                        size_t cut) {
    size_t size = cut ? 0 : sample->size - from;
    for (;;) {
        char *copy = exactly(sample->data + from, size);
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
    struct trace trace = {.hash = 0xcbf29ce484222325ULL};
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
    struct trace trace = {.hash = 0xcbf29ce484222325ULL};
    struct resp_reply reply;
    resp_reply_start(&reply, limits);
    for (size_t from = 0;;) {
        size_t left = sample->size - from;
        size_t size = cut && left ? 1 + below(cut < left ? cut : left) : left;
        size_t used;
        char *copy = exactly(sample->data + from, size);
        trace.result = resp_reply_scan(&reply, copy, size, &used);
        free(copy);
        require(used <= size && (trace.result != RESP_MORE || used == size), "bytes that are neither used nor left");
        from += used;
        if (trace.result == RESP_MORE && from == sample->size) trace.result = resp_reply_finish(&reply);
        else if (trace.result == RESP_MORE) continue;
        if (trace.result != RESP_REPLY) break;

        trace.told++;
        add(&trace, &reply.at, sizeof reply.at);
        add(&trace, &reply.type, 1);
        resp_reply_start(&reply, limits);
    }
    trace.error_at = reply.at;
    return trace;
}

/* ---- the corpus, and the rounds ---- */

static void read_corpus(const char *path) {
    FILE *file = fopen(path, "rb");
    require(file != NULL, "no corpus");
    struct sample sample;
    while (sample_count < SAMPLES && fscanf(file, "%zu", &sample.size) == 1) {
        require(sample.size <= LONGEST && fgetc(file) == '\n', "a corpus that is none");
        sample.data = malloc(sample.size + 1);
        require(sample.data && fread(sample.data, 1, sample.size, file) == sample.size, "a corpus that ends too soon");
        samples[sample_count++] = sample;
    }
    fclose(file);
    require(sample_count > 0, "an empty corpus");
}

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
    static char data[LONGEST];
    struct sample sample = samples[below(sample_count)];
    struct resp_limits limits = some_limits();
    memcpy(data, sample.data, sample.size);
    sample.size = mutate(data, sample.size);
    sample.data = data;
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
    require(count == 4, "resp_fuzz CORPUS SEED SECONDS");
    read_corpus(arguments[1]);
    time_t end = time(NULL) + atoi(arguments[3]);
    uint64_t seed = strtoull(arguments[2], NULL, 10);
    while (time(NULL) < end) {
        for (int i = 0; i < 100; i++) {
            state = seed + ++rounds;
            one_round();
        }
    }
    printf("%lu inputs\n", rounds);
    return 0;
}
