/* Heads: the start line, the fields, and what they say together. */
#include "http1_syntax.h"

#include <string.h>

#include "http1_framing.h"

enum phase { START_LINE, FIELDS, COMPLETE, BROKEN };

void http1_head_init(struct http1_head *head, enum http1_role role, const struct http1_limits *limits,
                     struct http1_header *table, uint32_t capacity) {
    memset(head, 0, sizeof *head);
    head->role = (uint8_t)role;
    head->limits = limits;
    head->table = table;
    head->capacity = capacity < limits->headers ? capacity : limits->headers;
}

static void http1_head_begin(struct http1_head *head, uint8_t request, uint32_t interims) {
    struct http1_head fresh = {
        .limits = head->limits,
        .table = head->table,
        .capacity = head->capacity,
        .role = head->role,
        .request = request,
        .interims = interims,
        .kept_for = HTTP1_UNSAID,
        .kept_times = HTTP1_UNSAID,
    };
    *head = fresh;
}

void http1_head_start(struct http1_head *head, unsigned request) {
    http1_head_begin(head, (uint8_t)request, 0);
}

void http1_head_continue(struct http1_head *head) {
    http1_head_begin(head, head->request, head->interims + 1);
}

static int http1_head_fail(struct http1_head *head, int broken, size_t at) {
    head->phase = BROKEN;
    head->rule = (uint8_t)-broken;
    head->error_at = (uint32_t)at;
    return broken;
}

/* The first bytes must begin a status line: a peer that speaks something else is found out before it ends a line. */
static int http1_head_check_beginning(struct http1_head *head, const char *data, size_t size) {
    static const char beginning[] = "HTTP/";
    for (size_t i = head->at; i < size && i < sizeof beginning - 1; i++) {
        if (data[i] != beginning[i]) return http1_head_fail(head, -HTTP1_E_NOT_HTTP, i);
    }
    return 0;
}

/* The version at `at`: returns where it ends, and in *broken whether it is one that we speak. */
static size_t http1_head_parse_version(struct http1_head *head, const char *data, size_t at, size_t end, int *broken) {
    size_t from = at + 5;
    size_t to = from;
    while (to < end && (http1_is(data[to], CLASS_DIGIT) || data[to] == '.')) to++;

    bool known = to - from == 3 && data[from] == '1' && data[from + 1] == '.' && (data[from + 2] | 1) == '1';
    *broken = known ? 0 : http1_head_fail(head, -HTTP1_E_VERSION, from);
    if (known) head->minor = (uint8_t)(data[from + 2] - '0');
    return to;
}

/* A missing space before an empty reason is let pass: servers leave it out, and nothing depends on it. */
static int http1_head_parse_status_line(struct http1_head *head, const char *data, size_t end) {
    if (end < 5) return http1_head_fail(head, -HTTP1_E_NOT_HTTP, end);

    int broken;
    size_t space = http1_head_parse_version(head, data, 0, end, &broken);
    if (broken) return broken;
    if (space == end || data[space] != ' ') return http1_head_fail(head, -HTTP1_E_STATUS_LINE, space);

    size_t digits = http1_run(data, 9, end, CLASS_DIGIT) - 9;
    if (digits != 3 || data[9] == '0') return http1_head_fail(head, -HTTP1_E_STATUS, 9);
    if (end > 12 && data[12] != ' ') return http1_head_fail(head, -HTTP1_E_STATUS_LINE, 12);

    head->status = (uint16_t)((data[9] - '0') * 100 + (data[10] - '0') * 10 + (data[11] - '0'));
    head->reason.at = end > 12 ? 13 : 12;
    head->reason.size = (uint32_t)end - head->reason.at;
    broken = http1_judge_status(head);
    return broken ? http1_head_fail(head, broken, 9) : 0;
}

/* What follows the target. */
static int http1_head_parse_request_version(struct http1_head *head, const char *data, size_t line, size_t at, size_t end) {
    if (end - at < 5 || memcmp(data + at, "HTTP/", 5) != 0) return http1_head_fail(head, -HTTP1_E_REQUEST_LINE, at);
    if (end - line == 14 && memcmp(data + line, "PRI * HTTP/2.0", 14) == 0) {
        return http1_head_fail(head, -HTTP1_E_PREFACE, line);
    }

    int broken;
    size_t version_end = http1_head_parse_version(head, data, at, end, &broken);
    if (broken) return broken;
    return version_end == end ? 0 : http1_head_fail(head, -HTTP1_E_REQUEST_LINE, version_end);
}

