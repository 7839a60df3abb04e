/*
 * HTTP/1.1 (RFC 9112, 9110) for both roles, without IO: bytes in, slices out. libc only, no allocation, no global state.
 * The caller owns every buffer; nothing is copied. The pure-Ruby twin is lib/plait/protocols/http1/.
 *
 *     struct http1_header table[128];
 *     struct http1_head head;
 *     http1_head_init(&head, HTTP1_RESPONSE, &http1_default_limits, table, 128);
 *     http1_head_start(&head, HTTP1_TO_ANY);                 // for each message
 *     ptrdiff_t n = http1_head_parse(&head, data, size);     // again with more bytes while it is 0
 *     if (n < 0) … http1_rule(n)->text, head.error_at …
 *
 *     struct http1_body body;
 *     int event = http1_body_start(&body, &head);            // < 0: longer than the limit
 *     while ((event = http1_body_next(&body, data + n, size - n, &piece)) != HTTP1_MORE) {
 *         if (event < 0) … http1_rule(event)->text, at n + piece.at …
 *         if (event == HTTP1_DATA) … data + n + piece.at, piece.size …
 *         n += piece.consumed;
 *         if (event == HTTP1_DONE) break;                    // data + n: the next message
 *     }
 *     // HTTP1_MORE: all was consumed. At the end of the input: http1_head_finish, http1_body_finish.
 *
 * What comes out depends on the bytes alone and not on how they were cut, errors and their offsets included.
 */
#ifndef PLAIT_HTTP1_H
#define PLAIT_HTTP1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- limits ---- */

/* Each has a rule of its own that is broken when it is exceeded. */
struct http1_limits {
    uint64_t body;             /* bytes of a body, its framing not counted; UINT64_MAX: none */
    uint32_t start_line;       /* bytes of a request or status line, CRLF not counted */
    uint32_t head;             /* bytes of a head, start line and last CRLF counted; at most HTTP1_LARGEST_HEAD */
    uint32_t headers;          /* fields of a head, and of a trailer section; the table's capacity counts too */
    uint32_t interim;          /* 1xx responses before the final one */
    uint32_t chunk_extensions; /* bytes of all chunk extensions of one body together */
    uint32_t trailer;          /* bytes of a trailer section, last CRLF not counted */
    bool lenient;              /* responses: chunk lines may end with LF alone, or with blanks (curl reads both) */
};

enum { HTTP1_LARGEST_HEAD = (1 << 24) - 1 };

#define HTTP1_UNSAID UINT32_MAX

/* body 1 GiB, start_line 8 KiB, head 64 KiB, headers 128, interim 32, chunk_extensions 16 KiB, trailer 16 KiB */
extern const struct http1_limits http1_default_limits;

/* ---- rules: what an error says ---- */

struct http1_rule {
    const char *name;    /* "bare_cr" */
    const char *text;    /* what is wrong, for a person */
    const char *section; /* "RFC 9112 §2.2" */
    const char *limit;   /* the member of http1_limits that raises it, or NULL */
    int status;          /* what a server answers */
};

