/* Packed values: how long they are, and nothing more. Containers are counted on the caller's levels, never by recursion. */
#include "messagepack_rpc_values.h"

/* Bytes of a value whose first byte says all about its length; 0: a container, an extension, or a length follows. */
static const uint8_t steps[256] = {
#define SAME16(n) n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n
    SAME16(1), SAME16(1), SAME16(1), SAME16(1), SAME16(1), SAME16(1), SAME16(1), SAME16(1), /* positive fixint */
    SAME16(0), SAME16(0),                                                                   /* fixmap, fixarray */
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,                                  /* fixstr */
    17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
    1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 5, 9, 2, 3, 5, 9, /* nil, never used, false, true, bin, ext, float, uint */
    2, 3, 5, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* int, fixext, str, array, map */
    SAME16(1), SAME16(1),                           /* negative fixint */
#undef SAME16
};

int mprpc_fail(struct mprpc_scan *scan, int broken, uint64_t at) {
    scan->before = scan->stage;
    scan->stage = MPRPC_BROKEN;
    scan->rule = (uint8_t)-broken;
    scan->error_at = at;
    return broken;
}

static int messagepack_rpc_values_fail_here(struct mprpc_scan *scan, int broken) {
    return mprpc_fail(scan, broken, scan->at + scan->removed);
}

/* The big-endian number of `size` bytes. */
static uint64_t messagepack_rpc_values_number_at(const unsigned char *data, unsigned size) {
    uint64_t number = 0;
    for (unsigned i = 0; i < size; i++) number = number << 8 | data[i];
    return number;
}

static bool messagepack_rpc_values_is_here(const struct mprpc_scan *scan, const struct mprpc_view *view, unsigned size) {
    return view->size >= size && scan->at <= view->size - size;
}

/* ---- containers ---- */

/* A value of so many bytes. */
static int messagepack_rpc_values_pass(struct mprpc_scan *scan, uint64_t size) {
    scan->at += size;
    scan->left--;
    return 1;
}

/* Where a message ends depends on how many values are to come, not on which container they are in. */
static int messagepack_rpc_values_flatten(struct mprpc_scan *scan, uint64_t count, unsigned header) {
    scan->owed += count;
    return messagepack_rpc_values_pass(scan, header);
}

static int messagepack_rpc_values_open_container(struct mprpc_scan *scan, uint64_t count, unsigned header) {
    if (scan->grace) return messagepack_rpc_values_flatten(scan, count, header);
    if (scan->depth == scan->limits->nesting) return messagepack_rpc_values_fail_here(scan, -MPRPC_E_NESTING_LIMIT);
    if (count > scan->limits->elements - scan->elements) return messagepack_rpc_values_fail_here(scan, -MPRPC_E_ELEMENTS_LIMIT);

    scan->elements += (uint32_t)count;
    scan->at += header;
    scan->levels[scan->depth++] = scan->left - 1;
    scan->left = (uint32_t)count;
    return 1;
}

/* array 16 and 32, map 16 and 32 */
static int messagepack_rpc_values_open_long_container(struct mprpc_scan *scan, const struct mprpc_view *view,
                                                      unsigned char first) {
    unsigned size = first & 1 ? 4 : 2;
    if (!messagepack_rpc_values_is_here(scan, view, 1 + size)) return MPRPC_MORE;

    uint64_t count = messagepack_rpc_values_number_at(view->data + scan->at + 1, size);
    return messagepack_rpc_values_open_container(scan, first >= 0xde ? count * 2 : count, 1 + size);
}

/* ---- strings and extensions ---- */

/* A string beyond the limit is not reported as large: the limit is broken. */
static int messagepack_rpc_values_pass_string(struct mprpc_scan *scan, const struct mprpc_view *view) {
    uint32_t size;
    unsigned header;
    if (mprpc_read_string(scan, view, &size, &header) == MPRPC_MORE) return MPRPC_MORE;

    size_t at = (size_t)scan->at;
    messagepack_rpc_values_pass(scan, (uint64_t)header + size);
    if (size < scan->threshold || scan->at <= view->size || scan->at > view->limit) return 1;

    bool binary = view->data[at] >= 0xc4 && view->data[at] <= 0xc6;
    scan->large = (struct mprpc_large){.at = at, .begins = at + header, .size = size, .text = !binary};
    return MPRPC_LARGE;
}

/* fixext, and ext whose length comes before its type */
static int messagepack_rpc_values_pass_extension(struct mprpc_scan *scan, const struct mprpc_view *view, unsigned char first) {
    bool fixed = first >= 0xd4;
    unsigned length = fixed ? 0 : 1U << (first - 0xc7);
    if (!messagepack_rpc_values_is_here(scan, view, 2 + length)) return MPRPC_MORE;

    const unsigned char *data = view->data + scan->at + 1;
    if (data[length] == (unsigned char)MPRPC_MARK_TYPE) scan->clash = true;
    uint64_t size = fixed ? 1ULL << (first - 0xd4) : messagepack_rpc_values_number_at(data, length);
    return messagepack_rpc_values_pass(scan, 2 + length + size);
}

