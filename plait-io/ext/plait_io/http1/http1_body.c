/* Bodies: by length, chunked (RFC 9112 §7.1), or until the connection is closed. */
#include "http1_syntax.h"

#include <string.h>

/* Up to EXTENSION_PHASES: the states of the table of chunk extensions. */
enum phase {
    AFTER_BLANK,     /* white space after a size or a value: a semicolon must come */
    EXTENSION_NAME,  /* after a semicolon, perhaps white space: a name begins */
    IN_NAME,
    AFTER_NAME,      /* white space after a name */
    EXTENSION_VALUE, /* after "=", perhaps white space: a value begins */
    IN_VALUE,
    IN_QUOTES,
    IN_ESCAPE,
    AFTER_QUOTES,
    EXTENSION_PHASES,
    FIRST_DIGIT = EXTENSION_PHASES,
    DIGITS,
    SIZE_LF,
    CHUNK_BYTES,
    CHUNK_CR,
    CHUNK_LF,
    FIELD_BEGIN,
    FIELD_NAME,
    FIELD_VALUE,
    FIELD_LF,
    LAST_LF,
    LENGTH_BYTES,
    ALL_BYTES,
    OVER,
    BROKEN
};

int http1_body_start(struct http1_body *body, const struct http1_head *head) {
    memset(body, 0, sizeof *body);
    body->limits = head->limits;
    body->phase = OVER;
    if (head->framing == HTTP1_CHUNKED) body->phase = FIRST_DIGIT;
    if (head->framing == HTTP1_UNTIL_CLOSE) body->phase = ALL_BYTES;
    if (head->framing != HTTP1_LENGTH || head->content_length == 0) return 0;

    body->phase = LENGTH_BYTES;
    body->left = head->content_length;
    if (body->left <= body->limits->body) return 0;

    body->phase = BROKEN;
    body->rule = HTTP1_E_BODY_LIMIT;
    return -HTTP1_E_BODY_LIMIT;
}

static int http1_body_fail(struct http1_body *body, int rule, struct http1_piece *piece, size_t at) {
    body->phase = BROKEN;
    body->rule = (uint8_t)rule;
    piece->at = at;
    return -rule;
}

/* ---- the line before a chunk ---- */

static int http1_body_begin_chunk(struct http1_body *body) {
    if (body->left > body->limits->body - body->total) return HTTP1_E_BODY_LIMIT;

    body->total += body->left;
    body->phase = body->left ? CHUNK_BYTES : FIELD_BEGIN;
    return 0;
}

/* A line feed where a CR should come before it. `line`: the line may end here. */
static int http1_body_line_feed(struct http1_body *body, bool line) {
    if (!line || !body->limits->lenient) return HTTP1_E_BARE_LF;

    body->pardoned = true;
    return http1_body_begin_chunk(body);
}

static int http1_body_size_byte(struct http1_body *body, char byte) {
    int digit = http1_hex(byte);
    if (digit >= 0) {
        if (body->digits == 16 || body->left > (uint64_t)INT64_MAX >> 4) return HTTP1_E_CHUNK_SIZE_OVERFLOW;
        body->left = body->left << 4 | (unsigned)digit;
        body->digits++;
        body->phase = DIGITS;
        return 0;
    }
    if (byte == '\n') return http1_body_line_feed(body, body->phase == DIGITS);
    if (body->phase == FIRST_DIGIT) return HTTP1_E_CHUNK_SIZE;
    if (byte == '\r') {
        body->phase = SIZE_LF;
        return 0;
    }
    if (byte != ';' && !http1_is_space(byte)) return HTTP1_E_CHUNK_SIZE;

    body->phase = byte == ';' ? EXTENSION_NAME : AFTER_BLANK;
    return body->extensions++ < body->limits->chunk_extensions ? 0 : HTTP1_E_CHUNK_EXTENSIONS_LIMIT;
}

enum byte_kind { BLANK, TOKEN, SEMICOLON, EQUALS, QUOTE, BACKSLASH, RETURN, OTHER, CONTROL, BYTE_KINDS };

