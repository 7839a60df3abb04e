/* Commands: "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", or a line as people type it. */
#include <string.h>

#include "resp.h"

/* Of a number in a header: so many can't overflow 64 bits. */
enum { DIGITS = 18, CRLF = 2 };

void resp_command_start(struct resp_command *command, const struct resp_limits *limits, struct resp_span *spans,
                        uint32_t room) {
    *command = (struct resp_command){.limits = limits, .spans = spans, .room = room};
}

static int resp_command_fail(struct resp_command *command, int rule, size_t at) {
    command->stage = RESP_BROKEN;
    command->rule = (uint8_t)rule;
    command->error_at = at;
    return -rule;
}

/* ---- numbers ---- */

struct number {
    uint64_t value;
    size_t ends;   /* behind its CRLF; where it is wrong, where that is */
    bool negative;
};

/* redis-server takes neither 03 nor -0, and would end the connection that such a header is forwarded on. */
static bool resp_command_leads_with_zero(const char *data, size_t begins, size_t at, bool negative) {
    return data[begins] == '0' && (at > begins || negative);
}

/* RESP_MORE, 1, or -1 where it is wrong. Reads it from its first byte each time: it is short. */
static int resp_command_read_number(const char *data, size_t size, size_t at, struct number *number) {
    size_t begins = at;
    *number = (struct number){.ends = at};
    if (at < size && data[at] == '-') {
        number->negative = true;
        begins = ++at;
    }
    for (; at < size; at++) {
        unsigned digit = (unsigned char)data[at] - (unsigned)'0';
        if (digit > 9) break;
        number->ends = at;
        if (at - begins == DIGITS || resp_command_leads_with_zero(data, begins, at, number->negative)) return -1;

        number->value = number->value * 10 + digit;
    }
    number->ends = at;
    if (at == size) return RESP_MORE;
    if (data[at] != '\r' || at == begins) return -1;
    if (at + 1 == size) return RESP_MORE;

    number->ends = at + 1;
    if (data[at + 1] != '\n') return -1;

    number->ends = at + CRLF;
    return 1;
}

/* ---- each stage; 1: the next one can begin ---- */

static int resp_command_scan_count(struct resp_command *command, const char *data, size_t size) {
    struct number count;
    int result = resp_command_read_number(data, size, 1, &count);
    if (result == RESP_MORE) return RESP_MORE;
    if (result < 0) return resp_command_fail(command, RESP_E_COUNT, count.ends);
    if (!count.negative && count.value > command->limits->arguments) {
        return resp_command_fail(command, RESP_E_ARGUMENTS_LIMIT, 1);
    }

    command->at = count.ends;
    command->count = count.negative ? 0 : (uint32_t)count.value;
    command->stage = command->count ? RESP_IN_HEADER : RESP_AT_END;
    return 1;
}

static int resp_command_scan_line(struct resp_command *command, const char *data, size_t size) {
    uint32_t limit = command->limits->line;
    const char *end = memchr(data + command->looked, '\n', size - command->looked);
    size_t length = end ? (size_t)(end - data) + 1 : size;
    command->looked = size;
    if (length > limit) return resp_command_fail(command, RESP_E_LINE_LIMIT, limit);
    if (!end) return RESP_MORE;

    command->at = length;
    return RESP_INLINE;
}

static int resp_command_scan_start(struct resp_command *command, const char *data, size_t size) {
    if (size == 0) return RESP_MORE;
    if (data[0] == '*') return resp_command_scan_count(command, data, size);

    command->stage = RESP_IN_LINE;
    return 1;
}

static int resp_command_scan_header(struct resp_command *command, const char *data, size_t size) {
    size_t at = command->at;
    if (at >= size) return RESP_MORE;
    if (data[at] != '$') return resp_command_fail(command, RESP_E_DOLLAR, at);
    if (command->found == command->room) return RESP_SPANS;

    struct number length;
    int result = resp_command_read_number(data, size, at + 1, &length);
    if (result == RESP_MORE) return RESP_MORE;
    if (result < 0) return resp_command_fail(command, RESP_E_BULK_LENGTH, length.ends);
    if (length.negative) return resp_command_fail(command, RESP_E_BULK_LENGTH, at + 1);
    if (length.value > command->limits->bulk) return resp_command_fail(command, RESP_E_BULK_LIMIT, at + 1);
    if (length.ends + length.value + CRLF > command->limits->command) {
        return resp_command_fail(command, RESP_E_COMMAND_LIMIT, at + 1);
    }

    command->spans[command->found++] = (struct resp_span){length.ends, (size_t)length.value};
    command->at = length.ends;
    command->stage = RESP_IN_BULK;
    return 1;
}

