/*
 * The engine of the server with peers that never end, take late, take slowly, or are gone: by a clock of the test's own. What
 * a peer may hold is bounded in bytes and in time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "server_table.h"

enum { LARGE = 4 << 20, SECONDS = 10 };

#define CHECK(condition)                                                                                                  \
    do {                                                                                                                  \
        if (!(condition)) {                                                                                               \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                                \
            exit(1);                                                                                                      \
        }                                                                                                                 \
    } while (0)

static struct server server;
static struct server_request request;
static char large[LARGE], buffer[1 << 20];
static int ours, peer;
static double now;

static struct server_connection *meet(void) {
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
    ours = pair[0];
    peer = pair[1];
    return server_bring(&server, ours, 0, NULL, now);
}

static void part(void) {
    close(peer);
    struct server_connection *connection;
    for (int number = 0; number < server.chunks * 512; number++) {
        connection = server.table[number / 512] ? server_at(&server, number) : NULL;
        if (!connection || connection->number == SERVER_NONE) continue;
        CHECK(!connection->listed);
        server_drop(&server, connection);
    }
    CHECK(server.count == 0 && server.idle == 0 && server.held == 0);
}

static void say(const char *text) {
    CHECK(send(peer, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text));
}

static size_t hear(size_t most) {
    ssize_t size = recv(peer, buffer, most < sizeof buffer ? most : sizeof buffer, MSG_DONTWAIT);
    return size > 0 ? (size_t)size : 0;
}

static void take_events(void) {
    server_event events[SERVER_BATCH];
    int count = server_sleep(&server, events, 0);
    server_take(&server, events, count, now);
}

/* The next complete request, or NULL when nobody has one. */
static struct server_connection *next_request(void) {
    take_events();
    struct server_connection *connection;
    while ((connection = server_next(&server))) {
        if (server_receive(&server, connection, &request, now) == SERVER_REQUEST) return connection;
    }
    return NULL;
}

static struct server_connection *begin_request(void) {
    struct server_connection *connection = next_request();
    CHECK(connection && server_begin(&server, connection, &request) == 0);
    return connection;
}

static void send_large(struct server_connection *connection) {
    struct iovec body = {large, LARGE};
    CHECK(server_send(connection, &body, 1) > 0);
}

/* `large` by parts of an odd size; `released` counts those that are over. */
enum { PART = 1000 };

static struct large_remainder {
    struct server_remainder engine;
    size_t at;
} remainder;

static int released;

static int next_parts(struct server_remainder *engine, struct iovec *parts) {
    struct large_remainder *self = (struct large_remainder *)engine;
    int count = 0;
    for (; count < SERVER_PARTS && self->at < LARGE; count++) {
        size_t size = LARGE - self->at < PART ? LARGE - self->at : PART;
        parts[count] = (struct iovec){large + self->at, size};
        self->at += size;
    }
    return count;
}

static void release(struct server_remainder *engine) {
    CHECK(engine == &remainder.engine);
    released++;
}

static void supply_large(struct server_connection *connection) {
    for (size_t at = 0; at < LARGE; at++) large[at] = (char)(at * 7 + at / 4096);
    remainder = (struct large_remainder){.engine = {next_parts, release}};
    released = 0;
    CHECK(server_supply(connection, &remainder.engine) == 0);
}

static bool holds_a_piece(const struct server_connection *connection) {
    return connection->outbox && connection->outbox->capacity <= SERVER_PIECE && connection->remainder;
}

static void hear_large(struct server_connection *connection, bool finished) {
    size_t heard = 0;
    for (size_t size; heard < LARGE; heard += size) {
        CHECK(released == (connection->remainder == NULL));
        size = hear(50000);
        CHECK(size > 0 && memcmp(buffer, large + heard, size) == 0);
        if (finished) CHECK(next_request() == NULL);
        else take_events();
    }
    CHECK(released == 1 && !connection->outbox && hear(SIZE_MAX) == 0);
}

/* Twice, and with the next request in step. */
static void test_a_large_answer_is_not_copied(void) {
    meet();
    for (int times = 0; times < 2; times++) {
        say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        struct server_connection *connection = begin_request();
        supply_large(connection);
        CHECK(holds_a_piece(connection));
        server_leave_to_peer(&server, connection, true, now);
        CHECK(next_request() == NULL && holds_a_piece(connection));
        hear_large(connection, true);
        CHECK(connection->queue == SERVER_IDLE);
    }
    part();
}