static enum byte_kind http1_body_kind_of(char byte) {
    switch (byte) {
    case ' ':
    case '\t':
        return BLANK;
    case ';':
        return SEMICOLON;
    case '=':
        return EQUALS;
    case '"':
        return QUOTE;
    case '\\':
        return BACKSLASH;
    case '\r':
        return RETURN;
    default:
        if (http1_is(byte, CLASS_TOKEN)) return TOKEN;
        return http1_is_control(byte) ? CONTROL : OTHER;
    }
}

/* *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] ), RFC 9112 §7.1.1; 0 is an error. */
#define GO(phase) ((phase) + 1)
static const uint8_t extension_phase[EXTENSION_PHASES][BYTE_KINDS] = {
    [AFTER_BLANK] = {[BLANK] = GO(AFTER_BLANK), [SEMICOLON] = GO(EXTENSION_NAME)},
    [EXTENSION_NAME] = {[BLANK] = GO(EXTENSION_NAME), [TOKEN] = GO(IN_NAME)},
    [IN_NAME] = {[BLANK] = GO(AFTER_NAME),
                 [TOKEN] = GO(IN_NAME),
                 [SEMICOLON] = GO(EXTENSION_NAME),
                 [EQUALS] = GO(EXTENSION_VALUE),
                 [RETURN] = GO(SIZE_LF)},
    [AFTER_NAME] = {[BLANK] = GO(AFTER_NAME), [SEMICOLON] = GO(EXTENSION_NAME), [EQUALS] = GO(EXTENSION_VALUE)},
    [EXTENSION_VALUE] = {[BLANK] = GO(EXTENSION_VALUE), [TOKEN] = GO(IN_VALUE), [QUOTE] = GO(IN_QUOTES)},
    [IN_VALUE] = {[BLANK] = GO(AFTER_BLANK),
                  [TOKEN] = GO(IN_VALUE),
                  [SEMICOLON] = GO(EXTENSION_NAME),
                  [RETURN] = GO(SIZE_LF)},
    [IN_QUOTES] = {[BLANK] = GO(IN_QUOTES),
                   [TOKEN] = GO(IN_QUOTES),
                   [SEMICOLON] = GO(IN_QUOTES),
                   [EQUALS] = GO(IN_QUOTES),
                   [QUOTE] = GO(AFTER_QUOTES),
                   [BACKSLASH] = GO(IN_ESCAPE),
                   [OTHER] = GO(IN_QUOTES)},
    [IN_ESCAPE] = {[BLANK] = GO(IN_QUOTES),
                   [TOKEN] = GO(IN_QUOTES),
                   [SEMICOLON] = GO(IN_QUOTES),
                   [EQUALS] = GO(IN_QUOTES),
                   [QUOTE] = GO(IN_QUOTES),
                   [BACKSLASH] = GO(IN_QUOTES),
                   [OTHER] = GO(IN_QUOTES)},
    [AFTER_QUOTES] = {[BLANK] = GO(AFTER_BLANK), [SEMICOLON] = GO(EXTENSION_NAME), [RETURN] = GO(SIZE_LF)},
};

static int http1_body_extension_byte(struct http1_body *body, char byte) {
    uint8_t next = extension_phase[body->phase][http1_body_kind_of(byte)];
    bool line = extension_phase[body->phase][RETURN] || body->phase == AFTER_BLANK;
    if (!next && byte == '\n') return http1_body_line_feed(body, line);
    if (!next && byte == '\r' && body->phase == AFTER_BLANK && body->limits->lenient) {
        body->pardoned = true;
        next = GO(SIZE_LF);
    }
    if (!next) return HTTP1_E_CHUNK_EXTENSION;

    body->phase = (uint8_t)(next - 1);
    if (body->phase == SIZE_LF) return 0;
    return body->extensions++ < body->limits->chunk_extensions ? 0 : HTTP1_E_CHUNK_EXTENSIONS_LIMIT;
}

