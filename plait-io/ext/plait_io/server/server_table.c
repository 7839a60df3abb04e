/* The table of connections, the lists and queues in which they stand, and how one ends. */
#include "server_table.h"

#include "../tls/tls.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- forks ---- */

/* Of this process so far: each has a copy of all descriptors. */
static unsigned forks;

static void server_table_count_fork(void) {
    forks++;
}

static void server_table_watch_forks(void) {
    pthread_atfork(NULL, server_table_count_fork, NULL);
}

unsigned server_forks(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, server_table_watch_forks);
    return forks;
}

/* ---- what a connection holds ---- */

void server_free_body(struct server_body *body) {
    free(body->data);
    if (body->file != -1) close(body->file);
    *body = (struct server_body){.file = -1};
}

void server_free_intake(struct server_connection *connection) {
    struct server_intake *intake = connection->intake;
    if (!intake) return;

    server_free_body(&intake->body);
    free(intake->data);
    free(intake);
    connection->intake = NULL;
}

void server_free_remainder(struct server_connection *connection) {
    struct server_remainder *remainder = connection->remainder;
    connection->remainder = NULL;
    if (remainder) remainder->release(remainder);
}

/* ---- the listeners ---- */

void server_pause(struct server *server, bool paused) {
    server->paused = paused;
    for (int index = 0; index < server->listening; index++) {
        int number = server->listeners[index];
        if (number != SERVER_NONE) server_kernel_mute(&server->kernel, number, SERVER_LISTENER | (uint64_t)index, paused);
    }
}

/* ---- the table ---- */

static struct server_connection *server_table_new_chunk(void) {
    struct server_connection *chunk = calloc(SERVER_CHUNK, sizeof(struct server_connection));
    for (int index = 0; chunk && index < SERVER_CHUNK; index++) chunk[index].number = SERVER_NONE;
    return chunk;
}

static int server_table_make_room(struct server *server, int number) {
    int chunk = number / SERVER_CHUNK;
    if (chunk >= server->chunks) {
        struct server_connection **table = realloc(server->table, (size_t)(chunk + 1) * sizeof(*table));
        if (!table) return ENOMEM;

        server->table = table;
        while (server->chunks <= chunk) table[server->chunks++] = NULL;
    }
    if (!server->table[chunk]) server->table[chunk] = server_table_new_chunk();
    return server->table[chunk] ? 0 : ENOMEM;
}

/* Generation 0xffffffff is the listeners'. */
static uint32_t server_table_next_generation(uint32_t generation) {
    return generation >= UINT32_MAX - 1 ? 0 : generation + 1;
}

static uint64_t server_table_ticket_of(int number, uint32_t generation) {
    return (uint64_t)generation << SERVER_GENERATION_SHIFT | (uint32_t)number;
}

struct server_connection *server_admit(struct server *server, int number) {
    if (server_table_make_room(server, number) != 0) return NULL;

    struct server_connection *connection = server_at(server, number);
    uint32_t generation = server_table_next_generation(connection->generation);
    *connection = (struct server_connection){
        .number = number, .generation = generation, .queue = SERVER_UNQUEUED, .next_ready = SERVER_NONE};
    int error = server_kernel_watch(&server->kernel, number, server_table_ticket_of(number, generation));
    if (error != 0) {
        connection->number = SERVER_NONE;
        errno = error;
        return NULL;
    }
    server->count++;
    return connection;
}

void server_uncount_file(struct server *server, struct server_connection *connection) {
    if (connection->filed) server_hold_descriptors(server, -1);
    connection->filed = false;
}

static void server_table_leave(struct server *server, struct server_connection *connection) {
    server_dequeue(server, connection);
    server_uncount_file(server, connection);
    connection->number = SERVER_NONE;
    server->count--;
    server->counts.closed++;
}

/*
 * A cut answer must not look complete. To disconnect resets a connection even if another process has its descriptor. Where the system
 * refuses that, close(2) resets it.
 */
