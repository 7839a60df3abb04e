/* Replies: how many values are left, and how many bytes of a string are to be skipped; no more is known of them. */
#include <string.h>

#include "resp.h"

enum { DIGITS = 18, CRLF = 2 };

void resp_reply_start(struct resp_reply *reply, const struct resp_limits *limits) {
    *reply = (struct resp_reply){.limits = limits, .left = 1};
}

static int resp_reply_fail(struct resp_reply *reply, int rule) {
    reply->stage = RESP_R_BROKEN;
    reply->rule = (uint8_t)rule;
    return -rule;
}

/* One value is complete. */
static void resp_reply_complete(struct resp_reply *reply) {
    reply->stage = --reply->left ? RESP_R_TYPE : RESP_R_DONE;
}

/* ---- each stage takes some bytes, at least one; returns 1, or a rule, negated ---- */

static int resp_reply_take_type(struct resp_reply *reply, char byte) {
    if (!reply->type) reply->type = byte;
    reply->current = byte;
    reply->number = 0;
    reply->digits = 0;
    reply->negative = false;
    switch (byte) {
    case '+': case '-': case ':': case ',': case '(': case '#': case '_':
        reply->stage = RESP_R_LINE;
        return 1;
    case '$': case '!': case '=': case '*': case '~': case '>': case '%': case '|':
        reply->stage = RESP_R_NUMBER;
        return 1;
    default: return resp_reply_fail(reply, RESP_E_TYPE);
    }
}

static bool resp_reply_is_string(char type) {
    return type == '$' || type == '!' || type == '=';
}

static int resp_reply_broken_number(struct resp_reply *reply) {
    return resp_reply_fail(reply, resp_reply_is_string(reply->current) ? RESP_E_BULK_LENGTH : RESP_E_LENGTH);
}

static int resp_reply_take_digit(struct resp_reply *reply, char byte) {
    unsigned digit = (unsigned char)byte - (unsigned)'0';
    if (byte == '-' && !reply->digits && !reply->negative) {
        reply->negative = true;
        return 1;
    }
    if (byte == '\r' && reply->digits) {
        bool nil = reply->negative && reply->number == 1 && (reply->current == '$' || reply->current == '*');
        if (reply->negative && !nil) return resp_reply_broken_number(reply);
        reply->stage = RESP_R_LF;
        return 1;
    }
    if (digit > 9 || reply->digits == DIGITS) return resp_reply_broken_number(reply);

    reply->number = reply->number * 10 + digit;
    reply->digits++;
    return 1;
}

/* Behind the header of a string or an aggregate, or at the end of a line. */
static int resp_reply_end_header(struct resp_reply *reply) {
    if (!reply->digits || reply->negative) {
        resp_reply_complete(reply);
        return 1;
    }
    if (resp_reply_is_string(reply->current)) {
        if (reply->number > reply->limits->bulk) return resp_reply_fail(reply, RESP_E_BULK_LIMIT);

        reply->skip = reply->number;
        reply->stage = reply->skip ? RESP_R_BULK : RESP_R_BULK_CR;
        return 1;
    }
    bool pairs = reply->current == '%' || reply->current == '|';
    if (reply->number > reply->limits->elements) return resp_reply_fail(reply, RESP_E_ELEMENTS_LIMIT);
    uint64_t elements = pairs ? reply->number * 2 : reply->number;
    reply->elements += elements;
    if (reply->elements > reply->limits->elements) return resp_reply_fail(reply, RESP_E_ELEMENTS_LIMIT);

    /* What has attributes comes behind them. */
    reply->left += elements + (reply->current == '|');
    resp_reply_complete(reply);
    return 1;
}

static int resp_reply_take_line(struct resp_reply *reply, const char *data, size_t size, size_t *taken) {
    const char *end = memchr(data, '\r', size);
    *taken = end ? (size_t)(end - data) + 1 : size;
    if (end) reply->stage = RESP_R_LF;
    return 1;
}

static int resp_reply_take_lf(struct resp_reply *reply, char byte) {
    return byte == '\n' ? resp_reply_end_header(reply) : resp_reply_fail(reply, RESP_E_LINE_END);
}

