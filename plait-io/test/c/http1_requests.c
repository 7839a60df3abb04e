/*
 * What the engine makes of requests, as text: the whole, and the same at every split and byte by byte, each piece in memory
 * of exactly its size.
 *
 *     PROGRAM CORPUS
 *
 * CORPUS: "eof body start_line head headers interim chunk_extensions trailer size\n", then so many bytes and "\n", again and
 * again. Prints for each request lines of "name value …", strings in hexadecimal digits, and an empty line.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http1.h"

enum { LONGEST = 1 << 18, TABLE = 128 };

struct request {
    struct http1_limits limits;
    int eof;
    size_t size;
    char *bytes;
};

/* One run: the engine, how far it is, and what it has said. */
struct run {
    struct http1_header table[TABLE];
    struct http1_head head;
    struct http1_body body;
    char trailers[LONGEST];
    size_t trailer_size;
    size_t at;    /* bytes consumed */
    bool in_body;
    bool over;
    char text[2 * LONGEST];
    size_t length;
    char data[LONGEST];
    size_t data_size;
};

static void require(bool condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void say(struct run *run, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(run->text + run->length, sizeof run->text - run->length, format, arguments);
    va_end(arguments);
    require(size >= 0 && run->length + (size_t)size < sizeof run->text, "too long");
    run->length += (size_t)size;
}

static void say_bytes(struct run *run, const char *data, size_t size, const char *behind) {
    for (size_t i = 0; i < size; i++) say(run, "%02x", (unsigned char)data[i]);
    say(run, "%s", behind);
}

static void say_pair(struct run *run, const char *name, const char *data, const struct http1_header *header) {
    say(run, "%s ", name);
    say_bytes(run, data + header->name_at, header->name_size, " ");
    say_bytes(run, data + header->value_at, header->value_size, "\n");
}

static void say_head(struct run *run, const char *data) {
    static const char *const framings[] = {[HTTP1_NO_BODY] = "none", [HTTP1_LENGTH] = "length", [HTTP1_CHUNKED] = "chunked",
                                           [HTTP1_UNTIL_CLOSE] = "close", [HTTP1_TUNNEL] = "tunnel"};
    const struct http1_head *head = &run->head;
    say(run, "method ");
    say_bytes(run, data + head->method.at, head->method.size, "\ntarget ");
    say_bytes(run, data + head->target.at, head->target.size, "\n");
    say(run, "version 1.%u\nframing %s\npersistent %d\nupgrade %d\nexpect_continue %d\n", head->minor, framings[head->framing],
        head->persistent, head->upgrade, head->expect_continue);
    if (http1_head_find(head, HTTP1_FIELD_CONTENT_LENGTH)) say(run, "length %" PRIu64 "\n", head->content_length);
    for (uint32_t i = 0; i < head->count; i++) say_pair(run, "field", data, &head->table[i]);
}

static void end(struct run *run, const char *how) {
    say(run, "body ");
    say_bytes(run, run->data, run->data_size, "\nends ");
    say(run, "%s\n", how);
    run->over = true;
}

static void fail(struct run *run, ptrdiff_t broken, size_t at) {
    end(run, "broken");
    say(run, "error %s %zu\n", http1_rule((int)broken)->name, at);
}

static void finish(struct run *run) {
    struct http1_header table[TABLE];
    ptrdiff_t count = http1_fields_parse(run->trailers, run->trailer_size, table, TABLE);
    for (ptrdiff_t i = 0; i < count; i++) say_pair(run, "trailer", run->trailers, &table[i]);
    end(run, "done");
}

/* Takes a head if it is there as a whole. */
static void take_head(struct run *run, const struct request *request, const char *data, size_t size, bool last) {
    ptrdiff_t result = http1_head_parse(&run->head, data, size);
    if (result > 0) {
        say_head(run, data);
        run->at += (size_t)result;
        run->in_body = true;
        int broken = http1_body_start(&run->body, &run->head);
        if (broken) fail(run, broken, run->at);
    } else if (result < 0) {
        fail(run, result, run->at + run->head.error_at);
    } else if (last && request->eof) {
        int broken = http1_head_finish(&run->head, size);
        broken ? fail(run, broken, run->at + run->head.error_at) : end(run, "closed");
    } else if (last) {
        end(run, "more");
    }
}

static bool take_body(struct run *run, const struct request *request, const char *data, size_t size, bool last) {
    struct http1_piece piece;
    int event = http1_body_next(&run->body, data, size, &piece);
    if (event < 0) return fail(run, event, run->at + piece.at), false;

    if (event == HTTP1_DATA) {
        memcpy(run->data + run->data_size, data + piece.at, piece.size);
        run->data_size += piece.size;
    } else if (event == HTTP1_TRAILER) {
        memcpy(run->trailers + run->trailer_size, data + piece.at, piece.size);
        run->trailer_size += piece.size;
    }
    run->at += piece.consumed;
    if (event == HTTP1_DONE) return finish(run), false;
    if (event != HTTP1_MORE) return true;

    int broken = last && request->eof ? http1_body_finish(&run->body) : 0;
    if (broken) fail(run, broken, run->at);
    else if (last) request->eof ? finish(run) : end(run, "more");
    return false;
}

/* What is there up to `available` is taken as far as it goes. */
static void take(struct run *run, const struct request *request, size_t available) {
    bool last = available == request->size, more = true;
    while (more && !run->over) {
        bool in_body = run->in_body;
        size_t size = available - run->at;
        char *exact = malloc(size ? size : 1);
        require(exact != NULL, "no memory");
        memcpy(exact, request->bytes + run->at, size);
        if (in_body) more = take_body(run, request, exact, size, last);
        else take_head(run, request, exact, size, last);
        free(exact);
        more = in_body ? more : run->in_body;
    }
}

/* Pieces end at `cut` and at the end; or, where `step` is not 0, after so many bytes each. */
static void go(struct run *run, const struct request *request, size_t cut, size_t step) {
    run->trailer_size = run->at = run->length = run->data_size = 0;
    run->in_body = run->over = false;
    http1_head_init(&run->head, HTTP1_REQUEST, &request->limits, run->table, request->limits.headers);
    http1_head_start(&run->head, HTTP1_TO_ANY);
    for (size_t at = step ? step : cut; at < request->size && !run->over; at += step ? step : request->size) take(run, request, at);
    if (!run->over) take(run, request, request->size);
    if (strstr(run->text, "\nends done\n")) {
        say(run, "rest ");
        say_bytes(run, request->bytes + run->at, request->size - run->at, "\n");
    }
}

static bool next_request(FILE *file, struct request *request) {
    struct http1_limits *limits = &request->limits;
    int got = fscanf(file, "%d %" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %zu", &request->eof,
                     &limits->body, &limits->start_line, &limits->head, &limits->headers, &limits->interim,
                     &limits->chunk_extensions, &limits->trailer, &request->size);
    if (got != 9) return false;

    require(request->size < LONGEST && limits->headers <= TABLE && fgetc(file) == '\n', "a corpus that is none");
    require(fread(request->bytes, 1, request->size, file) == request->size, "a corpus that ends too soon");
    return true;
}

int main(int count, char **arguments) {
    static struct run whole, cut;
    static char bytes[LONGEST];
    struct request request = {.bytes = bytes};
    FILE *file = count == 2 ? fopen(arguments[1], "rb") : NULL;
    require(file != NULL, "the argument is CORPUS");
    while (next_request(file, &request)) {
        go(&whole, &request, request.size, 0);
        for (size_t at = 0; at <= request.size; at++) {
            go(&cut, &request, at, at ? 0 : 1);
            require(cut.length == whole.length && memcmp(cut.text, whole.text, whole.length) == 0, "another result when it is cut");
        }
        printf("%.*s\n", (int)whole.length, whole.text);
    }
    fclose(file);
    return 0;
}