static void server_table_end_by_reset(int number) {
    struct sockaddr unspecified = {.sa_family = AF_UNSPEC};
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    if (connect(number, &unspecified, sizeof unspecified) != 0) {
        setsockopt(number, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
}

/* Without a goodbye, where something was cut: the peer has to see that. */
static void server_table_say_goodbye(const struct server_connection *connection) {
    bool whole = !connection->open_ended && !connection->outbox && !connection->remainder && !connection->lingering &&
                 !connection->busy;
    if (connection->secure && whole && !connection->lost) tls_finish(connection->secure->ssl);
}

void server_drop(struct server *server, struct server_connection *connection) {
    int number = connection->number;
    server_table_say_goodbye(connection);
    server_table_leave(server, connection);
    if (connection->open_ended) server_table_end_by_reset(number);
    server_forget(connection);
    if (server->forks != forks) shutdown(number, SHUT_RDWR); /* or it would last as long as the fork */
    close(number);
    if (server->paused) server_pause(server, false);
}

void server_forget(struct server_connection *connection) {
    server_free_intake(connection);
    free(connection->outbox);
    connection->outbox = NULL;
    server_free_remainder(connection);
    if (connection->secure) connection->secure->release(connection->secure);
    connection->secure = NULL;
}

int server_detach(struct server *server, struct server_connection *connection) {
    int number = connection->number;
    server_kernel_forget(&server->kernel, number);
    server_table_leave(server, connection);
    return number;
}

size_t server_bytes(const struct server *server) {
    size_t bytes = (size_t)server->chunks * sizeof(*server->table);
    for (int chunk = 0; chunk < server->chunks; chunk++) {
        if (server->table[chunk]) bytes += SERVER_CHUNK * sizeof(struct server_connection);
    }
    return bytes;
}

/* ---- lists ---- */

/* One that stands in a list is not closed before its turn. */
void server_push(struct server *server, struct server_list *list, struct server_connection *connection) {
    int number = connection->number;
    connection->listed = true;
    connection->next_ready = SERVER_NONE;
    if (list->last == SERVER_NONE) list->first = number;
    else server_at(server, list->last)->next_ready = number;
    list->last = number;
}

static struct server_connection *server_table_shift(struct server *server, struct server_list *list) {
    if (list->first == SERVER_NONE) return NULL;

    struct server_connection *connection = server_at(server, list->first);
    list->first = connection->next_ready;
    if (list->first == SERVER_NONE) list->last = SERVER_NONE;
    connection->listed = false;
    return connection;
}

void server_make_ready(struct server *server, struct server_connection *connection) {
    if (!connection->busy && !connection->listed) server_push(server, &server->ready, connection);
}

struct server_connection *server_next(struct server *server) {
    struct server_connection *connection = server_table_shift(server, &server->ready);
    if (connection) connection->busy = true;
    return connection;
}

struct server_connection *server_shift_waiting(struct server *server) {
    struct server_connection *connection = server_table_shift(server, &server->waiting);
    if (connection) server->held--;
    return connection;
}

struct server_connection *server_next_waiting(struct server *server) {
    struct server_connection *connection;
    while ((connection = server_shift_waiting(server))) {
        if (!connection->lost) return connection;
        server_drop(server, connection);
    }
    return NULL;
}

/* ---- queues ---- */

void server_enqueue(struct server *server, struct server_connection *connection, enum server_queue queue, double now) {
    if (connection->queue != SERVER_UNQUEUED) server_dequeue(server, connection);
    struct server_list *list = &server->queues[queue];
    connection->queue = (uint8_t)queue;
    connection->since = now;
    connection->before = list->last;
    connection->after = SERVER_NONE;
    if (list->last == SERVER_NONE) list->first = connection->number;
    else server_at(server, list->last)->after = connection->number;
    list->last = connection->number;
    if (queue == SERVER_IDLE) server->idle++;
}

void server_dequeue(struct server *server, struct server_connection *connection) {
    if (connection->queue == SERVER_UNQUEUED) return;

    struct server_list *list = &server->queues[connection->queue];
    if (connection->before == SERVER_NONE) list->first = connection->after;
    else server_at(server, connection->before)->after = connection->after;
    if (connection->after == SERVER_NONE) list->last = connection->before;
    else server_at(server, connection->after)->before = connection->before;
    if (connection->queue == SERVER_IDLE) server->idle--;
    connection->queue = SERVER_UNQUEUED;
}

/* The server has not looked at what may have come since. */
bool server_has_come(const struct server_connection *connection) {
    char byte;
    return connection->listed || recv(connection->number, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}
