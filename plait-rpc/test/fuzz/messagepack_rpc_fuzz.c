/*
 * Mutates messages and feeds them to the MessagePack-RPC engine: whole, cut at random, with large strings taken out of them,
 * and with what was scanned dropped, each time in memory of exactly its size. Under ASan and UBSan every byte read beyond it is
 * an error, and so is a trace that depends on the way. What was taken out must put together to what was there.
 */
#include "fuzzing.h"
#include "messagepack_rpc.h"

enum { TAKEN = LONGEST };

/* How an input is gone through. */
enum way { KEEP, TAKE_OUT, DROP };

/* What an input came to. */
struct trace {
    uint64_t hash;     /* of what the messages say */
    uint64_t error_at; /* of the broken rule */
    uint64_t messages; /* that were complete */
    int result;        /* the last result */
};

/* The bytes of the message that is scanned, as its caller has them. */
struct held {
    char *data;                /* of exactly `size` bytes */
    size_t size;
    size_t from;               /* of the input: where the message began */
    size_t fed;                /* of the input: where the next bytes come from */
    size_t missing;            /* of the string that was taken out last */
    size_t mark_at[TAKEN];     /* where marks stand in the data */
    size_t header_from[TAKEN]; /* of the input: where the headers were that they stand for */
    size_t taken_to[TAKEN];    /* of the input: where those strings ended */
    size_t marks;
};

/* ---- mutation ---- */

/* A byte that begins something. */
static char header(void) {
    return (char)(below(2) ? 0xc0 + below(32) : 0x80 + below(64));
}

static size_t mutate(char *data, size_t size) {
    for (size_t times = below(6); times; times--) {
        size_t at = below(size + 1);
        char bit = header();
        switch (below(5)) {
        case 0:
            size = insert(data, size, at, &bit, 1);
            break;
        case 1:
            size = erase(data, size, at);
            break;
        case 2:
            if (at < size) data[at] = (char)random_bits();
            break;
        case 3:
            if (at < size) data[at] = bit;
            break;
        default:
            size = splice(data, size, below(3) ? at : size);
        }
    }
    return size;
}

/* ---- what is held of a message ---- */

static void resize(struct held *held, size_t size) {
    char *data = malloc(size ? size : 1);
    require(data != NULL, "no memory");
    if (held->data) memcpy(data, held->data, size < held->size ? size : held->size);
    free(held->data);
    held->data = data;
    held->size = size;
}

static void begin(struct held *held, size_t from) {
    held->from = held->fed = from;
    held->missing = held->marks = 0;
    resize(held, 0);
}

static void feed(struct held *held, const struct sample *sample, size_t count) {
    size_t skipped = held->missing < count ? held->missing : count;
    held->missing -= skipped;
    held->fed += skipped;
    count -= skipped;
    resize(held, held->size + count);
    memcpy(held->data + held->size - count, sample->data + held->fed, count);
    held->fed += count;
}

static void take_out(struct held *held, struct mprpc_scan *scan) {
    const struct mprpc_large *large = &scan->large;
    require(large->begins <= held->size && held->size - large->begins < large->size, "a large string that is all here");
    size_t number = held->marks++;
    held->missing = large->size - (held->size - large->begins);
    held->mark_at[number] = large->at;
    held->header_from[number] = held->fed - (held->size - large->at);
    held->taken_to[number] = held->fed + held->missing;
    size_t at = large->at;
    resize(held, at + MPRPC_MARK);
    mprpc_take_out(scan, held->data + at, (uint32_t)number);
    require(scan->at == held->size, "a mark that does not end the data");
}

static void drop(struct held *held, struct mprpc_scan *scan) {
    size_t count = scan->at < held->size ? (size_t)scan->at : held->size;
    memmove(held->data, held->data + count, held->size - count);
    resize(held, held->size - count);
    mprpc_drop(scan, count);
}

/* The data with the strings put back is what was in the input. */
static void check_put_together(const struct held *held, const struct sample *sample, size_t size) {
    size_t at = 0;
    size_t from = held->from;
    for (size_t i = 0; i < held->marks; i++) {
        size_t count = held->mark_at[i] - at;
        require(memcmp(held->data + at, sample->data + from, count) == 0, "other bytes before a mark");
        require(from + count == held->header_from[i], "a mark at another place");
        require((unsigned char)held->data[held->mark_at[i]] == 0xd6, "no mark");
        from = held->taken_to[i];
        at = held->mark_at[i] + MPRPC_MARK;
    }
    require(memcmp(held->data + at, sample->data + from, size - at) == 0, "other bytes behind the marks");
}