/* ---- values ---- */

/* A value whose first byte does not say how long it is. */
static int messagepack_rpc_values_pass_other(struct mprpc_scan *scan, const struct mprpc_view *view, unsigned char first) {
    if (first < 0x90) return messagepack_rpc_values_open_container(scan, (first & 15U) * 2, 1);
    if (first < 0xa0) return messagepack_rpc_values_open_container(scan, first & 15U, 1);
    if (first >= 0xdc) return messagepack_rpc_values_open_long_container(scan, view, first);
    if (first == 0xc1) return messagepack_rpc_values_fail_here(scan, -MPRPC_E_NEVER_USED);
    bool string = first <= 0xc6 || first >= 0xd9;
    return string ? messagepack_rpc_values_pass_string(scan, view) : messagepack_rpc_values_pass_extension(scan, view, first);
}

/* Goes over values of known length while there are such; the hot loop. */
static void messagepack_rpc_values_pass_plain(struct mprpc_scan *scan, const struct mprpc_view *view) {
    const unsigned char *data = view->data;
    uint64_t at = scan->at;
    uint64_t size = view->size;
    uint32_t left = scan->left;
    while (left > 0 && at < size) {
        unsigned step = steps[data[at]];
        if (step == 0) break;

        at += step;
        left--;
    }
    scan->at = at;
    scan->left = left;
}

static void messagepack_rpc_values_take_owed(struct mprpc_scan *scan) {
    scan->left = scan->owed < UINT32_MAX ? (uint32_t)scan->owed : UINT32_MAX;
    scan->owed -= scan->left;
}

int mprpc_skip_value(struct mprpc_scan *scan, const struct mprpc_view *view) {
    int result = 1;
    while (result == 1) {
        messagepack_rpc_values_pass_plain(scan, view);
        while (scan->left == 0 && scan->depth > 0) scan->left = scan->levels[--scan->depth];
        if (scan->left == 0) messagepack_rpc_values_take_owed(scan);
        if (scan->left == 0) return 1;
        if (scan->at >= view->size) return MPRPC_MORE;
        if (steps[view->data[scan->at]] == 0) result = messagepack_rpc_values_pass_other(scan, view, view->data[scan->at]);
    }
    return result;
}

/* ---- what the envelope is made of ---- */

int mprpc_read_array(struct mprpc_scan *scan, const struct mprpc_view *view, uint32_t *count) {
    unsigned char first = view->data[scan->at];
    unsigned size = first == 0xdc ? 2 : first == 0xdd ? 4 : 0;
    if (!messagepack_rpc_values_is_here(scan, view, 1 + size)) return MPRPC_MORE;

    *count = size ? (uint32_t)messagepack_rpc_values_number_at(view->data + scan->at + 1, size) : first & 15U;
    scan->at += 1 + size;
    return 1;
}

int mprpc_read_unsigned(struct mprpc_scan *scan, const struct mprpc_view *view, uint64_t *value, bool *unsigned_integer) {
    unsigned char first = view->data[scan->at];
    bool stored = first >= 0xcc && first <= 0xd3;
    unsigned size = stored ? 1U << (first & 3) : 0;
    *unsigned_integer = stored || first < 0x80;
    if (!messagepack_rpc_values_is_here(scan, view, 1 + size)) return MPRPC_MORE;
    if (first >= 0xd0 && stored) *unsigned_integer = view->data[scan->at + 1] < 0x80;
    if (!*unsigned_integer) return 1;

    *value = stored ? messagepack_rpc_values_number_at(view->data + scan->at + 1, size) : first;
    scan->at += 1 + size;
    return 1;
}

int mprpc_read_string(const struct mprpc_scan *scan, const struct mprpc_view *view, uint32_t *size, unsigned *header) {
    unsigned char first = view->data[scan->at];
    bool fixed = (first & 0xe0) == 0xa0;
    bool stored = (first >= 0xc4 && first <= 0xc6) || (first >= 0xd9 && first <= 0xdb);
    unsigned length = stored ? 1U << (first >= 0xd9 ? first - 0xd9 : first - 0xc4) : 0;
    *header = fixed || stored ? 1 + length : 0;
    if (!messagepack_rpc_values_is_here(scan, view, 1 + length)) return MPRPC_MORE;

    *size = stored ? (uint32_t)messagepack_rpc_values_number_at(view->data + scan->at + 1, length) : first & 31U;
    return 1;
}