/* X(constant, name, section, limit, status, text) */
#define HTTP1_RULES(X)                                                                                                    \
    X(BARE_CR, "bare_cr", "RFC 9112 §2.2", NULL, 400, "a CR that no LF follows")                                          \
    X(BARE_LF, "bare_lf", "RFC 9112 §2.2", NULL, 400, "a line that LF alone ends: CRLF is required")                      \
    X(CONTROL, "control", "RFC 9110 §5.5", NULL, 400, "a control byte where none may be")                                 \
    X(NOT_HTTP, "not_http", "RFC 9112 §4", NULL, 400, "no status line: this is HTTP/0.9 or no HTTP at all")               \
    X(VERSION, "version", "RFC 9112 §2.3", NULL, 505, "a version other than HTTP/1.0 and HTTP/1.1")                       \
    X(STATUS_LINE, "status_line", "RFC 9112 §4", NULL, 400, "a status line that is not: version SP status SP reason")     \
    X(STATUS, "status", "RFC 9112 §4", NULL, 400, "a status that is not three digits, from 100")                          \
    X(REQUEST_LINE, "request_line", "RFC 9112 §3", NULL, 400,                                                             \
      "a request line that is not: method SP target SP version")                                                          \
    X(NO_VERSION, "no_version", "RFC 9112 §3", NULL, 400, "a request line without a version, as in HTTP/0.9")             \
    X(PREFACE, "preface", "RFC 9113 §3.4", NULL, 505, "the preface of HTTP/2, on a connection that speaks HTTP/1.1")      \
    X(METHOD, "method", "RFC 9112 §3.1", NULL, 400, "a method that is not a token")                                       \
    X(TARGET, "target", "RFC 9112 §3.2", NULL, 400, "a byte that can't be in a request target")                           \
    X(TARGET_FORM, "target_form", "RFC 9112 §3.2", NULL, 400, "a request target whose form its method does not have")     \
    X(LEADING_SPACE, "leading_space", "RFC 9112 §2.2", NULL, 400, "white space before the first field")                   \
    X(OBS_FOLD, "obs_fold", "RFC 9112 §5.2", NULL, 400, "a field value folded over lines")                                \
    X(NO_COLON, "no_colon", "RFC 9112 §5", NULL, 400, "a field line without a colon")                                     \
    X(EMPTY_NAME, "empty_name", "RFC 9112 §5", NULL, 400, "a field without a name")                                       \
    X(SPACE_IN_NAME, "space_in_name", "RFC 9112 §5.1", NULL, 400, "white space in a field name or before its colon")      \
    X(FIELD_NAME, "field_name", "RFC 9110 §5.1", NULL, 400, "a field name that is not a token")                           \
    X(FIELD_VALUE, "field_value", "RFC 9110 §5.5", NULL, 400, "a field value with CR, LF, NUL or another control byte")   \
    X(CONTENT_LENGTH, "content_length", "RFC 9110 §8.6", NULL, 400, "a Content-Length that is not digits")                \
    X(CONTENT_LENGTH_OVERFLOW, "content_length_overflow", "RFC 9110 §8.6", NULL, 413, "a Content-Length over 2^63 - 1")   \
    X(CONTENT_LENGTH_CONFLICT, "content_length_conflict", "RFC 9112 §6.3", NULL, 400, "Content-Lengths that differ")      \
    X(TWO_LENGTHS, "two_lengths", "RFC 9112 §6.3", NULL, 400, "both Transfer-Encoding and Content-Length")                \
    X(TRANSFER_CODING, "transfer_coding", "RFC 9112 §6.1", NULL, 501, "a transfer coding other than chunked")             \
    X(CHUNKED_NOT_LAST, "chunked_not_last", "RFC 9112 §6.3", NULL, 400, "chunked is not the last transfer coding")        \
    X(CHUNKED_TWICE, "chunked_twice", "RFC 9112 §6.1", NULL, 400, "chunked is applied more than once")                    \
    X(OLD_TRANSFER_ENCODING, "old_transfer_encoding", "RFC 9112 §6.1", NULL, 400,                                         \
      "Transfer-Encoding in an HTTP/1.0 message")                                                                         \
    X(NO_HOST, "no_host", "RFC 9112 §3.2", NULL, 400, "an HTTP/1.1 request without Host")                                 \
    X(TWO_HOSTS, "two_hosts", "RFC 9112 §3.2", NULL, 400, "more than one Host")                                           \
    X(HOST, "host", "RFC 9112 §3.2", NULL, 400, "a Host that is not: host [:port]")                                       \
    X(UNASKED_UPGRADE, "unasked_upgrade", "RFC 9110 §7.8", NULL, 400, "101 to a request that offered no upgrade")         \
    X(NO_UPGRADE, "no_upgrade", "RFC 9110 §7.8", NULL, 400, "101 without an Upgrade field")                               \
    X(CHUNK_SIZE, "chunk_size", "RFC 9112 §7.1", NULL, 400, "a chunk size that is not hexadecimal digits")                \
    X(CHUNK_SIZE_OVERFLOW, "chunk_size_overflow", "RFC 9112 §7.1", NULL, 413,                                             \
      "a chunk size over 2^63 - 1, or of more than 16 digits")                                                            \
    X(CHUNK_EXTENSION, "chunk_extension", "RFC 9112 §7.1.1", NULL, 400, "a malformed chunk extension")                    \
    X(CHUNK_END, "chunk_end", "RFC 9112 §7.1", NULL, 400, "no CRLF where the chunk ends")                                 \
    X(START_LINE_LIMIT, "start_line_limit", "RFC 9112 §3", "start_line", 414, "a start line over the limit")              \
    X(HEAD_LIMIT, "head_limit", "RFC 9110 §5.4", "head", 431, "a head over the limit")                                    \
    X(HEADERS_LIMIT, "headers_limit", "RFC 9110 §5.4", "headers", 431, "more fields than the limit")                      \
    X(INTERIM_LIMIT, "interim_limit", "RFC 9110 §15.2", "interim", 502, "more 1xx responses than the limit")              \
    X(CHUNK_EXTENSIONS_LIMIT, "chunk_extensions_limit", "RFC 9112 §7.1.1", "chunk_extensions", 413,                       \
      "chunk extensions over the limit")                                                                                  \
    X(TRAILER_LIMIT, "trailer_limit", "RFC 9112 §7.1.2", "trailer", 431, "a trailer section over the limit")              \
    X(BODY_LIMIT, "body_limit", "RFC 9110 §15.5.14", "body", 413, "a body over the limit")                                \
    X(TRUNCATED_HEAD, "truncated_head", "RFC 9112 §8", NULL, 400, "the input ended inside a head")                        \
    X(TRUNCATED_LENGTH, "truncated_length", "RFC 9112 §8", NULL, 400, "the input ended before Content-Length bytes")      \
    X(TRUNCATED_CHUNKED, "truncated_chunked", "RFC 9112 §8", NULL, 400, "the input ended before the last chunk")

