/*
 * The engine of the server, over socket pairs: streams of requests cut at random, some of which end in the middle or go
 * wrong, with bodies in memory and in files, answers that don't fit and requests that are held. Each request that was
 * complete must come out once, in order, with its own body.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server_table.h"

enum { STREAMS = 400, REQUESTS = 12, LARGE = 300000 };

#define CHECK(condition)                                                                                                  \
    do {                                                                                                                  \
        if (!(condition)) {                                                                                               \
            printf("%s:%d: not so: %s (stream %d)\n", __FILE__, __LINE__, #condition, stream);                             \
            exit(1);                                                                                                      \
        }                                                                                                                 \
    } while (0)

static int stream;
static struct server server;
static char input[1 << 20], large[LARGE], drained[1 << 16];
static size_t input_size;
static size_t bodies[REQUESTS]; /* their sizes, in order */
static int written, seen, asides;

static void say(const char *format, size_t number) {
    input_size += (size_t)snprintf(input + input_size, 256, format, number);
}

static void add_bytes(size_t size, char byte) {
    memset(input + input_size, byte, size);
    input_size += size;
}

static void add_request(int number) {
    size_t size = (size_t)(rand() % 4 == 0 ? rand() % 5000 : rand() % 40);
    char byte = (char)('a' + number);
    switch (rand() % 3) {
    case 0:
        size = 0;
        say("GET /%zu HTTP/1.1\r\nHost: a\r\n\r\n", (size_t)number);
        break;
    case 1:
        say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n", size);
        add_bytes(size, byte);
        break;
    default:
        say("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 0);
        if (size > 0) {
            say("%zx\r\n", size);
            add_bytes(size, byte);
            say("\r\n", 0);
        }
        say("0\r\n\r\n", 0);
    }
    bodies[number] = size;
}

/* Returns whether the stream goes wrong at its end. */
static bool write_stream(void) {
    input_size = 0;
    written = 1 + rand() % REQUESTS;
    for (int number = 0; number < written; number++) add_request(number);
    int end = rand() % 4;
    if (end == 0) say("GET /half HTTP/1.1\r\nHo", 0);
    if (end == 1) say("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 0);
    return end == 1;
}

static void check_body(const struct server_request *request) {
    char byte = (char)('a' + seen);
    const char *method = request->data + request->head->method.at;
    size_t length = request->head->method.size;
    CHECK((length == 3 && memcmp(method, "GET", 3) == 0) || (length == 4 && memcmp(method, "POST", 4) == 0));
    CHECK(seen < written && request->body_size == bodies[seen]);
    char *copy = malloc(request->body_size + 1);
    if (request->file != -1) {
        CHECK(pread(request->file, copy, request->body_size, 0) == (ssize_t)request->body_size);
    } else if (request->body_size > 0) {
        memcpy(copy, request->body, request->body_size);
    }
    for (size_t index = 0; index < request->body_size; index++) CHECK(copy[index] == byte);
    free(copy);
}

static void answer(struct server_connection *connection, struct server_request *request) {
    static char text[] = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    check_body(request);
    CHECK(server_begin(&server, connection, request) == 0);
    if (request->file != -1) close(request->file);
    struct iovec parts[2] = {{text, sizeof text - 1}, {large, rand() % 8 == 0 ? LARGE : 0}};
    CHECK(server_send(connection, parts, 2) >= 0);
    seen++;
    server_finish(&server, connection, true, stream);
}

/* However long it takes, nobody else touches it. */
static void spool(struct server_connection *connection) {
    server_event events[SERVER_BATCH];
    bool offloaded = rand() % 2 && server_spool_offload(&server, connection) == 0;
    if (!offloaded) {
        server_take(&server, events, server_sleep(&server, events, 0), stream);
        CHECK(server.ready.first == SERVER_NONE);
    }
    server_sweep(&server, stream + 1e9);
    CHECK(server.count == 1 && connection->busy);
    if (!offloaded) {
        server_spool(&server, connection);
        server_give_back(&server, connection);
    }
    while (connection->busy) server_take(&server, events, server_sleep(&server, events, -1), stream);
    asides += offloaded;
}

static void serve_ready(void) {
    struct server_connection *connection;
    struct server_request request;
    while ((connection = server_next(&server)) || (connection = server_next_waiting(&server))) {
        int result = server_receive(&server, connection, &request, stream);
        if (result == SERVER_SPOOL) spool(connection);
        if (result != SERVER_REQUEST) continue;
        if (rand() % 4 == 0) CHECK(server_hold(&server, connection, &request, stream) == 0);
        else answer(connection, &request);
    }
}

/* Returns false when the server has closed. */
static bool drain(int client) {
    ssize_t size;
    do {
        size = recv(client, drained, sizeof drained, MSG_DONTWAIT);
    } while (size > 0);
    return size == -1 && errno == EAGAIN;
}

static bool turn(int client) {
    server_event events[SERVER_BATCH];
    int count = server_sleep(&server, events, 0);
    server_take(&server, events, count, stream);
    serve_ready();
    return drain(client);
}

static void run_stream(void) {
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
    CHECK(server_admit(&server, pair[0]) != NULL);
    seen = 0;
    bool wrong = write_stream(), open = true;
    for (size_t at = 0; at < input_size && open;) {
        size_t size = rand() % 2 ? 1 + (size_t)rand() % 7 : 1 + (size_t)rand() % 3000;
        if (size > input_size - at) size = input_size - at;
        ssize_t sent = send(pair[1], input + at, size, MSG_NOSIGNAL);
        if (sent > 0) at += (size_t)sent;
        open = turn(pair[1]);
    }
    for (int times = 0; times < 400 && seen < written; times++) turn(pair[1]);
    CHECK(seen == written);
    close(pair[1]);
    for (int times = 0; times < 10 && server.count > 0; times++) turn(-1);
    CHECK(server.count == 0);
    CHECK(!wrong || server.counts.malformed > 0);
}

static void test_sweep(void) {
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
    struct server_connection *connection = server_admit(&server, pair[0]);
    server_enqueue(&server, connection, SERVER_IDLE, 100);
    server_sweep(&server, 109);
    CHECK(server.count == 1 && server.idle == 1);
    server_sweep(&server, 111);
    CHECK(server.count == 0 && server.idle == 0);
    close(pair[1]);
}

static int count_files(void) {
    int count = 0;
    for (int file = 0; file < 1000; file++) count += fcntl(file, F_GETFD) != -1;
    return count;
}

/* Whatever becomes of it meanwhile: of the connection, or of the server. */
static void test_ends_while_it_is_spooled(const struct server_settings *settings) {
    static struct server other;
    server_event events[SERVER_BATCH];
    struct server_request request;
    struct server_connection *connection;
    char body[5000] = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n";
    memset(body + strlen(body), 'x', sizeof body - strlen(body));
    int before = count_files();
    for (stream = 0; stream < STREAMS; stream++) {
        int pairs[3][2];
        memset(&other, 0, sizeof other);
        CHECK(server_open(&other, settings) == 0);
        for (int i = 0; i < 3; i++) {
            CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pairs[i]) == 0 && server_admit(&other, pairs[i][0]));
            CHECK(send(pairs[i][1], body, sizeof body, 0) == sizeof body);
        }
        server_take(&other, events, server_sleep(&other, events, 0), 0);
        while ((connection = server_next(&other))) {
            CHECK(server_receive(&other, connection, &request, 0) == SERVER_SPOOL);
            if (server_spool_offload(&other, connection) != 0) server_drop(&other, connection);
            else if (rand() % 2) server_drop(&other, connection);
        }
        if (rand() % 2) usleep((useconds_t)rand() % 200);
        if (rand() % 2) server_take(&other, events, server_sleep(&other, events, 0), 0);
        server_close(&other);
        for (int i = 0; i < 3; i++) close(pairs[i][1]);
    }
    for (int times = 0; times < 6000 && count_files() > before; times++) usleep(10000);
    CHECK(count_files() == before);
}

