/*
 * RESP, the protocol of Redis, versions 2 and 3, without IO: finds where commands and replies end and where the arguments of
 * a command are. libc only, no allocation, no global state.
 *
 *     struct resp_command command;
 *     resp_command_start(&command, &resp_default_limits, spans, 16);   // for each command
 *     int event = resp_command_scan(&command, data, size);             // again with more bytes while it is RESP_MORE
 *     if (event < 0) … resp_rule(event)->text, command.error_at …
 *     if (event == RESP_SPANS) … command.spans is full: a larger array with the same contents, and on
 *     if (event == RESP_INLINE) … resp_inline(data, command.at, …): a line as people type it, to be made an array
 *     if (event == RESP_COMMAND) … command.count arguments; data + command.at is the next command
 *
 *     struct resp_reply reply;
 *     resp_reply_start(&reply, &resp_default_limits);                  // for each reply
 *     event = resp_reply_scan(&reply, data, size, &used);              // `used` bytes are done with, none is needed again
 *     if (event == RESP_REPLY) … data + used is the next one
 *
 * What comes out depends on the bytes alone and not on how they were cut, errors and their offsets included.
 */
#ifndef PLAIT_RESP_H
#define PLAIT_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- limits ---- */

/* Each has a rule of its own that is broken when it is exceeded. */
struct resp_limits {
    uint64_t bulk;      /* bytes of an argument, or of a string in a reply */
    uint64_t command;   /* bytes of a command as it comes */
    uint64_t elements;  /* of all aggregates of a reply together */
    uint32_t arguments; /* of a command, its name counted */
    uint32_t line;      /* bytes of an inline command */
};

/* bulk 512 MiB, command 1 GiB, elements 1 Gi, arguments 1 Mi, line 64 KiB */
extern const struct resp_limits resp_default_limits;

/* ---- rules: what an error says ---- */

struct resp_rule {
    const char *name;  /* "bulk_length" */
    const char *text;  /* what is wrong, for a person */
    const char *reply; /* what Redis says of it, behind "ERR Protocol error: "; NULL: it is for replies only */
    const char *limit; /* the member of resp_limits that raises it, or NULL */
};

/* X(constant, name, limit, reply, text) */
#define RESP_RULES(X)                                                                                                     \
    X(COUNT, "count", NULL, "invalid multibulk length", "a number of arguments that is none")                             \
    X(ARGUMENTS_LIMIT, "arguments_limit", "arguments", "invalid multibulk length", "more arguments than the limit")       \
    X(DOLLAR, "dollar", NULL, "expected '$' before an argument", "an argument that does not begin with $")                \
    X(BULK_LENGTH, "bulk_length", NULL, "invalid bulk length", "a length of a string that is none")                       \
    X(BULK_LIMIT, "bulk_limit", "bulk", "invalid bulk length", "a string over the limit")                                 \
    X(BULK_END, "bulk_end", NULL, "expected CRLF behind an argument", "a string that does not end where its length says") \
    X(COMMAND_LIMIT, "command_limit", "command", "too big a request", "a command over the limit")                         \
    X(LINE_LIMIT, "line_limit", "line", "too big inline request", "an inline command over the limit")                     \
    X(QUOTES, "quotes", NULL, "unbalanced quotes in request", "an inline command with a quote that does not end")         \
    X(TYPE, "type", NULL, NULL, "a reply of a type that does not exist")                                                  \
    X(LINE_END, "line_end", NULL, NULL, "a CR without a LF")                                                              \
    X(LENGTH, "length", NULL, NULL, "a length of an aggregate that is none")                                              \
    X(ELEMENTS_LIMIT, "elements_limit", "elements", NULL, "a reply with more elements in all than the limit")             \
    X(TRUNCATED, "truncated", NULL, NULL, "the input ended inside a command or a reply")

/* RESP_E_COUNT …; functions return them negated. */
enum resp_rule_number {
    RESP_OK,
#define RESP_RULE_NUMBER(constant, name, limit, reply, text) RESP_E_##constant,
    RESP_RULES(RESP_RULE_NUMBER)
#undef RESP_RULE_NUMBER
    RESP_RULE_COUNT
};

/* What a negative result means; NULL for one that is none. */
const struct resp_rule *resp_rule(int result);