/* HTTP1_E_BARE_CR …; functions return them negated. */
enum http1_rule_number {
    HTTP1_OK,
#define HTTP1_RULE_NUMBER(constant, name, section, limit, status, text) HTTP1_E_##constant,
    HTTP1_RULES(HTTP1_RULE_NUMBER)
#undef HTTP1_RULE_NUMBER
    HTTP1_RULE_COUNT
};

/* What a negative result of any function means; NULL for one that is none. */
const struct http1_rule *http1_rule(ptrdiff_t result);

/* ---- heads ---- */

/* Fields that are recognised while they are read. X(constant, name, its first, last letter, and length) */
#define HTTP1_KNOWN_FIELDS(X)                                                                                             \
    X(HOST, "host", 'h', 't', 4)                                                                                          \
    X(CONNECTION, "connection", 'c', 'n', 10)                                                                             \
    X(CONTENT_LENGTH, "content-length", 'c', 'h', 14)                                                                     \
    X(TRANSFER_ENCODING, "transfer-encoding", 't', 'g', 17)                                                               \
    X(UPGRADE, "upgrade", 'u', 'e', 7)                                                                                    \
    X(EXPECT, "expect", 'e', 't', 6)                                                                                      \
    X(TE, "te", 't', 'e', 2)                                                                                              \
    X(TRAILER, "trailer", 't', 'r', 7)                                                                                    \
    X(KEEP_ALIVE, "keep-alive", 'k', 'e', 10)                                                                             \
    X(CONTENT_TYPE, "content-type", 'c', 'e', 12)                                                                         \
    X(CONTENT_ENCODING, "content-encoding", 'c', 'g', 16)                                                                 \
    X(CONTENT_RANGE, "content-range", 'c', 'e', 13)                                                                       \
    X(LOCATION, "location", 'l', 'n', 8)                                                                                  \
    X(RETRY_AFTER, "retry-after", 'r', 'r', 11)                                                                           \
    X(SET_COOKIE, "set-cookie", 's', 'e', 10)                                                                             \
    X(COOKIE, "cookie", 'c', 'e', 6)                                                                                      \
    X(DATE, "date", 'd', 'e', 4)                                                                                          \
    X(SERVER, "server", 's', 'r', 6)                                                                                      \
    X(ETAG, "etag", 'e', 'g', 4)                                                                                          \
    X(VARY, "vary", 'v', 'y', 4)                                                                                          \
    X(CACHE_CONTROL, "cache-control", 'c', 'l', 13)                                                                       \
    X(LAST_MODIFIED, "last-modified", 'l', 'd', 13)                                                                       \
    X(ACCEPT_RANGES, "accept-ranges", 'a', 's', 13)                                                                       \
    X(ACCEPT, "accept", 'a', 't', 6)                                                                                      \
    X(ACCEPT_ENCODING, "accept-encoding", 'a', 'g', 15)                                                                   \
    X(ACCEPT_LANGUAGE, "accept-language", 'a', 'e', 15)                                                                   \
    X(USER_AGENT, "user-agent", 'u', 't', 10)                                                                             \
    X(REFERER, "referer", 'r', 'r', 7)                                                                                    \
    X(ORIGIN, "origin", 'o', 'n', 6)                                                                                      \
    X(AUTHORIZATION, "authorization", 'a', 'n', 13)                                                                       \
    X(IF_MODIFIED_SINCE, "if-modified-since", 'i', 'e', 17)                                                               \
    X(IF_NONE_MATCH, "if-none-match", 'i', 'h', 13)                                                                       \
    X(WWW_AUTHENTICATE, "www-authenticate", 'w', 'e', 16)                                                                 \
    X(PROXY_AUTHENTICATE, "proxy-authenticate", 'p', 'e', 18)                                                             \
    X(PERSISTENT_AUTH, "persistent-auth", 'p', 'h', 15)