static int resp_reply_take_bulk(struct resp_reply *reply, size_t size, size_t *taken) {
    *taken = reply->skip < size ? (size_t)reply->skip : size;
    reply->skip -= *taken;
    if (!reply->skip) reply->stage = RESP_R_BULK_CR;
    return 1;
}

static int resp_reply_take_bulk_cr(struct resp_reply *reply, char byte) {
    if (byte != '\r') return resp_reply_fail(reply, RESP_E_BULK_END);
    reply->stage = RESP_R_BULK_LF;
    return 1;
}

static int resp_reply_take_bulk_lf(struct resp_reply *reply, char byte) {
    if (byte != '\n') return resp_reply_fail(reply, RESP_E_BULK_END);
    resp_reply_complete(reply);
    return 1;
}

static int resp_reply_take(struct resp_reply *reply, const char *data, size_t size, size_t *taken) {
    *taken = 1;
    switch (reply->stage) {
    case RESP_R_TYPE: return resp_reply_take_type(reply, *data);
    case RESP_R_NUMBER: return resp_reply_take_digit(reply, *data);
    case RESP_R_LINE: return resp_reply_take_line(reply, data, size, taken);
    case RESP_R_LF: return resp_reply_take_lf(reply, *data);
    case RESP_R_BULK: return resp_reply_take_bulk(reply, size, taken);
    case RESP_R_BULK_CR: return resp_reply_take_bulk_cr(reply, *data);
    default: return resp_reply_take_bulk_lf(reply, *data);
    }
}

/* ---- values that are here as a whole, as nearly all are: at once ---- */

/* "123\r\n". Returns its bytes, 0: it is to be read byte by byte, for instance because it is wrong. */
static size_t resp_reply_read_number(const char *data, size_t size, uint64_t *number) {
    size_t at = 0;
    *number = 0;
    for (; at < size && at < DIGITS; at++) {
        unsigned digit = (unsigned char)data[at] - (unsigned)'0';
        if (digit > 9) break;
        *number = *number * 10 + digit;
    }
    return at && at + 1 < size && data[at] == '\r' && data[at + 1] == '\n' ? at + CRLF : 0;
}

static size_t resp_reply_whole_string(const struct resp_reply *reply, const char *data, size_t size) {
    uint64_t length;
    size_t header = resp_reply_read_number(data + 1, size - 1, &length);
    if (!header || length > reply->limits->bulk || length > size) return 0;

    size_t end = 1 + header + (size_t)length;
    return end + 1 < size && data[end] == '\r' && data[end + 1] == '\n' ? end + CRLF : 0;
}

static size_t resp_reply_whole_line(const char *data, size_t size) {
    const char *end = memchr(data, '\r', size);
    size_t at = end ? (size_t)(end - data) : size;
    return at + 1 < size && data[at + 1] == '\n' ? at + CRLF : 0;
}

/* Returns the bytes of the value that begins here, 0: it is not all here, or is no string or line. */
static size_t resp_reply_take_whole(struct resp_reply *reply, const char *data, size_t size) {
    size_t bytes = 0;
    if (*data == '$') bytes = resp_reply_whole_string(reply, data, size);
    else if (*data == '+' || *data == ':' || *data == '-') bytes = resp_reply_whole_line(data, size);
    if (!bytes) return 0;

    if (!reply->type) reply->type = *data;
    reply->current = *data;
    resp_reply_complete(reply);
    return bytes;
}

int resp_reply_scan(struct resp_reply *reply, const char *data, size_t size, size_t *used) {
    size_t at = 0;
    int result = 1;
    if (reply->stage == RESP_R_BROKEN) result = -(int)reply->rule;
    while (result == 1 && at < size && reply->stage != RESP_R_DONE) {
        size_t taken = reply->stage == RESP_R_TYPE ? resp_reply_take_whole(reply, data + at, size - at) : 0;
        if (!taken) result = resp_reply_take(reply, data + at, size - at, &taken);
        if (result == 1) at += taken;
    }
    reply->at += at;
    *used = at;
    if (result < 0) return result;
    return reply->stage == RESP_R_DONE ? RESP_REPLY : RESP_MORE;
}

int resp_reply_finish(struct resp_reply *reply) {
    if (reply->stage == RESP_R_BROKEN) return -(int)reply->rule;
    return reply->at ? resp_reply_fail(reply, RESP_E_TRUNCATED) : 0;
}
