/* The envelope: [0, id, method, params], [1, id, error, result], [2, method, params]. */
#include <string.h>

#include "messagepack_rpc_values.h"

enum { RESERVED_AT_ONCE = 64 << 20 };

void mprpc_start(struct mprpc_scan *scan, const struct mprpc_limits *limits, uint32_t *levels, uint64_t threshold) {
    memset(scan, 0, sizeof *scan);
    scan->limits = limits;
    scan->levels = levels;
    scan->threshold = threshold;
    scan->kind = MPRPC_UNKNOWN;
}

static int messagepack_rpc_scan_fail(struct mprpc_scan *scan, int broken, uint64_t at) {
    return mprpc_fail(scan, broken, at + scan->removed);
}

/* ---- each element; 1: the next stage can begin ---- */

static int messagepack_rpc_scan_array(struct mprpc_scan *scan, const struct mprpc_view *view) {
    uint32_t count;
    if (!mprpc_begins_array(view->data[scan->at])) return messagepack_rpc_scan_fail(scan, -MPRPC_E_NOT_ARRAY, scan->at);
    if (mprpc_read_array(scan, view, &count) == MPRPC_MORE) return MPRPC_MORE;
    if (count != 3 && count != 4) return messagepack_rpc_scan_fail(scan, -MPRPC_E_SHAPE, 0);

    scan->size = (uint8_t)count;
    scan->stage = MPRPC_IN_KIND;
    return 1;
}

static int messagepack_rpc_scan_kind(struct mprpc_scan *scan, const struct mprpc_view *view) {
    uint64_t at = scan->at;
    uint64_t kind;
    bool unsigned_integer;
    if (mprpc_read_unsigned(scan, view, &kind, &unsigned_integer) == MPRPC_MORE) return MPRPC_MORE;
    if (!unsigned_integer || kind > MPRPC_NOTIFICATION) return messagepack_rpc_scan_fail(scan, -MPRPC_E_KIND, at);
    if (scan->size != (kind == MPRPC_NOTIFICATION ? 3 : 4)) return messagepack_rpc_scan_fail(scan, -MPRPC_E_SHAPE, at);

    scan->kind = (uint8_t)kind;
    scan->stage = kind == MPRPC_NOTIFICATION ? MPRPC_IN_METHOD : MPRPC_IN_ID;
    return 1;
}

static void messagepack_rpc_scan_begin_value(struct mprpc_scan *scan, enum mprpc_stage stage, struct mprpc_span *span) {
    scan->stage = (uint8_t)stage;
    scan->left = 1;
    span->at = (size_t)scan->at;
}

static int messagepack_rpc_scan_id(struct mprpc_scan *scan, const struct mprpc_view *view) {
    uint64_t at = scan->at;
    bool unsigned_integer;
    if (mprpc_read_unsigned(scan, view, &scan->id, &unsigned_integer) == MPRPC_MORE) return MPRPC_MORE;
    if (!unsigned_integer) return messagepack_rpc_scan_fail(scan, -MPRPC_E_ID, at);

    scan->identified = true;
    if (scan->kind == MPRPC_REQUEST) scan->stage = MPRPC_IN_METHOD;
    else messagepack_rpc_scan_begin_value(scan, MPRPC_IN_ERROR, &scan->error);
    return 1;
}

static int messagepack_rpc_scan_method(struct mprpc_scan *scan, const struct mprpc_view *view) {
    uint32_t size;
    unsigned header;
    int result = mprpc_read_string(scan, view, &size, &header);
    if (header == 0) return messagepack_rpc_scan_fail(scan, -MPRPC_E_METHOD, scan->at);
    if (result == MPRPC_MORE) return MPRPC_MORE;
    if (size > scan->limits->method_name && !scan->grace) {
        return messagepack_rpc_scan_fail(scan, -MPRPC_E_METHOD_LIMIT, scan->at);
    }

    scan->method.at = (size_t)scan->at + header;
    scan->method.size = size;
    scan->at += header + size;
    messagepack_rpc_scan_begin_value(scan, MPRPC_IN_VALUE, &scan->value);
    return 1;
}

static int messagepack_rpc_scan_error(struct mprpc_scan *scan, const struct mprpc_view *view) {
    int result = mprpc_skip_value(scan, view);
    if (result != 1) return result;

    scan->error.size = (size_t)scan->at - scan->error.at;
    messagepack_rpc_scan_begin_value(scan, MPRPC_IN_VALUE, &scan->value);
    return 1;
}