enum resp_event {
    RESP_MORE,    /* more bytes are needed */
    RESP_COMMAND, /* complete: command.at bytes. One without arguments is to be passed over */
    RESP_INLINE,  /* a whole line: command.at bytes, see resp_inline */
    RESP_SPANS,   /* command.spans is full */
    RESP_REPLY    /* complete */
};

/* ---- commands ---- */

struct resp_span {
    size_t at;   /* of its first byte, from the command's first one */
    size_t size; /* bytes */
};

enum resp_stage { RESP_AT_START, RESP_IN_LINE, RESP_IN_HEADER, RESP_IN_BULK, RESP_AT_END, RESP_BROKEN };

struct resp_command {
    const struct resp_limits *limits;
    struct resp_span *spans; /* the caller's: where the arguments are */
    uint32_t room;           /* of them there is memory for */
    uint32_t count;          /* arguments it has in all */
    uint32_t found;          /* of them are known; the last one perhaps not all here, see resp_command_here */
    uint8_t stage;           /* enum resp_stage */
    uint8_t rule;            /* that was broken */
    size_t at;               /* bytes that are scanned */
    size_t looked;           /* bytes of a line that have no LF */
    size_t error_at;         /* where the rule was broken */
};

/* Before each command; neither limits nor spans are copied. */
void resp_command_start(struct resp_command *command, const struct resp_limits *limits, struct resp_span *spans,
                        uint32_t room);

/* `data` begins with the command's first byte; what was scanned is not scanned again. */
int resp_command_scan(struct resp_command *command, const char *data, size_t size);

/* At the end of the input, with `size` bytes of an unfinished command: 0 when there are none, else a rule, negated. */
int resp_command_finish(struct resp_command *command, size_t size);

/*
 * Words of an unfinished command, from the second one on, are done with, and so are `bytes` of the data: what is left begins with
 * the CRLF before the next word. The first span is then empty.
 */
void resp_command_drop(struct resp_command *command, uint32_t words, size_t bytes);

/* Bytes the command has at least, as far as is known: what memory for it should have room for. */
size_t resp_command_needs(const struct resp_command *command);

/* Bytes that resp_inline writes at most for a line of `size` bytes. */
size_t resp_inline_room(size_t size);

/*
 * Writes the array that an inline command stands for: words between blanks, "…" with escapes and '…', as redis-server reads
 * them. Returns RESP_COMMAND, or a rule, negated. A line without a word is an array without elements.
 */
int resp_inline(const char *line, size_t size, char *array, size_t *written);

/* ---- replies ---- */

enum resp_reply_stage { RESP_R_TYPE, RESP_R_NUMBER, RESP_R_LINE, RESP_R_LF, RESP_R_BULK, RESP_R_BULK_CR, RESP_R_BULK_LF,
                        RESP_R_DONE, RESP_R_BROKEN };

struct resp_reply {
    const struct resp_limits *limits;
    uint64_t left;     /* values to come, the one that is scanned counted */
    uint64_t skip;     /* bytes of a string to come */
    uint64_t number;   /* of the header that is read */
    uint64_t elements; /* of aggregates so far */
    uint64_t at;       /* bytes of the reply that are scanned */
    uint8_t stage;     /* enum resp_reply_stage */
    uint8_t digits;    /* of the number */
    uint8_t rule;      /* that was broken; it was so at the byte `at` */
    char type;         /* the reply's first byte; 0: it has not come */
    char current;      /* type of the value that is scanned */
    bool negative;
};

void resp_reply_start(struct resp_reply *reply, const struct resp_limits *limits);

/* Goes on with bytes that were not scanned yet; `used` of them belong to this reply. An event or a rule, negated. */
int resp_reply_scan(struct resp_reply *reply, const char *data, size_t size, size_t *used);

/* At the end of the input: 0 when no byte of a reply had come, else a rule, negated. */
int resp_reply_finish(struct resp_reply *reply);

/* ---- writing ---- */

enum { RESP_HEADER = 24 };

/* Of an array ('*') or a string ('$'): "*3\r\n". Returns the bytes. */
size_t resp_write_header(char header[RESP_HEADER], char type, uint64_t number);

#endif