static void test_a_large_answer_is_taken_while_the_app_is_at_work(void) {
    meet();
    say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    struct server_connection *connection = begin_request();
    supply_large(connection);
    hear_large(connection, false);
    server_finish(&server, connection, true, now);
    part();
}

static void test_one_that_takes_little_of_a_large_answer(void) {
    meet();
    say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    struct server_connection *connection = begin_request();
    supply_large(connection);
    server_leave_to_peer(&server, connection, true, now);
    uint64_t expired = server.counts.expired;
    for (int second = 0; second <= 5 * SECONDS; second++, now++) { /* fast enough */
        for (int times = 0; times < 4; times++) hear(SERVER_READ / SECONDS);
        server_make_ready(&server, connection);
        CHECK(next_request() == NULL);
        server_sweep(&server, now);
        CHECK(server.count == 1 && holds_a_piece(connection));
    }
    for (int second = 0; second <= SECONDS && server.count > 0; second++, now++) server_sweep(&server, now);
    CHECK(server.count == 0 && released == 1 && server.counts.expired == expired + 1);
    close(peer);
}

/* Each of its pieces ends inside a request. */
static void test_one_that_pipelines_without_end(void) {
    static char one[5000], stream[10 * sizeof one];
    size_t size = (size_t)snprintf(one, sizeof one, "GET / HTTP/1.1\r\nHost: a\r\nX: %04000d\r\n\r\n", 1);
    for (int index = 0; index < 10; index++) memcpy(stream + (size_t)index * size, one, size);
    struct server_connection *connection = meet();
    size_t at = size / 2;
    CHECK(send(peer, stream, at, MSG_NOSIGNAL) == (ssize_t)at);
    for (int round = 0; round < 1000; round++) {
        CHECK(send(peer, stream + at, 5 * size, MSG_NOSIGNAL) == (ssize_t)(5 * size));
        for (int number = 0; number < 5; number++) server_finish(&server, begin_request(), true, now);
        CHECK(next_request() == NULL);
        CHECK(connection->intake && connection->intake->capacity < 300000);
    }
    part();
}

static void test_an_empty_line_behind_a_body(void) {
    struct server_connection *connection = meet();
    say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx\r\n");
    server_finish(&server, begin_request(), true, now);
    CHECK(next_request() == NULL && connection->queue == SERVER_IDLE);
    say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    server_finish(&server, begin_request(), true, now);
    say("\r");
    CHECK(next_request() == NULL && connection->queue == SERVER_HEAD);
    say("\n");
    CHECK(next_request() == NULL && connection->queue == SERVER_IDLE);
    say("G");
    CHECK(next_request() == NULL && connection->queue == SERVER_HEAD);
    part();
}

/* The kernel tells once that there is room, and here while the connection is a worker's. */
static void test_one_that_takes_while_the_app_is_at_work(void) {
    meet();
    say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    struct server_connection *connection = begin_request();
    send_large(connection);
    size_t heard = 0, last;
    do {
        last = hear(SIZE_MAX);
        heard += last;
        take_events();
    } while (last > 0);
    CHECK(heard == LARGE && !connection->outbox);
    part();
}

/* The same, but what is told is looked at by nobody before the worker is done. */
static void test_one_that_takes_before_the_app_ends(void) {
    meet();
    say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    struct server_connection *connection = begin_request();
    send_large(connection);
    size_t left = connection->outbox->size - connection->outbox->at;
    while (hear(SIZE_MAX) > 0) continue;
    server_finish(&server, connection, true, now);
    CHECK(connection->outbox && connection->outbox->size - connection->outbox->at < left);
    part();
}

static void test_one_that_takes_little(void) {
    meet();
    say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    struct server_connection *connection = begin_request();
    send_large(connection);
    server_finish(&server, connection, true, now);
    uint64_t expired = server.counts.expired;
    for (int second = 0; second <= SECONDS && server.count > 0; second++, now++) {
        CHECK(expired == server.counts.expired);
        hear(SERVER_READ / SECONDS / 2);
        server_make_ready(&server, connection); /* the kernel tells only of more room than that */
        next_request();
        server_sweep(&server, now);
    }
    CHECK(server.count == 0 && server.counts.expired == expired + 1);
    close(peer);
}

static void test_one_that_waits_for_a_worker(void) {
    meet();
    say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(server_hold(&server, next_request(), &request, now) == 0);
    server_sweep(&server, now + SECONDS - 1);
    CHECK(server.held == 1 && hear(SIZE_MAX) == 0);
    server_sweep(&server, now + SECONDS);
    CHECK(server.held == 0 && server_next_waiting(&server) == NULL);
    size_t size = hear(SIZE_MAX);
    CHECK(size > 0 && memmem(buffer, size, "HTTP/1.1 503 ", 13) == buffer && memmem(buffer, size, "retry-after", 11));
    next_request();
    part();
}

