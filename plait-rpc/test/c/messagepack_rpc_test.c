/* The parts of the MessagePack-RPC engine that Ruby does not reach, and how a caller in C goes through messages. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "messagepack_rpc.h"

static void check(bool condition, const char *what, int line) {
    if (condition) return;
    fprintf(stderr, "line %d: %s\n", line, what);
    exit(1);
}
#define CHECK(condition) check((condition), #condition, __LINE__)

static uint32_t levels[100];

static void start(struct mprpc_scan *scan, uint64_t threshold) {
    mprpc_start(scan, &mprpc_default_limits, levels, threshold);
}

static void test_rules(void) {
    CHECK(mprpc_rule(0) == NULL && mprpc_rule(MPRPC_MESSAGE) == NULL && mprpc_rule(-MPRPC_RULE_COUNT) == NULL);
    for (int rule = 1; rule < MPRPC_RULE_COUNT; rule++) CHECK(mprpc_rule(-rule)->text[0] != 0);
    CHECK(strcmp(mprpc_rule(-MPRPC_E_NEVER_USED)->name, "never_used") == 0);
    CHECK(strcmp(mprpc_rule(-MPRPC_E_METHOD_LIMIT)->limit, "method_name") == 0);
}

/* Where a request's parts are. */
static void test_spans(void) {
    static const char data[] = "\x94\x00\xcd\x01\x02\xa3" "add\x92\x01\x02\x94";
    struct mprpc_scan scan;
    start(&scan, UINT64_MAX);
    CHECK(mprpc_scan(&scan, data, 3) == MPRPC_MORE && scan.kind == MPRPC_REQUEST && !scan.identified);
    CHECK(mprpc_scan(&scan, data, 5) == MPRPC_MORE && scan.identified && scan.id == 258);
    CHECK(mprpc_scan(&scan, data, 11) == MPRPC_MORE);
    CHECK(mprpc_scan(&scan, data, sizeof data - 1) == MPRPC_MESSAGE);
    CHECK(scan.at == 12 && scan.method.at == 6 && scan.method.size == 3 && scan.value.at == 9 && scan.value.size == 3);
    CHECK(mprpc_scan(&scan, data, sizeof data - 1) == MPRPC_MESSAGE);
}

static void test_responses(void) {
    static const char data[] = "\x94\x01\x07\xa1" "e\x92\xc0\xc0";
    struct mprpc_scan scan;
    start(&scan, UINT64_MAX);
    CHECK(mprpc_scan(&scan, data, sizeof data - 1) == MPRPC_MESSAGE);
    CHECK(scan.kind == MPRPC_RESPONSE && scan.id == 7 && scan.error.at == 3 && scan.error.size == 2);
    CHECK(scan.value.at == 5 && scan.value.size == 3);
}

/* A caller that has no use for large strings goes on as if it had not been told. */
static void test_large_is_optional(void) {
    static const char data[] = "\x94\x01\x07\xc0\x92\xc4\x05" "abcde\x01";
    struct mprpc_scan scan;
    start(&scan, 5);
    CHECK(mprpc_scan(&scan, data, 9) == MPRPC_LARGE);
    CHECK(scan.large.at == 5 && scan.large.begins == 7 && scan.large.size == 5 && !scan.large.text);
    CHECK(mprpc_scan(&scan, data, 10) == MPRPC_MORE);
    CHECK(mprpc_scan(&scan, data, 12) == MPRPC_MORE);
    CHECK(mprpc_scan(&scan, data, 13) == MPRPC_MESSAGE && scan.value.size == 9);
}

static void test_taking_out(void) {
    char data[32] = "\x94\x01\x07\xc0\x92\xdb\x00\x00\x00\x05" "a";
    struct mprpc_scan scan;
    start(&scan, 5);
    CHECK(mprpc_scan(&scan, data, 11) == MPRPC_LARGE && scan.large.text && scan.large.begins == 10);
    mprpc_take_out(&scan, data + scan.large.at, 0x01020304);
    CHECK(scan.at == 11 && memcmp(data + 5, "\xd6\x80\x01\x02\x03\x04", MPRPC_MARK) == 0);
    data[11] = 3;
    CHECK(mprpc_scan(&scan, data, 12) == MPRPC_MESSAGE && scan.at == 12 && scan.at + scan.removed == 16);
    CHECK(!scan.clash && mprpc_scan(&scan, data, 12) == MPRPC_MESSAGE);
}

