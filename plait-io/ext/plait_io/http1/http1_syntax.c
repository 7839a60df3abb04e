/* Bytes, lines and fields: the grammar that heads, trailers and what we send have in common. */
#include "http1_syntax.h"

#include <string.h>

enum {
    TOKEN = CLASS_TOKEN,
    TARGET = CLASS_TARGET,
    HOST = CLASS_HOST,
    SCHEME = CLASS_SCHEME,
    LETTER = TOKEN | TARGET | HOST | SCHEME,
    DIGIT = LETTER | CLASS_DIGIT | CLASS_HEX,
    HEX = LETTER | CLASS_HEX
};

const uint8_t http1_class[256] = {
    ['!'] = TOKEN | TARGET | HOST,
    ['"'] = TARGET,
    ['#'] = TOKEN, /* a fragment is never sent */
    ['$'] = TOKEN | TARGET | HOST,
    ['%'] = TOKEN | TARGET | HOST,
    ['&'] = TOKEN | TARGET | HOST,
    ['\''] = TOKEN | TARGET | HOST,
    ['('] = TARGET | HOST,
    [')'] = TARGET | HOST,
    ['*'] = TOKEN | TARGET | HOST,
    ['+'] = TOKEN | TARGET | HOST | SCHEME,
    [','] = TARGET | HOST,
    ['-'] = TOKEN | TARGET | HOST | SCHEME,
    ['.'] = TOKEN | TARGET | HOST | SCHEME,
    ['/'] = TARGET,
    ['0' ... '9'] = DIGIT,
    [':'] = TARGET,
    [';'] = TARGET | HOST,
    ['<'] = TARGET,
    ['='] = TARGET | HOST,
    ['>'] = TARGET,
    ['?'] = TARGET,
    ['@'] = TARGET,
    ['A' ... 'F'] = HEX,
    ['G' ... 'Z'] = LETTER,
    ['['] = TARGET,
    ['\\'] = TARGET,
    [']'] = TARGET,
    ['^'] = TOKEN | TARGET,
    ['_'] = TOKEN | TARGET | HOST,
    ['`'] = TOKEN | TARGET,
    ['a' ... 'f'] = HEX,
    ['g' ... 'z'] = LETTER,
    ['{'] = TARGET,
    ['|'] = TOKEN | TARGET,
    ['}'] = TARGET,
    ['~'] = TOKEN | TARGET | HOST,
    [0x80 ... 0xff] = CLASS_RAW,
};