/* ---- the bytes around a chunk ---- */

/* By LF alone. */
static int http1_body_end_chunk(struct http1_body *body) {
    body->pardoned = true;
    body->phase = FIRST_DIGIT;
    body->digits = 0;
    return 0;
}

static int http1_body_framing_byte(struct http1_body *body, char byte) {
    switch (body->phase) {
    case FIRST_DIGIT:
    case DIGITS:
        return http1_body_size_byte(body, byte);
    case SIZE_LF:
        return byte == '\n' ? http1_body_begin_chunk(body) : HTTP1_E_BARE_CR;
    case CHUNK_CR:
        if (byte == '\n' && body->limits->lenient) return http1_body_end_chunk(body);
        body->phase = CHUNK_LF;
        return byte == '\r' ? 0 : HTTP1_E_CHUNK_END;
    case CHUNK_LF:
        body->phase = FIRST_DIGIT;
        body->digits = 0;
        return byte == '\n' ? 0 : HTTP1_E_CHUNK_END;
    default:
        return http1_body_extension_byte(body, byte);
    }
}

static bool http1_body_in_framing(const struct http1_body *body) {
    return body->phase < FIELD_BEGIN && body->phase != CHUNK_BYTES;
}

/* ---- trailers ---- */

/* What is wrong with a byte that no name has. */
static int http1_body_name_error(const struct http1_body *body, char byte) {
    bool first = body->phase == FIELD_BEGIN;
    if (http1_is_space(byte)) {
        if (!first) return HTTP1_E_SPACE_IN_NAME;
        return body->fields ? HTTP1_E_OBS_FOLD : HTTP1_E_LEADING_SPACE;
    }
    if (byte == ':') return HTTP1_E_EMPTY_NAME;
    if (byte == '\r') return HTTP1_E_NO_COLON;
    if (byte == '\n') return HTTP1_E_BARE_LF;
    return http1_is_control(byte) ? HTTP1_E_CONTROL : HTTP1_E_FIELD_NAME;
}

static int http1_body_name_byte(struct http1_body *body, char byte) {
    if (body->phase == FIELD_NAME && byte == ':') {
        body->phase = FIELD_VALUE;
        return 0;
    }
    if (!http1_is(byte, CLASS_TOKEN)) return http1_body_name_error(body, byte);
    if (body->phase == FIELD_BEGIN && body->fields++ == body->limits->headers) return HTTP1_E_HEADERS_LIMIT;

    body->phase = FIELD_NAME;
    return 0;
}

static int http1_body_value_byte(struct http1_body *body, char byte) {
    if (byte == '\r') {
        body->phase = FIELD_LF;
        return 0;
    }
    if (byte == '\n') return HTTP1_E_BARE_LF;
    return http1_is_control(byte) ? HTTP1_E_CONTROL : 0;
}

static int http1_body_trailer_byte(struct http1_body *body, char byte) {
    if (body->trailer++ == body->limits->trailer) return HTTP1_E_TRAILER_LIMIT;
    if (body->phase == FIELD_VALUE) return http1_body_value_byte(body, byte);
    if (body->phase != FIELD_LF) return http1_body_name_byte(body, byte);

    body->phase = FIELD_BEGIN;
    return byte == '\n' ? 0 : HTTP1_E_BARE_CR;
}

/* The last CRLF, after the fields or instead of them. */
static int http1_body_last_byte(struct http1_body *body, char byte) {
    if (body->phase == LAST_LF && byte != '\n') return HTTP1_E_BARE_CR;

    body->pardoned |= body->phase == FIELD_BEGIN && byte == '\n';
    body->phase = byte == '\n' ? OVER : LAST_LF;
    return 0;
}

static bool http1_body_at_last_crlf(const struct http1_body *body, char byte) {
    if (body->phase == FIELD_BEGIN && byte == '\n') return body->limits->lenient;
    return body->phase == LAST_LF || (body->phase == FIELD_BEGIN && byte == '\r');
}