/* The last of its containers: no byte is needed behind it. */
static void test_taking_out_the_last(void) {
    char data[32] = "\x94\x00\x01\xa1m\x91\x81\x01\xc4\x09";
    struct mprpc_scan scan;
    start(&scan, 5);
    CHECK(mprpc_scan(&scan, data, 10) == MPRPC_LARGE);
    mprpc_take_out(&scan, data + scan.large.at, 0);
    CHECK(mprpc_scan(&scan, data, 14) == MPRPC_MESSAGE && scan.at + scan.removed == 19);
}

static void test_putting_back(void) {
    char data[32] = "\x94\x01\x07\xc0\x92\xc4\x0a" "abc";
    struct mprpc_scan scan;
    start(&scan, 5);
    CHECK(mprpc_scan(&scan, data, 10) == MPRPC_LARGE);
    mprpc_take_out(&scan, data + scan.large.at, 0);
    mprpc_put_back(&scan, 7);
    mprpc_drop(&scan, 11);
    CHECK(mprpc_scan(&scan, "defghij\xc4", 8) == MPRPC_MORE && scan.at == 7);
    mprpc_drop(&scan, 7);
    CHECK(mprpc_scan(&scan, "\xc4\x06" "a", 3) == MPRPC_MORE);
    mprpc_drop(&scan, 3);
    CHECK(mprpc_scan(&scan, "bcdef\x94", 6) == MPRPC_MESSAGE && scan.at == 5 && scan.at + scan.removed == 25);
    CHECK(scan.kind == MPRPC_RESPONSE && scan.id == 7);
}

static void test_errors_stay(void) {
    struct mprpc_scan scan;
    start(&scan, UINT64_MAX);
    CHECK(mprpc_scan(&scan, "\x94\x03", 2) == -MPRPC_E_KIND && scan.error_at == 1);
    CHECK(mprpc_scan(&scan, "\x94\x00", 2) == -MPRPC_E_KIND && mprpc_finish(&scan, 2, 0) == -MPRPC_E_KIND);
    start(&scan, UINT64_MAX);
    CHECK(mprpc_finish(&scan, 0, 0) == 0);
    CHECK(mprpc_scan(&scan, "\x94\x00", 2) == MPRPC_MORE && mprpc_finish(&scan, 2, 0) == -MPRPC_E_TRUNCATED);
    CHECK(scan.error_at == 2);
}

static void test_reserves(void) {
    const size_t most = 64 << 20;
    CHECK(mprpc_reserve(5, 0) == 5 && mprpc_reserve(most, 0) == most && mprpc_reserve(most + 1, 0) == most);
    CHECK(mprpc_reserve(UINT32_MAX, most) == 2 * most && mprpc_reserve(most + 1, most) == most + 1);
}

static void test_heads(void) {
    char head[MPRPC_HEAD];
    CHECK(mprpc_write_head(head, MPRPC_NOTIFICATION, 5) == 2 && memcmp(head, "\x93\x02", 2) == 0);
    CHECK(mprpc_write_head(head, MPRPC_RESPONSE, UINT64_MAX) == MPRPC_HEAD && (unsigned char)head[2] == 0xcf);
    char header[MPRPC_STRING_HEADER];
    CHECK(mprpc_write_string_header(header, UINT32_MAX, false) == MPRPC_STRING_HEADER && (unsigned char)header[0] == 0xdb);
    for (int first = 0; first < 256; first++) {
        bool array = (first >= 0x90 && first <= 0x9f) || first == 0xdc || first == 0xdd;
        CHECK(mprpc_begins_array((unsigned char)first) == array);
    }
}

int main(void) {
    test_rules();
    test_spans();
    test_responses();
    test_large_is_optional();
    test_taking_out();
    test_taking_out_the_last();
    test_putting_back();
    test_errors_stay();
    test_reserves();
    test_heads();
    puts("ok");
    return 0;
}
