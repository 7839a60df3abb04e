/*
 * Mutates messages and feeds them to the HTTP/1.1 engine, whole and cut at random, each piece in memory of exactly its
 * size: under ASan and UBSan every byte read beyond a piece is an error, and so is a trace that depends on the cuts. In the
 * corpus the mode is the role, the option the kind of the request.
 */
#include "fuzzing.h"
#include "http1.h"

enum { TABLE = 16 };

/* What an input came to. */
struct trace {
    uint64_t hash;   /* of heads and data */
    uint64_t at;     /* bytes consumed, or where a rule was broken */
    int result;      /* the last result */
};

/* ---- mutation ---- */

static size_t mutate(char *data, size_t size) {
    static const char *const bits[] = {"\r\n", "\r", "\n", " ", "\t", ":", ",", ";", "=", "\"", "\\", "0", "f", "x", "-",
                                       "chunked", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "\r\n\r\n",
                                       "Host: a\r\n", "0\r\n\r\n", "1\r\na\r\n", "9223372036854775807", "ffffffffffffffff"};
    for (size_t times = below(5); times; times--) {
        size_t at = below(size + 1);
        const char *bit = bits[below(sizeof bits / sizeof *bits)];
        switch (below(4)) {
        case 0:
            size = insert(data, size, at, bit, strlen(bit));
            break;
        case 1:
            size = erase(data, size, at);
            break;
        case 2:
            if (at < size) data[at] = (char)random_bits();
            break;
        default:
            size = splice(data, size, at);
        }
    }
    return size;
}

/* ---- one run ---- */

static void check_slice(size_t at, size_t size, size_t head) {
    require(at <= head && size <= head - at, "a slice beyond the head");
}

static void add_head(struct trace *trace, const struct http1_head *head, const char *data, size_t consumed) {
    uint64_t facts[] = {head->status, head->framing, head->persistent, head->upgrade,         head->interim,
                        head->count,  head->minor,   head->seen,       head->expect_continue, head->content_length};
    add_to_hash(&trace->hash, facts, sizeof facts);
    check_slice(head->method.at, head->method.size, consumed);
    check_slice(head->target.at, head->target.size, consumed);
    check_slice(head->reason.at, head->reason.size, consumed);
    add_to_hash(&trace->hash, data + head->target.at, head->target.size);
    for (uint32_t i = 0; i < head->count; i++) {
        const struct http1_header *header = &head->table[i];
        check_slice(header->name_at, header->name_size, consumed);
        check_slice(header->value_at, header->value_size, consumed);
        require(header->known == http1_known_field(data + header->name_at, header->name_size), "known");
        require(http1_check_name(data + header->name_at, header->name_size) == 0, "a name that can't be sent");
        require(http1_check_value(data + header->value_at, header->value_size) == 0, "a value that can't be sent");
        add_to_hash(&trace->hash, data + header->name_at, header->name_size);
        add_to_hash(&trace->hash, data + header->value_at, header->value_size);
    }
}

/* Feeds heads from *at on until one is final; the result is that of the last parse. */
static ptrdiff_t run_head(struct trace *trace, struct http1_head *head, const char *data, size_t size, size_t *at,
                          size_t cut) {
    for (size_t given = cut ? below(cut) : size - *at;;) {
        if (given > size - *at) given = size - *at;
        char *piece = copy_of(data + *at, given);
        ptrdiff_t result = http1_head_parse(head, piece, given);
        if (result > 0) add_head(trace, head, piece, (size_t)result);
        free(piece);
        if (result < 0) {
            require(head->error_at <= given, "an error beyond the data");
            *at += head->error_at;
            return result;
        }
        *at += (size_t)result;
        if (result > 0 && !head->interim) return result;
        if (result > 0) {
            http1_head_continue(head);
            given = cut ? below(cut) : size - *at;
            continue;
        }
        if (given == size - *at) {
            int broken = http1_head_finish(head, given);
            *at += given;
            return broken;
        }
        given += cut ? below(cut) + 1 : size;
    }
}

