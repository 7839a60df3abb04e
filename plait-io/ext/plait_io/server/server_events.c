/* Opens and closes a server, takes the kernel's events, and closes connections that take too long. See server.h. */
#include "server.h"

#include "server_accept.h"
#include "server_remainder.h"
#include "server_send.h"
#include "server_spool.h"
#include "server_table.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static const struct server_list EMPTY = {SERVER_NONE, SERVER_NONE};

static void server_expire(struct server *server, struct server_connection *connection, double now) {
    server->counts.expired++;
    bool arriving = connection->queue == SERVER_HEAD || connection->queue == SERVER_BODY;
    if (arriving) server_refuse(server, connection, 408, "the request did not arrive in time", "", now);
    else server_drop(server, connection);
}

/* The server stood still, or all its workers run the app. A request that arrives in small pieces gets no more than twice its time. */
static bool server_has_come_in_time(const struct server *server, const struct server_connection *connection, double now) {
    enum server_queue queue = connection->queue;
    bool arriving = queue == SERVER_HEAD || queue == SERVER_BODY;
    bool late = arriving && connection->since + 2 * server->settings.seconds[queue] <= now;
    return (arriving || queue == SERVER_IDLE) && !late && !connection->ended && server_has_come(connection);
}

static void server_look_again(struct server *server, struct server_connection *connection) {
    connection->readable = true;
    server_make_ready(server, connection);
}

static void server_expire_waiting(struct server *server, double now) {
    while (server->waiting.first != SERVER_NONE) {
        if (server_at(server, server->waiting.first)->since + server->settings.waiting > now) return;
        struct server_connection *connection = server_shift_waiting(server);
        server->counts.expired++;
        server_refuse(server, connection, 503, "the server is busy", "retry-after: 1\r\n", now);
    }
}

/* One in the list of the ready ones is about to be served; and of one that is busy and in a queue the body is being spooled. */
void server_sweep(struct server *server, double now) {
    for (int queue = 0; queue < SERVER_QUEUES; queue++) {
        int number = server->queues[queue].first;
        while (number != SERVER_NONE) {
            struct server_connection *connection = server_at(server, number);
            if (connection->since + server->settings.seconds[queue] > now) break;
            number = connection->after;
            if (connection->listed || connection->busy) continue;
            if (server_has_come_in_time(server, connection, now)) server_look_again(server, connection);
            else server_expire(server, connection, now);
        }
    }
    server_expire_waiting(server, now);
    server_free_spare(server);
    if (server->paused && server->count < server->settings.connections) server_pause(server, false);
}

static void server_see_off(struct server *server, struct server_connection *connection) {
    if (server_has_come(connection)) server_look_again(server, connection);
    else server_drop(server, connection);
}

void server_drain(struct server *server, double now) {
    if (!server->retiring) server_accept_all(server, now);
    server_deafen(server);
    server->retiring = server->draining = true;
    int number = server->queues[SERVER_IDLE].first;
    while (number != SERVER_NONE) {
        struct server_connection *connection = server_at(server, number);
        number = connection->after;
        if (!connection->busy) server_see_off(server, connection); /* or a worker is about to write its body to a file */
    }
}

uint32_t server_unfinished(const struct server *server, uint32_t *busy) {
    uint32_t count = *busy = 0;
    for (int index = 0; index < server->chunks * SERVER_CHUNK; index++) {
        const struct server_connection *chunk = server->table[index / SERVER_CHUNK], *connection = chunk + index % SERVER_CHUNK;
        if (!chunk || connection->number == SERVER_NONE || connection->lingering) continue;
        if (connection->queue == SERVER_IDLE && !connection->busy) continue;
        count++;
        if (connection->busy) (*busy)++;
    }
    return count;
}

/* ---- the kernel ---- */

int server_open(struct server *server, const struct server_settings *settings) {
    server->forks = server_forks();
    server->settings = *settings;
    server->ready = server->waiting = EMPTY;
    for (int queue = 0; queue < SERVER_QUEUES; queue++) server->queues[queue] = EMPTY;
    uint32_t fields = settings->limits.headers;
    server->table_of_head = malloc(fields * sizeof(struct http1_header));
    int error = server_kernel_open(&server->kernel, SERVER_WAKEUP);
    if (error == 0 && !server->table_of_head) error = ENOMEM;
    if (error != 0) {
        server_close(server);
        return error;
    }
    http1_head_init(&server->head, HTTP1_REQUEST, &server->settings.limits, server->table_of_head, fields);
    return 0;
}

static void server_drop_all(struct server *server) {
    for (int chunk = 0; chunk < server->chunks; chunk++) {
        struct server_connection *connections = server->table[chunk];
        for (int index = 0; connections && index < SERVER_CHUNK; index++) {
            if (connections[index].number != SERVER_NONE) server_drop(server, &connections[index]);
        }
        free(connections);
    }
}

void server_close(struct server *server) {
    server->listening = 0;
    server_close_spooler(server);
    while (server->spare > 0) server_free_spare(server);
    server_drop_all(server);
    free(server->table);
    free(server->table_of_head);
    server_kernel_close(&server->kernel, server->forks != server_forks());
    server->table = NULL;
    server->table_of_head = NULL;
    server->chunks = 0;
    server->ready = server->waiting = EMPTY;
    server->held = 0;
}

int server_listen(struct server *server, int listener) {
    if (server->listening == SERVER_LISTENERS) return EMFILE;

    int index = server->listening, error = 0;
    server->listeners[index] = listener;
    if (listener != SERVER_NONE) error = server_kernel_listen(&server->kernel, listener, SERVER_LISTENER | (uint64_t)index);
    if (error == 0) server->listening++;
    return error;
}

void server_deafen(struct server *server) {
    while (server->listening > 0) server_kernel_forget(&server->kernel, server->listeners[--server->listening]);
}

int server_sleep(const struct server *server, server_event *events, int milliseconds) {
    return server_kernel_sleep(&server->kernel, events, SERVER_BATCH, milliseconds);
}

void server_wake(const struct server *server) {
    uint64_t one = 1;
    ssize_t unused = write(server->kernel.wakeup, &one, sizeof one);
    (void)unused;
}

static void server_take_connection(struct server *server, uint64_t token, uint32_t flags) {
    int number = (int)(uint32_t)token;
    struct server_connection *connection = server_find(server, number, (uint32_t)(token >> SERVER_GENERATION_SHIFT));
    if (!connection) return;

    if (flags & SERVER_READABLE) connection->readable = true;
    if (flags & SERVER_ENDED) connection->ended = true;
    if (flags & SERVER_LOST) connection->lost = true;
    bool output = connection->outbox && (flags & SERVER_WRITABLE);
    /* While a worker has the connection no other code would: the kernel reports only once that there is room. */
    if (output && connection->busy && server_flush(connection) == 0) server_pour(connection);
    if (output || (flags & SERVER_READABLE && !connection->outbox)) server_make_ready(server, connection);
}

bool server_take(struct server *server, const server_event *events, int count, double now) {
    bool woken = false;
    for (int index = 0; index < count; index++) {
        uint64_t token = server_event_token(&events[index]);
        if (token == SERVER_WAKEUP) woken = true;
        else if (token >= SERVER_LISTENER) server_accept(server, (int)(uint32_t)token, now);
        else server_take_connection(server, token, server_event_flags(&events[index]));
    }
    if (woken) {
        server_kernel_hush(&server->kernel);
        server_take_spooled(server);
    }
    return woken;
}