bool http1_same_word(const char *data, size_t size, const char *word) {
    for (size_t i = 0; i < size; i++) {
        /* Of bytes that are no controls only a letter becomes that letter, and none becomes the NUL at the word's end. */
        if ((data[i] | 0x20) != word[i]) return false;
    }
    return word[size] == '\0';
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

#define EACH(byte) (0x0101010101010101ULL * (byte))

/* The high bit of each byte below 0x20 or equal to 0x7f; above the first such byte it may also be set by a borrow. */
static inline uint64_t http1_syntax_controls(uint64_t word) {
    uint64_t del = word ^ EACH(0x7f);
    uint64_t low = (word - EACH(0x20)) & ~word;
    return (low | ((del - EACH(0x01)) & ~del)) & EACH(0x80);
}

size_t http1_scan_control(const char *data, size_t at, size_t end) {
    while (end - at >= 8) {
        uint64_t word;
        memcpy(&word, data + at, 8);
        uint64_t found = http1_syntax_controls(word);
        if (!found) {
            at += 8;
            continue;
        }
        at += (size_t)__builtin_ctzll(found) / 8;
        if (data[at] != '\t') return at;
        at++;
    }
    while (at < end && !http1_is_control(data[at])) at++;
    return at;
}

#else

size_t http1_scan_control(const char *data, size_t at, size_t end) {
    while (at < end && !http1_is_control(data[at])) at++;
    return at;
}

#endif

int http1_scan_line(const char *data, size_t *at, size_t size) {
    *at = http1_scan_control(data, *at, size);
    if (*at == size) return 0;
    if (data[*at] == '\n') return -HTTP1_E_BARE_LF;
    if (data[*at] != '\r') return -HTTP1_E_CONTROL;
    if (*at + 1 == size) return 0;
    return data[*at + 1] == '\n' ? 1 : -HTTP1_E_BARE_CR;
}

/* What is wrong with the byte that ends a field's name and is no colon. */
static int http1_syntax_name_error(const char *data, size_t line, size_t at, size_t end) {
    if (at == end) return -HTTP1_E_NO_COLON;
    if (http1_is_space(data[at])) return -HTTP1_E_SPACE_IN_NAME;
    return at == line && data[at] == ':' ? -HTTP1_E_EMPTY_NAME : -HTTP1_E_FIELD_NAME;
}

int http1_parse_field(const char *data, size_t at, size_t end, struct http1_header *header, size_t *error_at) {
    size_t colon = http1_run(data, at, end, CLASS_TOKEN);
    if (colon == at || colon == end || data[colon] != ':') {
        *error_at = colon;
        return http1_syntax_name_error(data, at, colon, end);
    }
    size_t value = colon + 1;
    while (value < end && http1_is_space(data[value])) value++;
    while (end > value && http1_is_space(data[end - 1])) end--;
    header->name_at = (uint32_t)at;
    header->name_size = (uint32_t)(colon - at) & HTTP1_LARGEST_HEAD;
    header->known = http1_known_field(data + at, colon - at) & 0xff;
    header->value_at = (uint32_t)value;
    header->value_size = (uint32_t)(end - value);
    return 0;
}

bool http1_next_element(const char *data, size_t *at, size_t end, struct http1_element *element) {
    if (*at > end) return false;

    const char *comma = memchr(data + *at, ',', end - *at);
    size_t stop = comma ? (size_t)(comma - data) : end;
    size_t from = *at, to = stop;
    while (from < to && http1_is_space(data[from])) from++;
    while (to > from && http1_is_space(data[to - 1])) to--;
    element->at = from;
    element->size = to - from;
    *at = stop + 1;
    return true;
}

/* ---- fields that are recognised ---- */

struct known_field {
    const char *name; /* lower case */
    uint8_t size;     /* bytes */
    uint8_t known;    /* enum http1_known */
};

/* Perfect for the fields of HTTP1_KNOWN_FIELDS: two in one slot are a warning of the compiler (-Woverride-init). */
#define SLOT(first, last, size) (((size) + (first) * 7 + (last) * 31) & 127)

static const struct known_field known_fields[128] = {
#define KNOWN_FIELD(constant, name, first, last, size) [SLOT(first, last, size)] = {name, size, HTTP1_FIELD_##constant},
    HTTP1_KNOWN_FIELDS(KNOWN_FIELD)
#undef KNOWN_FIELD
};

unsigned http1_known_field(const char *name, size_t size) {
    if (size == 0) return HTTP1_FIELD_OTHER;

    unsigned first = (unsigned char)name[0] | 0x20U;
    unsigned last = (unsigned char)name[size - 1] | 0x20U;
    const struct known_field *field = &known_fields[SLOT(first, last, (unsigned)size)];
    return field->size == size && http1_same_word(name, size, field->name) ? field->known : HTTP1_FIELD_OTHER;
}

ptrdiff_t http1_fields_parse(const char *data, size_t size, struct http1_header *table, uint32_t capacity) {
    uint32_t count = 0;
    for (size_t line = 0, at = 0, error_at; line < size; line = at) {
        int found = http1_scan_line(data, &at, size);
        if (found <= 0) return found ? found : -HTTP1_E_TRUNCATED_HEAD;
        if (http1_is_space(data[line])) return line ? -HTTP1_E_OBS_FOLD : -HTTP1_E_LEADING_SPACE;
        if (count == capacity) return -HTTP1_E_HEADERS_LIMIT;

        int broken = http1_parse_field(data, line, at, &table[count++], &error_at);
        if (broken) return broken;
        at += 2;
    }
    return count;
}