static void add_trailers(struct trace *trace, const char *text, size_t size) {
    struct http1_header table[TABLE];
    char *exact = copy_of(text, size);
    ptrdiff_t count = http1_fields_parse(exact, size, table, TABLE);
    require(count >= 0, "trailers that were well formed");
    for (ptrdiff_t i = 0; i < count; i++) add_to_hash(&trace->hash, exact + table[i].value_at, table[i].value_size);
    free(exact);
}

static int run_body(struct trace *trace, const struct http1_head *head, const char *data, size_t size, size_t *at,
                    size_t cut) {
    static char trailers[LONGEST];
    size_t trailer_size = 0;
    struct http1_body body;
    struct http1_piece piece;
    int event = http1_body_start(&body, head);
    while (event >= 0) {
        size_t given = cut ? below(cut) + 1 : size - *at;
        if (given > size - *at) given = size - *at;
        char *exact = copy_of(data + *at, given);
        event = http1_body_next(&body, exact, given, &piece);
        if (event >= 0) require(piece.consumed <= given && piece.at + piece.size <= piece.consumed, "a piece beyond the data");
        if (event == HTTP1_DATA) add_to_hash(&trace->hash, exact + piece.at, piece.size);
        if (event == HTTP1_TRAILER) {
            memcpy(trailers + trailer_size, exact + piece.at, piece.size);
            trailer_size += piece.size;
        }
        free(exact);
        *at += event < 0 ? piece.at : piece.consumed;
        if (event == HTTP1_DONE) {
            add_trailers(trace, trailers, trailer_size);
            require(http1_body_done(&body), "done");
            return event;
        }
        if (event == HTTP1_MORE) {
            require(piece.consumed == given, "more, with bytes left");
            if (*at == size) return http1_body_finish(&body);
        }
    }
    return event;
}

/* `cut`: pieces are shorter than that; 0: whole. */
static struct trace run(const struct sample *sample, const struct http1_limits *limits, size_t cut) {
    struct trace trace = {.hash = EMPTY_HASH};
    struct http1_header table[TABLE];
    struct http1_head head;
    size_t at = 0;
    http1_head_init(&head, (enum http1_role)sample->mode, limits, table, TABLE);
    while (at < sample->size) {
        http1_head_start(&head, sample->option);
        ptrdiff_t result = run_head(&trace, &head, sample->data, sample->size, &at, cut);
        trace.result = (int)(result > 0 ? 0 : result);
        if (result <= 0) break;
        trace.result = run_body(&trace, &head, sample->data, sample->size, &at, cut);
        if (trace.result <= 0 || head.framing == HTTP1_TUNNEL) break;
    }
    trace.at = at;
    return trace;
}

/* ---- a round ---- */

static struct http1_limits some_limits(void) {
    struct http1_limits limits = http1_default_limits;
    if (below(3)) return limits;
    limits.body = below(2) ? UINT64_MAX : below(64);
    limits.start_line = (uint32_t)below(64);
    limits.head = (uint32_t)below(256);
    limits.headers = (uint32_t)below(8);
    limits.interim = (uint32_t)below(3);
    limits.chunk_extensions = (uint32_t)below(16);
    limits.trailer = (uint32_t)below(32);
    return limits;
}

static void one_round(void) {
    struct sample sample = any_sample();
    struct http1_limits limits = some_limits();
    sample.size = mutate(sample.data, sample.size);
    if (below(8) == 0) sample.option = (unsigned)below(8);

    struct trace whole = run(&sample, &limits, 0);
    for (size_t cut = 1; cut <= 64; cut *= 8) {
        struct trace pieces = run(&sample, &limits, cut);
        require(pieces.result == whole.result, "another result when it is cut");
        require(pieces.at == whole.at, "another offset when it is cut");
        require(pieces.hash == whole.hash, "other contents when it is cut");
    }
}

int main(int count, char **arguments) {
    return fuzz(count, arguments, one_round);
}
