/* Commands as people type them, for instance by telnet. */
#include <string.h>

#include "resp.h"

/* A line being read, and the array being written; the number of its elements is known at the end. */
struct translation {
    const char *from;
    const char *end;
    char *to;     /* behind room for the array's header */
    size_t count; /* words */
};

size_t resp_inline_room(size_t size) {
    return 2 * RESP_HEADER + size * 8;
}

/* As C's isspace, whatever the locale. */
static bool resp_inline_blank(char byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static int resp_inline_hex(char byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
    return -1;
}

/* The byte that an escape in "…" stands for; `from` is behind its backslash. */
static char resp_inline_escaped(struct translation *line) {
    const char *from = line->from;
    if (*from == 'x' && line->end - from > 2 && resp_inline_hex(from[1]) >= 0 && resp_inline_hex(from[2]) >= 0) {
        line->from += 3;
        return (char)(resp_inline_hex(from[1]) * 16 + resp_inline_hex(from[2]));
    }
    line->from++;
    static const char letters[] = "nrtba", bytes[] = "\n\r\t\b\a";
    const char *letter = memchr(letters, *from, sizeof letters - 1);
    return letter ? bytes[letter - letters] : *from;
}

/* Behind the opening quote, up to behind the closing one, which ends the word. */
static bool resp_inline_read_quoted(struct translation *line, char quote, char **to) {
    while (line->from < line->end) {
        char byte = *line->from++;
        if (byte == quote) return line->from == line->end || resp_inline_blank(*line->from);
        if (byte == '\\' && line->from < line->end && (quote == '"' || *line->from == '\'')) byte = resp_inline_escaped(line);
        *(*to)++ = byte;
    }
    return false;
}

static bool resp_inline_read_word(struct translation *line, char **to) {
    while (line->from < line->end && !resp_inline_blank(*line->from)) {
        char byte = *line->from++;
        if (byte == '"' || byte == '\'') return resp_inline_read_quoted(line, byte, to);
        *(*to)++ = byte;
    }
    return true;
}

/* Word by word: written behind room for its header, then moved to it. */
static bool resp_inline_translate_word(struct translation *line) {
    char *begins = line->to + RESP_HEADER;
    char *ends = begins;
    if (!resp_inline_read_word(line, &ends)) return false;

    size_t size = (size_t)(ends - begins);
    line->to += resp_write_header(line->to, '$', size);
    memmove(line->to, begins, size);
    line->to += size;
    *line->to++ = '\r';
    *line->to++ = '\n';
    line->count++;
    return true;
}

int resp_inline(const char *text, size_t size, char *array, size_t *written) {
    const char *nul = memchr(text, 0, size); /* ends it, as it ends a string in redis-server */
    struct translation line = {.from = text, .end = nul ? nul : text + size, .to = array + RESP_HEADER};
    for (;;) {
        while (line.from < line.end && resp_inline_blank(*line.from)) line.from++;
        if (line.from == line.end) break;
        if (!resp_inline_translate_word(&line)) return -RESP_E_QUOTES;
    }
    size_t header = resp_write_header(array, '*', line.count);
    size_t body = (size_t)(line.to - (array + RESP_HEADER));
    memmove(array + header, array + RESP_HEADER, body);
    *written = header + body;
    return RESP_COMMAND;
}
