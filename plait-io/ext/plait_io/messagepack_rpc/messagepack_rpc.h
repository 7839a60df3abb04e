/*
 * MessagePack-RPC, without IO: finds where messages end and what their envelope says, without decoding what is in them.
 * libc only, no allocation, no global state. The pure-Ruby twin is plait-rpc/lib/plait/protocols/messagepack_rpc/.
 *
 *     uint32_t levels[100];                                  // limits.nesting of them
 *     struct mprpc_scan scan;
 *     mprpc_start(&scan, &mprpc_default_limits, levels, 64 * 1024);   // for each message
 *     int event = mprpc_scan(&scan, data, size);             // again with more bytes while it is MPRPC_MORE
 *     if (event < 0) … mprpc_rule(event)->text, scan.error_at …
 *     if (event == MPRPC_MESSAGE) … scan.kind, scan.id, data + scan.value.at …; data + scan.at is the next message
 *     if (event == MPRPC_LARGE) {                            // optional: go on as with MPRPC_MORE instead
 *         … scan.large: data[large.begins … size) are its first bytes, large.size it has in all; put them where they belong
 *         mprpc_take_out(&scan, data + scan.large.at, 0);    // a mark takes its place: scan.at bytes of the data are left
 *         … receive the rest of it there, and what comes behind it into data, behind the mark
 *     }
 *
 * What comes out depends on the bytes alone and not on how they were cut, errors and their offsets included; only
 * MPRPC_LARGE is not reported for a string that is here as a whole.
 */
#ifndef PLAIT_MESSAGEPACK_RPC_H
#define PLAIT_MESSAGEPACK_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- limits ---- */

/* Each has a rule of its own that is broken when it is exceeded. */
struct mprpc_limits {
    uint64_t message;     /* bytes of a message, what was taken out of it counted; at most MPRPC_LARGEST_MESSAGE */
    uint32_t nesting;     /* containers within one another in a value of the envelope, params included */
    uint32_t elements;    /* of all containers of a message together; a pair of a map counts as two */
    uint32_t method_name; /* bytes of a method's name */
};

#define MPRPC_LARGEST_MESSAGE (UINT64_MAX >> 2)

/* message 256 MiB, nesting 100, elements 4 Mi, method_name 1 KiB */
extern const struct mprpc_limits mprpc_default_limits;

/* ---- rules: what an error says ---- */

struct mprpc_rule {
    const char *name;    /* "never_used" */
    const char *text;    /* what is wrong, for a person */
    const char *section; /* "MessagePack, formats" */
    const char *limit;   /* the member of mprpc_limits that raises it, or NULL */
};

/* X(constant, name, section, limit, text) */
#define MPRPC_RULES(X)                                                                                                    \
    X(NEVER_USED, "never_used", "MessagePack, formats", NULL, "the byte 0xc1, which begins no value")                     \
    X(NOT_ARRAY, "not_array", "MessagePack-RPC, messages", NULL, "a message that is not an array")                        \
    X(SHAPE, "shape", "MessagePack-RPC, messages", NULL,                                                                  \
      "a message of another size than its kind has: 4 for a request or a response, 3 for a notification")                 \
    X(KIND, "kind", "MessagePack-RPC, messages", NULL, "a kind of message other than 0, 1 and 2")                         \
    X(ID, "id", "MessagePack-RPC, messages", NULL, "a message id that is not an unsigned integer")                        \
    X(METHOD, "method", "MessagePack-RPC, messages", NULL, "a method that is not a string")                               \
    X(PARAMS, "params", "MessagePack-RPC, messages", NULL, "params that are not an array")                                \
    X(MESSAGE_LIMIT, "message_limit", "MessagePack, limitation", "message", "a message over the limit")                   \
    X(NESTING_LIMIT, "nesting_limit", "MessagePack, limitation", "nesting", "containers nested deeper than the limit")    \
    X(ELEMENTS_LIMIT, "elements_limit", "MessagePack, limitation", "elements",                                            \
      "containers with more elements in all than the limit")                                                              \
    X(METHOD_LIMIT, "method_limit", "MessagePack-RPC, messages", "method_name", "a method's name over the limit")              \
    X(TRUNCATED, "truncated", "MessagePack-RPC, messages", NULL, "the input ended inside a message")

/* MPRPC_E_NEVER_USED …; functions return them negated. */
enum mprpc_rule_number {
    MPRPC_OK,
#define MPRPC_RULE_NUMBER(constant, name, section, limit, text) MPRPC_E_##constant,
    MPRPC_RULES(MPRPC_RULE_NUMBER)
#undef MPRPC_RULE_NUMBER
    MPRPC_RULE_COUNT
};

/* What a negative result means; NULL for one that is none. */
const struct mprpc_rule *mprpc_rule(int result);

/* ---- messages as they come ---- */

/* As they stand in the envelope. */
enum mprpc_kind { MPRPC_REQUEST, MPRPC_RESPONSE, MPRPC_NOTIFICATION, MPRPC_UNKNOWN };

/* Which element of the envelope is scanned. */
enum mprpc_stage { MPRPC_IN_ARRAY, MPRPC_IN_KIND, MPRPC_IN_ID, MPRPC_IN_METHOD, MPRPC_IN_ERROR, MPRPC_IN_VALUE,
                   MPRPC_AT_END, MPRPC_BROKEN };

