/* The parts of the HTTP/1.1 engine that Ruby does not reach: its helpers, and how a caller in C goes through a message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http1.h"

static void check(bool condition, const char *what, int line) {
    if (condition) return;
    fprintf(stderr, "line %d: %s\n", line, what);
    exit(1);
}
#define CHECK(condition) check((condition), #condition, __LINE__)

static int value(const char *text) {
    return http1_check_value(text, strlen(text));
}

static int name(const char *text) {
    return http1_check_name(text, strlen(text));
}

static int target(const char *method, const char *text) {
    return http1_check_target(method, strlen(method), text, strlen(text));
}

static void test_chunk_lines(void) {
    static const struct {
        uint64_t size;
        const char *line;
    } cases[] = {{0, "0\r\n"},           {1, "1\r\n"},         {15, "f\r\n"},
                 {16, "10\r\n"},         {255, "ff\r\n"},      {4096, "1000\r\n"},
                 {65535, "ffff\r\n"},    {1ULL << 60, "1000000000000000\r\n"},
                 {UINT64_MAX, "ffffffffffffffff\r\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[HTTP1_CHUNK_LINE];
        size_t size = http1_chunk_line(line, cases[i].size);
        CHECK(size == strlen(cases[i].line) && memcmp(line, cases[i].line, size) == 0);
    }
}

static void test_known_fields(void) {
#define KNOWN(constant, name, first, last, size)                                          \
    CHECK(strlen(name) == (size) && name[0] == (first) && name[(size) - 1] == (last));    \
    CHECK(http1_known_field(name, size) == HTTP1_FIELD_##constant);                       \
    CHECK(http1_known_field(name "x", (size) + 1) != HTTP1_FIELD_##constant);             \
    CHECK(http1_known_field(name, (size) - 1) != HTTP1_FIELD_##constant);
    HTTP1_KNOWN_FIELDS(KNOWN)
#undef KNOWN
    CHECK(http1_known_field("CONTENT-LENGTH", 14) == HTTP1_FIELD_CONTENT_LENGTH);
    CHECK(http1_known_field("content_length", 14) == HTTP1_FIELD_OTHER);
    CHECK(http1_known_field("", 0) == HTTP1_FIELD_OTHER);
    CHECK(HTTP1_FIELD_COUNT <= 64);
}

static void test_what_we_send(void) {
    CHECK(value("a b") == 0 && value("") == 0 && value("caf\xe9") == 0 && value("a\tb") == 0);
    CHECK(value("a\r\nb") == -HTTP1_E_FIELD_VALUE && value("a\n") == -HTTP1_E_FIELD_VALUE);
    CHECK(value(" a") == -HTTP1_E_FIELD_VALUE && value("a\t") == -HTTP1_E_FIELD_VALUE);
    CHECK(http1_check_value("a\0b", 3) == -HTTP1_E_FIELD_VALUE);
    CHECK(name("X-A") == 0 && name("") == -HTTP1_E_EMPTY_NAME && name("a:") == -HTTP1_E_FIELD_NAME);
    CHECK(name("a\r\nb") == -HTTP1_E_FIELD_NAME && name("a b") == -HTTP1_E_FIELD_NAME);
    CHECK(http1_check_method("GET", 3) == 0 && http1_check_method("G T", 3) == -HTTP1_E_METHOD);
    CHECK(http1_check_method("", 0) == -HTTP1_E_METHOD);
    CHECK(target("GET", "/a?b") == 0 && target("GET", "http://a/b") == 0 && target("OPTIONS", "*") == 0);
    CHECK(target("GET", "/a b") == -HTTP1_E_TARGET && target("GET", "") == -HTTP1_E_TARGET);
    CHECK(target("GET", "/\r\n") == -HTTP1_E_TARGET && target("GET", "a:80") == -HTTP1_E_TARGET_FORM);
    CHECK(target("CONNECT", "a:80") == 0 && target("CONNECT", "/") == -HTTP1_E_TARGET_FORM);
    CHECK(http1_check_host("a:80", 4) == 0 && http1_check_host("a b", 3) == -HTTP1_E_HOST);
}

static void test_rules(void) {
    CHECK(http1_rule(0) == NULL && http1_rule(5) == NULL && http1_rule(-HTTP1_RULE_COUNT) == NULL);
    for (int number = 1; number < HTTP1_RULE_COUNT; number++) {
        const struct http1_rule *rule = http1_rule(-number);
        CHECK(rule && rule->name && rule->text && rule->status >= 400 && strncmp(rule->section, "RFC 91", 6) == 0);
    }
}

static void test_a_response_read_into_place(void) {
    static const char message[] = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nServer: x\r\n\r\n01234";
    struct http1_header table[4];
    struct http1_head head;
    struct http1_body body;
    struct http1_piece piece;
    http1_head_init(&head, HTTP1_RESPONSE, &http1_default_limits, table, 4);
    http1_head_start(&head, HTTP1_TO_ANY);
    size_t size = sizeof message - 1;
    ptrdiff_t at = http1_head_parse(&head, message, size);
    CHECK(at == (ptrdiff_t)size - 5 && head.status == 200 && head.count == 2 && head.framing == HTTP1_LENGTH);
    CHECK(http1_head_find(&head, HTTP1_FIELD_SERVER) == &table[1] && !http1_head_find(&head, HTTP1_FIELD_DATE));
    CHECK(http1_body_start(&body, &head) == 0 && http1_body_expects(&body) == 10);
    CHECK(http1_body_next(&body, message + at, 5, &piece) == HTTP1_DATA && piece.at == 0 && piece.size == 5);
    CHECK(http1_body_expects(&body) == 5 && !http1_body_done(&body));
    CHECK(http1_body_next(&body, "56789next", 9, &piece) == HTTP1_DATA && piece.size == 5 && piece.consumed == 5);
    CHECK(http1_body_done(&body) && http1_body_expects(&body) == 0 && http1_body_finish(&body) == 0);
    CHECK(http1_body_next(&body, "next", 4, &piece) == HTTP1_DONE && piece.consumed == 0);
}

static void test_chunks_and_trailers(void) {
    static const char message[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nA: b\r\n\r\n";
    struct http1_header table[4];
    struct http1_head head;
    struct http1_body body;
    struct http1_piece piece;
    http1_head_init(&head, HTTP1_RESPONSE, &http1_default_limits, table, 4);
    size_t size = sizeof message - 1;
    size_t at = (size_t)http1_head_parse(&head, message, size);
    CHECK(head.framing == HTTP1_CHUNKED && http1_body_start(&body, &head) == 0);
    CHECK(http1_body_next(&body, message + at, size - at, &piece) == HTTP1_DATA && piece.at == 3 && piece.size == 3);
    at += piece.consumed;
    CHECK(http1_body_next(&body, message + at, size - at, &piece) == HTTP1_TRAILER && piece.size == 6);
    CHECK(http1_fields_parse(message + at + piece.at, piece.size, table, 4) == 1 && table[0].value_size == 1);
    CHECK(http1_fields_parse(message + at + piece.at, piece.size, table, 0) == -HTTP1_E_HEADERS_LIMIT);
    CHECK(http1_fields_parse(message + at + piece.at, piece.size - 1, table, 4) == -HTTP1_E_TRUNCATED_HEAD);
    at += piece.consumed;
    CHECK(http1_body_next(&body, message + at, size - at, &piece) == HTTP1_DONE && at + piece.consumed == size);
}

static void test_the_table_is_a_limit(void) {
    static const char message[] = "HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\n\r\n";
    struct http1_header table[1];
    struct http1_head head;
    http1_head_init(&head, HTTP1_RESPONSE, &http1_default_limits, table, 1);
    CHECK(http1_head_parse(&head, message, sizeof message - 1) == -HTTP1_E_HEADERS_LIMIT && head.error_at == 23);
    CHECK(http1_head_parse(&head, message, sizeof message - 1) == -HTTP1_E_HEADERS_LIMIT);
    http1_head_start(&head, HTTP1_TO_ANY);
    CHECK(http1_head_parse(&head, message, 24) == 0);
}

int main(void) {
    test_chunk_lines();
    test_known_fields();
    test_what_we_send();
    test_rules();
    test_a_response_read_into_place();
    test_chunks_and_trailers();
    test_the_table_is_a_limit();
    puts("ok");
    return 0;
}