static int messagepack_rpc_scan_value(struct mprpc_scan *scan, const struct mprpc_view *view) {
    bool params = scan->kind != MPRPC_RESPONSE;
    if (params && scan->depth == 0 && !scan->grace && !mprpc_begins_array(view->data[scan->at])) {
        return messagepack_rpc_scan_fail(scan, -MPRPC_E_PARAMS, scan->at);
    }
    int result = mprpc_skip_value(scan, view);
    if (result != 1) return result;

    scan->value.size = (size_t)scan->at - scan->value.at;
    scan->stage = MPRPC_AT_END;
    return 1;
}

/* ---- the whole ---- */

static int messagepack_rpc_scan_element(struct mprpc_scan *scan, const struct mprpc_view *view) {
    static int (*const scanners[])(struct mprpc_scan *, const struct mprpc_view *) = {
        [MPRPC_IN_ARRAY] = messagepack_rpc_scan_array,   [MPRPC_IN_KIND] = messagepack_rpc_scan_kind,
        [MPRPC_IN_ID] = messagepack_rpc_scan_id,
        [MPRPC_IN_METHOD] = messagepack_rpc_scan_method, [MPRPC_IN_ERROR] = messagepack_rpc_scan_error,
        [MPRPC_IN_VALUE] = messagepack_rpc_scan_value,
    };
    return scanners[scan->stage](scan, view);
}

/* Without a byte only a large string can be done with, as the last one of its containers. */
static bool messagepack_rpc_scan_can_go_on(const struct mprpc_scan *scan, const struct mprpc_view *view) {
    if (scan->stage == MPRPC_AT_END) return false;
    return scan->at < view->size || (scan->stage >= MPRPC_IN_ERROR && scan->left == 0);
}

int mprpc_scan(struct mprpc_scan *scan, const char *data, size_t size) {
    if (scan->stage == MPRPC_BROKEN) return -(int)scan->rule;

    uint64_t limit = scan->limits->message + scan->grace - scan->removed;
    struct mprpc_view view = {(const unsigned char *)data, size < limit ? size : limit, limit};
    int result = 1;
    while (result == 1 && messagepack_rpc_scan_can_go_on(scan, &view)) result = messagepack_rpc_scan_element(scan, &view);
    if (result < 0 || result == MPRPC_LARGE) return result;
    if (scan->stage == MPRPC_AT_END && scan->at <= view.size) return MPRPC_MESSAGE;

    bool over = size >= limit || scan->at > limit;
    return over ? mprpc_fail(scan, -MPRPC_E_MESSAGE_LIMIT, scan->limits->message) : MPRPC_MORE;
}

int mprpc_finish(struct mprpc_scan *scan, size_t size, uint64_t missing) {
    if (scan->stage == MPRPC_BROKEN) return -(int)scan->rule;
    if (scan->stage == MPRPC_IN_ARRAY && size == 0) return 0;
    return messagepack_rpc_scan_fail(scan, -MPRPC_E_TRUNCATED, size - missing);
}

/* ---- large strings, and skipped messages ---- */

void mprpc_take_out(struct mprpc_scan *scan, char mark[MPRPC_MARK], uint32_t number) {
    mark[0] = (char)0xd6;
    mark[1] = (char)MPRPC_MARK_TYPE;
    for (int i = 5; i > 1; i--, number >>= 8) mark[i] = (char)(number & 0xff);
    scan->removed += scan->at - (scan->large.at + MPRPC_MARK);
    scan->at = scan->large.at + MPRPC_MARK;
}

void mprpc_put_back(struct mprpc_scan *scan, uint64_t missing) {
    scan->at += missing;
    scan->removed -= missing;
}

void mprpc_drop(struct mprpc_scan *scan, size_t size) {
    scan->threshold = UINT64_MAX;
    scan->at -= size;
    scan->removed += size;
}

bool mprpc_excusable(const struct mprpc_scan *scan) {
    if (scan->stage != MPRPC_BROKEN || !mprpc_rule(-(int)scan->rule)->limit || scan->grace) return false;
    return scan->identified || scan->kind == MPRPC_NOTIFICATION;
}

bool mprpc_excuse(struct mprpc_scan *scan) {
    if (!mprpc_excusable(scan)) return false;

    uint64_t end = scan->at + scan->removed;
    scan->stage = scan->before;
    scan->rule = MPRPC_OK;
    scan->grace = end > scan->limits->message ? end : scan->limits->message;
    return true;
}

size_t mprpc_reserve(size_t size, size_t now) {
    size_t most = now ? now * 2 : RESERVED_AT_ONCE;
    return size < most ? size : most;
}
