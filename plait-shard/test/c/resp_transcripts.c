/*
 * What the engine makes of commands and replies, as text: the whole, and the same at every cut and byte by byte, each piece in
 * memory of exactly its size.
 *
 *     PROGRAM CORPUS
 *
 * CORPUS: "replies bulk command elements arguments line size\n", then so many bytes and "\n", again and again; `replies` is 1 or
 * 0. Prints for each sample lines of "command BYTES WORD …" (words in hexadecimal digits) or "reply TYPE BYTES", then "closed" or
 * "error RULE AT", and an empty line.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resp.h"

enum { LONGEST = 1 << 21, CUT_BELOW = 100 };

struct sample {
    struct resp_limits limits;
    int replies;
    size_t size;
    char *bytes;
};

/* One run: where it is, and what it has said. */
struct run {
    struct resp_command command;
    struct resp_reply reply;
    size_t at;      /* bytes of the sample that are done with */
    size_t scanned; /* bytes of a reply behind them */
    bool over;
    size_t length;
    char text[3 * LONGEST];
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

static void fail(struct run *run, int rule, uint64_t at) {
    say(run, "error %s %" PRIu64 "\n", resp_rule(rule)->name, at);
    run->over = true;
}

static void more_spans(struct run *run) {
    uint32_t room = run->command.room ? run->command.room * 2 : 8;
    run->command.spans = realloc(run->command.spans, room * sizeof *run->command.spans);
    require(run->command.spans != NULL, "no memory");
    run->command.room = room;
}

static void say_words(struct run *run, size_t size, const char *data, const struct resp_span *spans, uint32_t count) {
    if (count == 0) return; /* it is passed over */
    say(run, "command %zu", size);
    for (uint32_t i = 0; i < count; i++) {
        say(run, " ");
        for (size_t k = 0; k < spans[i].size; k++) say(run, "%02x", (unsigned char)data[spans[i].at + k]);
    }
    say(run, "\n");
}

/* An inline command, as the array that it stands for. */
static void say_line(struct run *run, const char *line, size_t size) {
    struct resp_span spans[64];
    struct resp_command command;
    size_t written;
    char *array = malloc(resp_inline_room(size));
    require(array != NULL, "no memory");
    int result = resp_inline(line, size, array, &written);
    if (result < 0) {
        fail(run, result, 0);
    } else {
        resp_command_start(&command, &resp_default_limits, spans, 64);
        require(resp_command_scan(&command, array, written) == RESP_COMMAND && command.at == written, "not the array of a line");
        say_words(run, size, array, spans, command.count);
    }
    free(array);
}

static bool take_command(struct run *run, const struct sample *sample, const char *data, size_t size, bool last) {
    struct resp_command *command = &run->command;
    int event = resp_command_scan(command, data, size);
    if (event < 0) return fail(run, event, command->error_at), false;
    if (event == RESP_SPANS) return more_spans(run), true;
    if (event == RESP_MORE) {
        int rule = last ? resp_command_finish(command, size) : 0;
        if (rule) fail(run, rule, command->error_at);
        else if (last) say(run, "closed\n");
        return false;
    }
    if (event == RESP_INLINE) say_line(run, data, command->at);
    else say_words(run, command->at, data, command->spans, command->count);
    run->at += command->at;
    resp_command_start(command, &sample->limits, command->spans, command->room);
    return true;
}

static bool take_reply(struct run *run, const struct sample *sample, const char *data, size_t size, bool last) {
    size_t used;
    int event = resp_reply_scan(&run->reply, data + run->scanned, size - run->scanned, &used);
    run->scanned += used;
    if (event == RESP_MORE && last) {
        event = resp_reply_finish(&run->reply);
        if (event == 0) say(run, "closed\n");
    }
    if (event < 0) fail(run, event, run->reply.at);
    if (event != RESP_REPLY) return false;

    say(run, "reply %c %zu\n", data[0], run->scanned);
    run->at += run->scanned;
    run->scanned = 0;
    resp_reply_start(&run->reply, &sample->limits);
    return true;
}

/* What is there up to `available` is taken as far as it goes. */
static void take(struct run *run, const struct sample *sample, size_t available) {
    bool more = true;
    while (more && !run->over) {
        size_t size = available - run->at;
        char *exact = malloc(size ? size : 1);
        require(exact != NULL, "no memory");
        memcpy(exact, sample->bytes + run->at, size);
        more = (sample->replies ? take_reply : take_command)(run, sample, exact, size, available == sample->size);
        free(exact);
    }
}

/* Pieces end at `cut` and at the end; or, where `step` is not 0, after so many bytes each. */
static void go(struct run *run, const struct sample *sample, size_t cut, size_t step) {
    run->at = run->scanned = run->length = 0;
    run->over = false;
    resp_command_start(&run->command, &sample->limits, run->command.spans, run->command.room);
    resp_reply_start(&run->reply, &sample->limits);
    for (size_t at = step ? step : cut; at < sample->size && !run->over; at += step ? step : sample->size) take(run, sample, at);
    if (!run->over) take(run, sample, sample->size);
}

static bool next_sample(FILE *file, struct sample *sample) {
    struct resp_limits *limits = &sample->limits;
    int got = fscanf(file, "%d %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu32 " %" SCNu32 " %zu", &sample->replies, &limits->bulk,
                     &limits->command, &limits->elements, &limits->arguments, &limits->line, &sample->size);
    if (got != 7) return false;

    require(sample->size < LONGEST && fgetc(file) == '\n', "a corpus that is none");
    require(fread(sample->bytes, 1, sample->size, file) == sample->size, "a corpus that ends too soon");
    return true;
}

int main(int count, char **arguments) {
    static struct run whole, cut;
    static char bytes[LONGEST];
    struct sample sample = {.bytes = bytes};
    FILE *file = count == 2 ? fopen(arguments[1], "rb") : NULL;
    require(file != NULL, "the argument is CORPUS");
    while (next_sample(file, &sample)) {
        go(&whole, &sample, sample.size, 0);
        for (size_t at = 0; at <= sample.size && sample.size < CUT_BELOW; at++) {
            go(&cut, &sample, at, at ? 0 : 1);
            require(cut.length == whole.length && memcmp(cut.text, whole.text, whole.length) == 0, "another result when it is cut");
        }
        go(&cut, &sample, 0, 10000);
        require(cut.length == whole.length, "another result in pieces");
        printf("%.*s\n", (int)whole.length, whole.text);
    }
    free(whole.command.spans);
    free(cut.command.spans);
    fclose(file);
    return 0;
}
