/* What the parts of the HTTP/1.1 engine share: classes of bytes, lines and fields. Not for its users. */
#ifndef PLAIT_HTTP1_SYNTAX_H
#define PLAIT_HTTP1_SYNTAX_H

#include "http1.h"

/* Where a byte may occur; bits of http1_class. */
enum {
    CLASS_TOKEN = 1,  /* RFC 9110 §5.6.2 */
    CLASS_TARGET = 2, /* a request target; wider than RFC 3986: browsers send | ^ { } " as they are */
    CLASS_HOST = 4,   /* a registered name (RFC 3986 §3.2.2) */
    CLASS_SCHEME = 8, /* RFC 3986 §3.1, after the first letter */
    CLASS_DIGIT = 16,
    CLASS_HEX = 32,
    CLASS_RAW = 64    /* above 127: in a target that was received as some clients send it, never in one that we send */
};

extern const uint8_t http1_class[256];

static inline bool http1_is(char byte, unsigned class) {
    return (http1_class[(unsigned char)byte] & class) != 0;
}

static inline bool http1_is_space(char byte) {
    return byte == ' ' || byte == '\t';
}

/* A byte that no field value may have: CR, LF, NUL, DEL …, but not HTAB. */
static inline bool http1_is_control(char byte) {
    unsigned char code = (unsigned char)byte;
    return (code < 0x20 && code != '\t') || code == 0x7f;
}

/* 0–15, or -1 */
static inline int http1_hex(char byte) {
    if (!http1_is(byte, CLASS_HEX)) return -1;
    return byte <= '9' ? byte - '0' : (byte | 0x20) - 'a' + 10;
}

/* Where the run of bytes of these classes that begins at `at` ends. */
static inline size_t http1_run(const char *data, size_t at, size_t end, unsigned class) {
    while (at < end && http1_is(data[at], class)) at++;
    return at;
}

/* Whether the bytes, none of them a control, are `word` (lower-case letters, digits, hyphens) in any case. */
bool http1_same_word(const char *data, size_t size, const char *word);

/* Where the first control byte at or after `at` is; `end` if there is none. */
size_t http1_scan_control(const char *data, size_t at, size_t end);

/*
 * The line whose scan has come to *at: returns 1 with *at at its CR, 0 when the data ends before its LF, or a broken
 * rule, negated, with *at where it was broken. On 0 *at is where to go on.
 */
int http1_scan_line(const char *data, size_t *at, size_t size);

/*
 * The field line from `at` to `end`, free of control bytes: fills `header` (`known` too). Returns 0, or a broken rule,
 * negated, at *error_at.
 */
int http1_parse_field(const char *data, size_t at, size_t end, struct http1_header *header, size_t *error_at);

/* An element of a comma-separated list, without white space around it; its size may be 0. */
struct http1_element {
    size_t at;
    size_t size;
};

/* The element that begins at *at; *at goes beyond its comma. False when *at is past the end of the list. */
bool http1_next_element(const char *data, size_t *at, size_t end, struct http1_element *element);

#endif