/* Its body has come with its head: it is still among those that are idle, but a worker has it. */
static void test_is_drained_while_it_is_spooled(const struct server_settings *settings) {
    static struct server other;
    struct server_request request;
    server_event events[SERVER_BATCH];
    int pair[2];
    memset(&other, 0, sizeof other);
    CHECK(server_open(&other, settings) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
    struct server_connection *connection = server_bring(&other, pair[0], 0, NULL, 0);
    char text[2000] = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n";
    CHECK(connection && send(pair[1], text, sizeof text, 0) == sizeof text);
    server_take(&other, events, server_sleep(&other, events, 0), 0);
    CHECK(server_next(&other) == connection);
    CHECK(server_receive(&other, connection, &request, 0) == SERVER_SPOOL);
    server_drain(&other, 0);
    CHECK(connection->number == pair[0] && connection->intake);
    if (connection->intake) {
        server_spool(&other, connection);
        server_give_back(&other, connection);
    }
    CHECK(server_next(&other) == connection);
    server_close(&other);
    close(pair[1]);
}

/* With a folder that is on a disk: for one in memory there are no threads. */
int main(int count, char **arguments) {
    struct server_settings settings = {.limits = http1_default_limits, .waiting = 10, .spool = 1000,
                                       .folder = count > 1 ? arguments[1] : "/tmp", .connections = 100, .descriptors = 1000,
                                       .requests = UINT32_MAX};
    for (int queue = 0; queue < SERVER_QUEUES; queue++) settings.seconds[queue] = 10;
    test_ends_while_it_is_spooled(&settings);
    test_is_drained_while_it_is_spooled(&settings);
    if (server_open(&server, &settings) != 0) return 1;

    for (stream = 0; stream < STREAMS; stream++) {
        srand((unsigned)stream);
        run_stream();
    }
    test_sweep();
    server_close(&server);
    CHECK(count == 1 || asides > 0);
    puts("ok");
    return 0;
}
