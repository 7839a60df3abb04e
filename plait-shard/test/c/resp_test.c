/* The parts of the RESP engine that Ruby does not reach, and how a caller in C goes through commands and replies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resp.h"

static void check(bool condition, const char *what, int line) {
    if (condition) return;
    fprintf(stderr, "line %d: %s\n", line, what);
    exit(1);
}
#define CHECK(condition) check((condition), #condition, __LINE__)

static void test_rules(void) {
    CHECK(resp_rule(0) == NULL && resp_rule(RESP_COMMAND) == NULL && resp_rule(-RESP_RULE_COUNT) == NULL);
    for (int rule = 1; rule < RESP_RULE_COUNT; rule++) CHECK(resp_rule(-rule)->text[0] != 0);
    CHECK(strcmp(resp_rule(-RESP_E_QUOTES)->name, "quotes") == 0);
}

static void test_spans(void) {
    static const char data[] = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\nvv\r\n*";
    struct resp_span spans[3];
    struct resp_command command;
    resp_command_start(&command, &resp_default_limits, spans, 1);
    CHECK(resp_command_scan(&command, data, sizeof data - 1) == RESP_SPANS && command.found == 1);
    command.room = 3;
    CHECK(resp_command_scan(&command, data, 24) == RESP_MORE && command.found == 3 && command.at == 24);
    CHECK(resp_command_needs(&command) == 28);
    CHECK(resp_command_scan(&command, data, sizeof data - 1) == RESP_COMMAND && command.at == 28 && command.count == 3);
    CHECK(spans[1].at == 17 && spans[1].size == 1 && spans[2].at == 24 && spans[2].size == 2);
    CHECK(resp_command_scan(&command, data, sizeof data - 1) == RESP_COMMAND);
}

/* What was passed on of a long command need not be kept. */
static void test_drop(void) {
    static const char data[] = "*5\r\n$4\r\nMSET\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$2\r\ndd\r\n";
    struct resp_span spans[5];
    struct resp_command command;
    resp_command_start(&command, &resp_default_limits, spans, 5);
    CHECK(resp_command_scan(&command, data, 37) == RESP_MORE && command.found == 4);
    resp_command_drop(&command, 2, 26);
    CHECK(command.found == 2 && command.count == 3 && spans[0].at == 0 && spans[0].size == 0 && spans[1].at == 6);
    CHECK(data[26] == '\r' && data[26 + spans[1].at] == 'c');
    CHECK(resp_command_scan(&command, data + 26, sizeof data - 27) == RESP_COMMAND && command.at == sizeof data - 27);
    CHECK(spans[2].at == 13 && spans[2].size == 2);
}

static void test_end(void) {
    struct resp_command command;
    resp_command_start(&command, &resp_default_limits, NULL, 0);
    CHECK(resp_command_finish(&command, 0) == 0);
    CHECK(resp_command_finish(&command, 5) == -RESP_E_TRUNCATED && command.error_at == 5);
    CHECK(resp_command_scan(&command, "x", 1) == -RESP_E_TRUNCATED);
}

static void test_inline(void) {
    static const char line[] = "SET  k \"a\\x0ab\"\r\n";
    char array[512];
    size_t written;
    CHECK(resp_inline_room(sizeof line) < sizeof array);
    CHECK(resp_inline(line, sizeof line - 1, array, &written) == RESP_COMMAND);
    CHECK(written == 29 && memcmp(array, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\na\nb\r\n", 29) == 0);
    CHECK(resp_inline("  ", 2, array, &written) == RESP_COMMAND && written == 4 && memcmp(array, "*0\r\n", 4) == 0);
    CHECK(resp_inline("\"", 1, array, &written) == -RESP_E_QUOTES);
}

/* Nothing of a reply that was scanned is needed again: it may be gone. */
static void test_replies(void) {
    static const char data[] = "*2\r\n$3\r\nabc\r\n:1\r\n+OK\r\n";
    struct resp_reply reply;
    size_t used;
    resp_reply_start(&reply, &resp_default_limits);
    CHECK(resp_reply_scan(&reply, data, 9, &used) == RESP_MORE && used == 9 && reply.left == 2 && reply.skip == 2);
    CHECK(resp_reply_scan(&reply, data + 9, sizeof data - 10, &used) == RESP_REPLY && used == 8 && reply.type == '*');
    CHECK(resp_reply_scan(&reply, "x", 1, &used) == RESP_REPLY && used == 0);
    resp_reply_start(&reply, &resp_default_limits);
    CHECK(resp_reply_finish(&reply) == 0);
}

static void test_headers(void) {
    char header[RESP_HEADER];
    CHECK(resp_write_header(header, '*', 0) == 4 && memcmp(header, "*0\r\n", 4) == 0);
    CHECK(resp_write_header(header, '$', UINT64_MAX) == 23 && memcmp(header, "$18446744073709551615\r\n", 23) == 0);
}

int main(void) {
    test_rules();
    test_spans();
    test_drop();
    test_end();
    test_inline();
    test_replies();
    test_headers();
    puts("ok");
    return 0;
}