enum mprpc_event {
    MPRPC_MORE,    /* more bytes are needed */
    MPRPC_MESSAGE, /* complete: scan.at bytes */
    MPRPC_LARGE    /* scan.large: a string that is not all here begins; reported once for each */
};

struct mprpc_span {
    size_t at;   /* in the data */
    size_t size; /* bytes */
};

/* A string of at least scan.threshold bytes (str 8 to 32 or bin: a fixstr never is one), of which not all are here. */
struct mprpc_large {
    size_t at;     /* of its header, in the data */
    size_t begins; /* of its first byte, in the data; may be behind what is here */
    uint32_t size; /* bytes, its header not counted */
    bool text;     /* str, not bin */
};

/* The result, valid once mprpc_scan has returned MPRPC_MESSAGE (kind, id, large: as soon as they are known), and its state. */
struct mprpc_scan {
    const struct mprpc_limits *limits;
    uint32_t *levels;         /* the caller's, limits->nesting of them: values to come behind each open container */
    uint64_t threshold;       /* a string of so many bytes is reported as large; UINT64_MAX: none */
    uint64_t id;              /* of requests and responses */
    uint64_t removed;         /* bytes of the message that are no longer in the data, modulo 2^64 */
    uint64_t at;              /* bytes of the data that are scanned; more than there are while a string is skipped */
    uint64_t grace;           /* bytes over the limit that are scanned all the same; 0: none */
    uint64_t owed;            /* values to come of containers that began since then */
    uint64_t error_at;        /* where the rule was broken, in bytes of the message */
    struct mprpc_span method; /* its name without the header: requests and notifications */
    struct mprpc_span error;  /* packed: responses */
    struct mprpc_span value;  /* packed: params or result */
    struct mprpc_large large; /* the last one reported */
    uint32_t elements;        /* of the containers so far */
    uint32_t left;            /* values to come in the innermost open container */
    uint32_t depth;           /* containers that are open */
    uint8_t kind;             /* enum mprpc_kind */
    uint8_t stage;            /* enum mprpc_stage */
    uint8_t size;             /* elements of the envelope */
    uint8_t rule;             /* that was broken; it stays so until the next start */
    uint8_t before;           /* the stage in which it was */
    bool identified;          /* id is known */
    bool clash;               /* the peer's data has an extension of the type that marks have */
};

/* Before each message; neither limits nor levels are copied. */
void mprpc_start(struct mprpc_scan *scan, const struct mprpc_limits *limits, uint32_t *levels, uint64_t threshold);

/* `data` begins with the message's first byte (see mprpc_drop); what was scanned is not scanned again. An event or a rule, negated. */
int mprpc_scan(struct mprpc_scan *scan, const char *data, size_t size);

/* At the end of the input, with `size` bytes of an unfinished message here and `missing` to come of a large string: 0 when
 * nothing of a message had come, else the rule, negated. */
int mprpc_finish(struct mprpc_scan *scan, size_t size, uint64_t missing);

/* ---- large strings, and skipped messages ---- */

/* What stands in the data for a string that was taken out: a fixext 4 of this type with its number, big-endian. */
enum { MPRPC_MARK = 6, MPRPC_MARK_TYPE = -128 };

/* After MPRPC_LARGE: writes the mark (it may need more room than the data has), and lets the scan go on behind the string. */
void mprpc_take_out(struct mprpc_scan *scan, char mark[MPRPC_MARK], uint32_t number);

/* After mprpc_take_out, with `missing` bytes of the string to come: they will come into the data again, behind the mark. */
void mprpc_put_back(struct mprpc_scan *scan, uint64_t missing);

/* The first `size` bytes of the data, at most scan.at, are gone. Later events report only kind, id and the message's end. */
void mprpc_drop(struct mprpc_scan *scan, size_t size);

/*
 * After a limit is broken: whether the scan goes on without limits.nesting, elements and method_name, once for each message. So
 * it does where it is known which request, response or notification it is. The message may have twice the bytes of
 * limits.message, or so many behind the string that is too long. What comes is to be dropped.
 */
bool mprpc_excuse(struct mprpc_scan *scan);
bool mprpc_excusable(const struct mprpc_scan *scan);

/* Memory to reserve for a string of `size` bytes when `now` are reserved and full: never more than 64 MiB, or twice of what
 * has come, on the peer's word. */
size_t mprpc_reserve(size_t size, size_t now);

/* ---- messages as they are sent ---- */

enum { MPRPC_HEAD = 11, MPRPC_STRING_HEADER = 5 };

/* Array header, kind and id (not of a notification); returns the bytes. */
size_t mprpc_write_head(char head[MPRPC_HEAD], enum mprpc_kind kind, uint64_t id);

/* Of a str of `size` bytes; raw: for a peer that knows no str 8. Returns the bytes. */
size_t mprpc_write_string_header(char header[MPRPC_STRING_HEADER], uint32_t size, bool raw);

/* Whether a packed value is an array, to judge by its first byte. */
bool mprpc_begins_array(unsigned char first);

#endif