static int http1_body_next_trailer(struct http1_body *body, const char *data, size_t at, size_t size,
                                   struct http1_piece *piece) {
    size_t from = at;
    while (at < size && body->phase != OVER) {
        bool last = http1_body_at_last_crlf(body, data[at]);
        if (last && at > from) break;

        int rule = last ? http1_body_last_byte(body, data[at]) : http1_body_trailer_byte(body, data[at]);
        if (rule) return http1_body_fail(body, rule, piece, at);
        at++;
        if (last) from = at;
    }
    *piece = (struct http1_piece){.at = from, .size = at - from, .consumed = at};
    if (body->phase == OVER) return HTTP1_DONE;
    return at > from ? HTTP1_TRAILER : HTTP1_MORE;
}

/* ---- data ---- */

static int http1_body_next_data(struct http1_body *body, size_t at, size_t size, struct http1_piece *piece) {
    uint64_t given = size - at;
    if (given > body->left) given = body->left;
    *piece = (struct http1_piece){.at = at, .size = (size_t)given, .consumed = at + (size_t)given};
    if (given == 0) return HTTP1_MORE;

    body->left -= given;
    if (body->left == 0) body->phase = body->phase == CHUNK_BYTES ? CHUNK_CR : OVER;
    return HTTP1_DATA;
}

static int http1_body_next_until_close(struct http1_body *body, size_t size, struct http1_piece *piece) {
    uint64_t room = body->limits->body - body->total;
    if (size && !room) return http1_body_fail(body, HTTP1_E_BODY_LIMIT, piece, 0);

    size_t given = size < room ? size : (size_t)room;
    body->total += given;
    *piece = (struct http1_piece){.at = 0, .size = given, .consumed = given};
    return given ? HTTP1_DATA : HTTP1_MORE;
}

int http1_body_next(struct http1_body *body, const char *data, size_t size, struct http1_piece *piece) {
    *piece = (struct http1_piece){0, 0, 0};
    if (body->phase == OVER) return HTTP1_DONE;
    if (body->phase == BROKEN) return -(int)body->rule;
    if (body->phase == ALL_BYTES) return http1_body_next_until_close(body, size, piece);
    if (body->phase == LENGTH_BYTES) return http1_body_next_data(body, 0, size, piece);

    size_t at = 0;
    for (; at < size && http1_body_in_framing(body); at++) {
        int rule = http1_body_framing_byte(body, data[at]);
        if (rule) return http1_body_fail(body, rule, piece, at);
    }
    if (body->phase == CHUNK_BYTES) return http1_body_next_data(body, at, size, piece);
    if (body->phase >= FIELD_BEGIN) return http1_body_next_trailer(body, data, at, size, piece);

    piece->consumed = at;
    return HTTP1_MORE;
}

int http1_body_finish(struct http1_body *body) {
    if (body->phase == BROKEN) return -(int)body->rule;
    if (body->phase == ALL_BYTES) body->phase = OVER;
    if (body->phase == OVER) return 0;

    body->rule = body->phase == LENGTH_BYTES ? HTTP1_E_TRUNCATED_LENGTH : HTTP1_E_TRUNCATED_CHUNKED;
    body->phase = BROKEN;
    return -(int)body->rule;
}

bool http1_body_done(const struct http1_body *body) {
    return body->phase == OVER;
}

uint64_t http1_body_expects(const struct http1_body *body) {
    return body->phase == LENGTH_BYTES || body->phase == CHUNK_BYTES ? body->left : 0;
}

size_t http1_chunk_line(char line[HTTP1_CHUNK_LINE], uint64_t size) {
    size_t digits = 1;
    while (digits < 16 && size >> (4 * digits)) digits++;
    for (size_t i = 0; i < digits; i++) line[i] = "0123456789abcdef"[size >> (4 * (digits - 1 - i)) & 15];
    line[digits] = '\r';
    line[digits + 1] = '\n';
    return digits + 2;
}