static int resp_command_scan_bulk(struct resp_command *command, const char *data, size_t size) {
    size_t end = command->at + command->spans[command->found - 1].size;
    if (size > end && data[end] != '\r') return resp_command_fail(command, RESP_E_BULK_END, end);
    if (size < end + CRLF) return RESP_MORE;
    if (data[end + 1] != '\n') return resp_command_fail(command, RESP_E_BULK_END, end + 1);

    command->at = end + CRLF;
    command->stage = command->found == command->count ? RESP_AT_END : RESP_IN_HEADER;
    return 1;
}

/* ---- arguments that are here as a whole, as nearly all are: at once ---- */

/* Behind its "$5\r\n"; 0: it is to be read byte by byte, for instance because it is wrong. */
static size_t resp_command_whole_header(const char *data, size_t at, size_t size, uint64_t *length) {
    size_t begins = ++at;
    uint64_t value = 0;
    for (; at < size && at - begins < DIGITS; at++) {
        unsigned digit = (unsigned char)data[at] - (unsigned)'0';
        if (digit > 9) break;
        value = value * 10 + digit;
    }
    bool right = at > begins && at + 1 < size && data[at] == '\r' && data[at + 1] == '\n';
    *length = value;
    return right && (data[begins] != '0' || at == begins + 1) ? at + CRLF : 0;
}

static void resp_command_take_whole(struct resp_command *command, const char *data, size_t size) {
    const struct resp_limits *limits = command->limits;
    uint32_t most = command->count < command->room ? command->count : command->room;
    while (command->found < most && command->at < size && data[command->at] == '$') {
        uint64_t length;
        size_t from = resp_command_whole_header(data, command->at, size, &length);
        if (!from || length > limits->bulk || length + CRLF > size - from || from + length + CRLF > limits->command) return;
        if (data[from + length] != '\r' || data[from + length + 1] != '\n') return;

        command->spans[command->found++] = (struct resp_span){from, (size_t)length};
        command->at = from + (size_t)length + CRLF;
    }
    if (command->found == command->count) command->stage = RESP_AT_END;
}

int resp_command_scan(struct resp_command *command, const char *data, size_t size) {
    for (;;) {
        int result = 1;
        if (command->stage == RESP_IN_HEADER) resp_command_take_whole(command, data, size);
        switch (command->stage) {
        case RESP_AT_START: result = resp_command_scan_start(command, data, size); break;
        case RESP_IN_LINE: result = resp_command_scan_line(command, data, size); break;
        case RESP_IN_HEADER: result = resp_command_scan_header(command, data, size); break;
        case RESP_IN_BULK: result = resp_command_scan_bulk(command, data, size); break;
        case RESP_AT_END: return RESP_COMMAND;
        default: return -(int)command->rule;
        }
        if (result != 1) return result;
    }
}

int resp_command_finish(struct resp_command *command, size_t size) {
    if (command->stage == RESP_BROKEN) return -(int)command->rule;
    return size ? resp_command_fail(command, RESP_E_TRUNCATED, size) : 0;
}

void resp_command_drop(struct resp_command *command, uint32_t words, size_t bytes) {
    command->found -= words;
    command->count -= words;
    command->at -= bytes;
    for (uint32_t i = 1; i < command->found; i++) {
        command->spans[i] = command->spans[i + words];
        command->spans[i].at -= bytes;
    }
    command->spans[0] = (struct resp_span){0, 0};
}

size_t resp_command_needs(const struct resp_command *command) {
    bool bulk = command->stage == RESP_IN_BULK;
    return command->at + (bulk ? command->spans[command->found - 1].size + CRLF : 0);
}