/* HTTP1_FIELD_HOST …; fits the bits of `seen`. */
enum http1_known {
    HTTP1_FIELD_OTHER,
#define HTTP1_KNOWN_NUMBER(constant, name, first, last, length) HTTP1_FIELD_##constant,
    HTTP1_KNOWN_FIELDS(HTTP1_KNOWN_NUMBER)
#undef HTTP1_KNOWN_NUMBER
    HTTP1_FIELD_COUNT
};

struct http1_slice {
    uint32_t at;   /* from the first byte that was given for this head */
    uint32_t size; /* bytes */
};

struct http1_header {
    uint32_t name_at;        /* from the first byte that was given for this head */
    uint32_t name_size : 24; /* bytes, at least 1 */
    uint32_t known : 8;      /* enum http1_known */
    uint32_t value_at;       /* without the white space around the value */
    uint32_t value_size;     /* bytes, may be 0 */
};

enum http1_role {
    HTTP1_RESPONSE, /* a client: parses responses */
    HTTP1_REQUEST   /* a server: parses requests */
};

/* What the request was whose response is parsed; bits. A server gives HTTP1_TO_ANY. */
enum http1_request_kind {
    HTTP1_TO_ANY = 0,
    HTTP1_TO_HEAD = 1,
    HTTP1_TO_CONNECT = 2,
    HTTP1_TO_UPGRADE = 4 /* it had an Upgrade field: 101 is an answer to it */
};

/* How the end of the body is found (RFC 9112 §6.3). */
enum http1_framing {
    HTTP1_NO_BODY,
    HTTP1_LENGTH,      /* content_length bytes, may be 0 */
    HTTP1_CHUNKED,
    HTTP1_UNTIL_CLOSE, /* responses only */
    HTTP1_TUNNEL       /* 101, or 2xx to CONNECT: what follows is another protocol */
};

/* The result, valid once http1_head_parse has returned more than 0, and before that its state. */
struct http1_head {
    const struct http1_limits *limits;
    struct http1_header *table; /* the caller's; filled in the order of the message */
    uint32_t capacity;          /* of the table */
    uint32_t count;             /* headers in the table */
    struct http1_slice method;  /* requests */
    struct http1_slice target;  /* requests */
    struct http1_slice reason;  /* responses; may be empty */
    uint64_t content_length;    /* if CONTENT_LENGTH is in `seen`, whatever the framing */
    uint64_t seen;              /* bit n: a field with `known` n is in the table */
    uint32_t error_at;          /* where the rule was broken, from the first byte given for this head */
    uint32_t at;                /* state: bytes that need not be scanned again */
    uint32_t line;              /* state: where the current line begins */
    uint32_t interims;          /* state: 1xx so far */
    uint32_t kept_for;          /* responses: seconds for which the peer keeps an idle connection, or HTTP1_UNSAID */
    uint32_t kept_times;        /* responses: further requests that the peer takes on the connection, or HTTP1_UNSAID */
    uint16_t status;            /* responses */
    uint8_t role;               /* enum http1_role */
    uint8_t request;            /* enum http1_request_kind, bits */
    uint8_t phase;              /* state */
    uint8_t rule;               /* state: the rule that was broken; it stays so until the next start */
    uint8_t minor;              /* HTTP/1.minor: 0 or 1 */
    uint8_t framing;            /* enum http1_framing */
    bool chunked;               /* the transfer codings end with chunked, whatever the framing */
    bool persistent;            /* the connection can be used again after this message (RFC 9112 §9.3) */
    bool interim;               /* 1xx but not 101: another head follows, see http1_head_continue */
    bool upgrade;               /* requests: HTTP/1.1 with Upgrade, and Connection names it; responses: 101 */
    bool expect_continue;       /* requests: HTTP/1.1 with Expect: 100-continue */
    bool close;                 /* Connection has close */
    bool keep_alive;            /* Connection has keep-alive */
    bool names_upgrade;         /* Connection has upgrade */
    bool logged_in;             /* responses: the connection belongs to one user, see Persistence in Ruby */
};