/* ---- one run ---- */

static void add_message(struct trace *trace, const struct mprpc_scan *scan, enum way way) {
    uint64_t size = scan->at + scan->removed;
    add_to_hash(&trace->hash, &scan->kind, sizeof scan->kind);
    add_to_hash(&trace->hash, &scan->id, sizeof scan->id);
    add_to_hash(&trace->hash, &size, sizeof size);
    trace->messages++;
    if (way == DROP) return;

    const struct mprpc_span *spans[] = {&scan->method, &scan->error, &scan->value};
    for (size_t i = 0; i < 3; i++) require(spans[i]->at + spans[i]->size <= scan->at, "a part beyond the message");
    require(scan->value.at + scan->value.size == scan->at, "a value that does not end the message");
    require(scan->kind != MPRPC_RESPONSE || scan->error.at + scan->error.size == scan->value.at, "parts with a gap");
}

/* Goes on until the message is complete, broken, or the input at its end. */
static int run_message(struct held *held, struct mprpc_scan *scan, const struct sample *sample, size_t cut, enum way way) {
    for (;;) {
        int event = held->missing ? MPRPC_MORE : mprpc_scan(scan, held->data, held->size);
        if (event < 0 || event == MPRPC_MESSAGE) return event;
        if (event == MPRPC_LARGE && way == TAKE_OUT) take_out(held, scan);
        if (event == MPRPC_MORE && way == DROP && scan->stage != MPRPC_IN_ARRAY) drop(held, scan);

        size_t left = sample->size - held->fed;
        if (left == 0 && (event == MPRPC_MORE || held->missing)) return mprpc_finish(scan, held->size, held->missing);
        size_t count = cut ? below(cut) + 1 : left;
        feed(held, sample, count < left ? count : left);
    }
}

/* `cut`: pieces are shorter than that, at most; 0: whole. */
static struct trace run(const struct sample *sample, const struct mprpc_limits *limits, size_t cut, enum way way) {
    static struct held held;
    struct trace trace = {.hash = EMPTY_HASH};
    uint64_t threshold = way == TAKE_OUT ? below(40) + 1 : way == KEEP && below(2) ? 1 : UINT64_MAX;
    uint32_t *levels = malloc(limits->nesting ? limits->nesting * sizeof *levels : 1);
    struct mprpc_scan scan;
    for (size_t at = 0; trace.result >= 0;) {
        begin(&held, at);
        mprpc_start(&scan, limits, levels, threshold);
        trace.result = run_message(&held, &scan, sample, cut, way);
        if (trace.result != MPRPC_MESSAGE) break;

        add_message(&trace, &scan, way);
        if (way == TAKE_OUT) check_put_together(&held, sample, (size_t)scan.at);
        at += (size_t)(scan.at + scan.removed);
        require(at <= sample->size, "a message beyond the input");
    }
    free(levels);
    trace.error_at = trace.result < 0 ? scan.error_at : 0;
    return trace;
}

/* ---- a round ---- */

static struct mprpc_limits some_limits(void) {
    struct mprpc_limits limits = mprpc_default_limits;
    if (below(3)) return limits;
    limits.message = below(2) ? below(200) : 0xffffffffULL * 2;
    limits.nesting = (uint32_t)below(6);
    limits.elements = below(2) ? (uint32_t)below(20) : UINT32_MAX;
    limits.method_name = below(2) ? (uint32_t)below(8) : UINT32_MAX;
    return limits;
}

static void one_round(void) {
    struct sample sample = any_sample();
    struct mprpc_limits limits = some_limits();
    sample.size = mutate(sample.data, sample.size);

    struct trace whole = run(&sample, &limits, 0, KEEP);
    static const enum way ways[] = {KEEP, TAKE_OUT, DROP, TAKE_OUT};
    for (size_t i = 0; i < 4; i++) {
        struct trace other = run(&sample, &limits, i == 3 ? 3 : 1 + below(64), ways[i]);
        require(other.result == whole.result, "another result when it is cut");
        require(other.error_at == whole.error_at, "another offset when it is cut");
        require(other.hash == whole.hash && other.messages == whole.messages, "other messages when it is cut");
    }
}

int main(int count, char **arguments) {
    return fuzz(count, arguments, one_round);
}