static void test_one_that_has_left_while_it_waited(void) {
    meet();
    say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(server_hold(&server, next_request(), &request, now) == 0);
    close(peer);
    take_events();
    CHECK(server_next_waiting(&server) == NULL && server.count == 0 && server.held == 0);
}

/* It has ended its half only: that says nothing about whether it listens. */
static void test_one_that_has_said_all_while_it_waited(void) {
    struct server_connection *connection = meet();
    say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(server_hold(&server, next_request(), &request, now) == 0);
    shutdown(peer, SHUT_WR);
    take_events();
    CHECK(server_next_waiting(&server) == connection);
    part();
}

static void test_one_that_never_ends_to_send(void) {
    struct server_connection *connection = meet();
    say("NONSENSE\r\n\r\n");
    CHECK(next_request() == NULL && connection->lingering);
    for (int second = 0; second <= SECONDS && server.count > 0; second++, now++) {
        memset(buffer, 'x', sizeof buffer);
        while (send(peer, buffer, sizeof buffer, MSG_NOSIGNAL) > 0) continue;
        next_request();
        server_make_ready(&server, connection); /* there is always more of it */
        server_sweep(&server, now);
        connection = server_find(&server, ours, connection->generation);
        if (!connection) break;
    }
    CHECK(server.count == 0);
    close(peer);
}

static void test_one_between_two_requests_while_the_server_ends(void) {
    meet();
    say("\r\n");
    take_events(); /* in the list of the ready ones, though no request comes */
    server_drain(&server, now);
    CHECK(next_request() == NULL && server.count == 0);
    server.retiring = server.draining = false;
    close(peer);
}

/* Those who have connected, and even asked, before the server was told to end. */
static void test_those_whom_nobody_has_looked_at_when_the_server_ends(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), clients[2];
    CHECK(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 10) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &size) == 0 && server_listen(&server, listener) == 0);
    for (int number = 0; number < 2; number++) {
        clients[number] = socket(AF_INET, SOCK_STREAM, 0);
        CHECK(connect(clients[number], (struct sockaddr *)&address, size) == 0);
    }
    peer = clients[0];
    say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    uint64_t accepted = server.counts.accepted;
    server_drain(&server, now); /* over the loopback both are there as soon as connect(2) comes back */
    CHECK(server.counts.accepted == accepted + 2);
    struct server_connection *connection = server_next(&server);
    CHECK(connection && server.count == 1 && server_receive(&server, connection, &request, now) == SERVER_REQUEST);
    server_drop(&server, connection);
    server.retiring = server.draining = false;
    close(listener);
    for (int number = 0; number < 2; number++) close(clients[number]);
}

static void test_a_closed_server_has_nobody_ready(void) {
    meet();
    say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(server_hold(&server, next_request(), &request, now) == 0);
    int first = peer;
    meet();
    say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    take_events();
    server_close(&server);
    CHECK(server_next(&server) == NULL && server_next_waiting(&server) == NULL && server.count == 0 && server.held == 0);
    close(first);
    close(peer);
}

int main(void) {
    struct server_settings settings = {.limits = http1_default_limits, .waiting = SECONDS, .spool = 1000, .folder = "/tmp",
                                       .connections = 100, .descriptors = 1000, .requests = UINT32_MAX};
    for (int queue = 0; queue < SERVER_QUEUES; queue++) settings.seconds[queue] = SECONDS;
    if (server_open(&server, &settings) != 0) return 1;

    test_one_that_pipelines_without_end();
    test_an_empty_line_behind_a_body();
    test_one_that_takes_while_the_app_is_at_work();
    test_one_that_takes_before_the_app_ends();
    test_one_that_takes_little();
    test_a_large_answer_is_not_copied();
    test_a_large_answer_is_taken_while_the_app_is_at_work();
    test_one_that_takes_little_of_a_large_answer();
    test_one_that_waits_for_a_worker();
    test_one_that_has_left_while_it_waited();
    test_one_that_has_said_all_while_it_waited();
    test_one_that_never_ends_to_send();
    test_one_between_two_requests_while_the_server_ends();
    test_those_whom_nobody_has_looked_at_when_the_server_ends();
    test_a_closed_server_has_nobody_ready();
    puts("ok");
    return 0;
}