/* Once for a connection; neither limits nor table are copied. */
void http1_head_init(struct http1_head *head, enum http1_role role, const struct http1_limits *limits,
                     struct http1_header *table, uint32_t capacity);

/* Before each message; `request` is an or of enum http1_request_kind. */
void http1_head_start(struct http1_head *head, unsigned request);

/* After an interim head: the next head to the same request. */
void http1_head_continue(struct http1_head *head);

/*
 * `data` always begins with the head's first byte; what was already scanned is not scanned again. Returns the head's
 * bytes, 0 when more are needed, or a broken rule, negated, at head->error_at.
 */
ptrdiff_t http1_head_parse(struct http1_head *head, const char *data, size_t size);

/*
 * At the end of the input, when the last parse was given `size` bytes and returned 0: 0 when nothing of a head had come
 * (the connection was closed between two messages), else the rule, negated.
 */
int http1_head_finish(struct http1_head *head, size_t size);

/* The first field of a kind, or NULL. */
const struct http1_header *http1_head_find(const struct http1_head *head, enum http1_known known);

/* enum http1_known of a name in any case. */
unsigned http1_known_field(const char *name, size_t size);

/* ---- bodies ---- */

struct http1_body {
    const struct http1_limits *limits;
    uint64_t left;       /* data bytes still to come, of the body (HTTP1_LENGTH) or of the current chunk */
    uint64_t total;      /* data bytes so far; of a chunked body the announced bytes */
    uint32_t extensions; /* bytes of chunk extensions so far */
    uint32_t trailer;    /* bytes of the trailer section so far */
    uint32_t fields;     /* trailer fields so far */
    uint8_t phase;       /* state */
    uint8_t digits;      /* state: of the chunk size */
    uint8_t rule;        /* state: the rule that was broken; it stays so */
    bool pardoned;       /* only a lenient reader takes it: the connection has no next message */
};

enum http1_event {
    HTTP1_MORE,    /* all bytes are consumed, and the body isn't over */
    HTTP1_DATA,    /* piece: bytes of the body, at least one */
    HTTP1_TRAILER, /* piece: bytes of the trailer section, well formed, cut anywhere; see http1_fields_parse */
    HTTP1_DONE     /* the message is complete */
};

struct http1_piece {
    size_t at;       /* where the piece begins in the bytes given; of an error: where the rule was broken */
    size_t size;     /* bytes of the piece */
    size_t consumed; /* bytes given that are done with, the piece included */
};

/* Of a complete head, not an interim one. Returns 0, or -HTTP1_E_BODY_LIMIT for a length that is over it. */
int http1_body_start(struct http1_body *body, const struct http1_head *head);

/* The next event of these bytes, or a broken rule, negated. Call it again with what is left after `consumed`. */
int http1_body_next(struct http1_body *body, const char *data, size_t size, struct http1_piece *piece);

/* At the end of the input: 0 when the message is complete, else the rule (truncated_…), negated. */
int http1_body_finish(struct http1_body *body);

/* Whether nothing more belongs to it: no call is needed to see HTTP1_DONE after the last byte of HTTP1_LENGTH. */
bool http1_body_done(const struct http1_body *body);

/* Data bytes that can be read straight to where they belong and then given to http1_body_next; 0 when unknown. */
uint64_t http1_body_expects(const struct http1_body *body);

/*
 * The fields of a whole trailer section, its pieces put together: fills the table, returns how many there are, or a
 * broken rule, negated.
 */
ptrdiff_t http1_fields_parse(const char *data, size_t size, struct http1_header *table, uint32_t capacity);

/* ---- what we send: 0, or the rule it would break, negated ---- */

int http1_check_method(const char *data, size_t size);
int http1_check_target(const char *method, size_t method_size, const char *target, size_t target_size);

/* Of a target of allowed bytes, not empty: whether the method has targets of this form. */
int http1_check_form(const char *method, size_t method_size, const char *target, size_t target_size);
int http1_check_host(const char *data, size_t size);
int http1_check_name(const char *data, size_t size);
int http1_check_value(const char *data, size_t size);

enum { HTTP1_CHUNK_LINE = 18 };

/* Writes the line before a chunk of `size` bytes, such as "1f\r\n"; returns its bytes. After the chunk: CRLF. */
size_t http1_chunk_line(char line[HTTP1_CHUNK_LINE], uint64_t size);

#endif