static int http1_head_parse_request_line(struct http1_head *head, const char *data, size_t line, size_t end) {
    size_t method_end = http1_run(data, line, end, CLASS_TOKEN);
    if (method_end == end) return http1_head_fail(head, -HTTP1_E_REQUEST_LINE, end);
    if (method_end == line || data[method_end] != ' ') return http1_head_fail(head, -HTTP1_E_METHOD, method_end);

    size_t target = method_end + 1;
    size_t target_end = http1_run(data, target, end, CLASS_TARGET | CLASS_RAW);
    if (target_end == target && (target_end == end || data[target_end] == ' ')) {
        return http1_head_fail(head, -HTTP1_E_REQUEST_LINE, target_end);
    }
    if (target_end == end) return http1_head_fail(head, -HTTP1_E_NO_VERSION, end);
    if (data[target_end] != ' ') return http1_head_fail(head, -HTTP1_E_TARGET, target_end);

    int broken = http1_head_parse_request_version(head, data, line, target_end + 1, end);
    if (broken) return broken;

    head->method = (struct http1_slice){(uint32_t)line, (uint32_t)(method_end - line)};
    head->target = (struct http1_slice){(uint32_t)target, (uint32_t)(target_end - target)};
    broken = http1_check_form(data + line, head->method.size, data + target, head->target.size);
    return broken ? http1_head_fail(head, broken, target) : 0;
}

/* One empty line before a request is skipped (RFC 9112 §2.2): old clients end a body with a CRLF too many. */
static int http1_head_parse_start_line(struct http1_head *head, const char *data, size_t end) {
    if (head->role == HTTP1_RESPONSE) {
        head->phase = FIELDS;
        return http1_head_parse_status_line(head, data, end);
    }
    if (end == 0) return 0;

    head->phase = FIELDS;
    return http1_head_parse_request_line(head, data, head->line, end);
}

static int http1_head_parse_field(struct http1_head *head, const char *data, size_t end) {
    size_t error_at = head->line;
    if (http1_is_space(data[head->line])) {
        return http1_head_fail(head, head->count ? -HTTP1_E_OBS_FOLD : -HTTP1_E_LEADING_SPACE, error_at);
    }
    if (head->count == head->capacity) return http1_head_fail(head, -HTTP1_E_HEADERS_LIMIT, error_at);

    struct http1_header *header = &head->table[head->count];
    int broken = http1_parse_field(data, head->line, end, header, &error_at);
    if (broken) return http1_head_fail(head, broken, error_at);

    broken = http1_judge_field(head, data, header, &error_at);
    if (broken) return http1_head_fail(head, broken, error_at);

    head->seen |= 1ULL << header->known;
    head->count++;
    return 0;
}

/* The empty line. */
static int http1_head_conclude(struct http1_head *head) {
    int broken = http1_judge_head(head);
    if (broken) return http1_head_fail(head, broken, head->line);

    head->phase = COMPLETE;
    return 0;
}

static int http1_head_parse_line(struct http1_head *head, const char *data, size_t end) {
    if (head->phase == START_LINE) return http1_head_parse_start_line(head, data, end);
    return end == head->line ? http1_head_conclude(head) : http1_head_parse_field(head, data, end);
}

/* The line from head->line: 1 with its end in *end, 0 when more bytes are needed, or a broken rule. */
static int http1_head_find_line(struct http1_head *head, const char *data, size_t size, size_t *end) {
    size_t at = head->at;
    size_t longest = (size_t)head->line + head->limits->start_line;
    bool limited = head->phase == START_LINE && size > longest;
    if (head->phase == START_LINE && head->role == HTTP1_RESPONSE) {
        int broken = http1_head_check_beginning(head, data, limited ? longest : size);
        if (broken) return broken;
    }
    if (limited && http1_scan_control(data, at, longest + 1) > longest) {
        return http1_head_fail(head, -HTTP1_E_START_LINE_LIMIT, longest);
    }
    int found = http1_scan_line(data, &at, size);
    if (found < 0) return http1_head_fail(head, found, at);

    head->at = (uint32_t)at;
    *end = at;
    return found;
}

ptrdiff_t http1_head_parse(struct http1_head *head, const char *data, size_t size) {
    size_t largest = head->limits->head < HTTP1_LARGEST_HEAD ? head->limits->head : HTTP1_LARGEST_HEAD;
    size_t window = size < largest ? size : largest;
    if (head->phase == BROKEN) return -(int)head->rule;

    while (head->phase != COMPLETE) {
        size_t end;
        int found = http1_head_find_line(head, data, window, &end);
        if (found < 0) return found;
        if (found == 0) return size < largest ? 0 : http1_head_fail(head, -HTTP1_E_HEAD_LIMIT, largest);

        int broken = http1_head_parse_line(head, data, end);
        if (broken) return broken;
        head->at = head->line = (uint32_t)end + 2;
    }
    return head->at;
}

int http1_head_finish(struct http1_head *head, size_t size) {
    if (head->phase == BROKEN) return -(int)head->rule;
    if (head->phase == COMPLETE || (head->phase == START_LINE && size == head->line)) return 0;
    return http1_head_fail(head, -HTTP1_E_TRUNCATED_HEAD, size);
}

const struct http1_header *http1_head_find(const struct http1_head *head, enum http1_known known) {
    if (!(head->seen >> known & 1)) return NULL;

    const struct http1_header *header = head->table;
    while (header->known != known) header++;
    return header;
}
