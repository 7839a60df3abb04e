/* The table, the queues and the epoll of server.h. */
#include "server.h"

#ifdef __linux__

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* Connections in a chunk of the table. */
enum { CHUNK = 512 };

/* In an event: the number, and the generation above it. */
enum { GENERATION_SHIFT = 32 };

/* Of the bell and the listeners, in an event: the number is none of a connection's. */
static const uint64_t BELL = UINT64_MAX;
static const uint64_t LISTENER = UINT64_C(0xffffffff00000000);

static const struct server_list EMPTY = {SERVER_NONE, SERVER_NONE};

/* ---- forks ---- */

/* Of this process so far: each has a copy of all descriptors. */
static unsigned forks;

static void count_fork(void) {
    forks++;
}

static void watch_forks(void) {
    pthread_atfork(NULL, count_fork, NULL);
}

/* ---- the table ---- */

struct server_connection *server_at(const struct server *server, int number) {
    return &server->table[number / CHUNK][number % CHUNK];
}

struct server_connection *server_find(const struct server *server, int number, uint32_t generation) {
    if (number < 0 || number / CHUNK >= server->chunks || !server->table[number / CHUNK]) return NULL;

    struct server_connection *connection = server_at(server, number);
    return connection->number == number && connection->generation == generation ? connection : NULL;
}

static struct server_connection *new_chunk(void) {
    struct server_connection *chunk = calloc(CHUNK, sizeof(struct server_connection));
    for (int index = 0; chunk && index < CHUNK; index++) chunk[index].number = SERVER_NONE;
    return chunk;
}

static int make_room(struct server *server, int number) {
    int chunk = number / CHUNK;
    if (chunk >= server->chunks) {
        struct server_connection **table = realloc(server->table, (size_t)(chunk + 1) * sizeof(*table));
        if (!table) return ENOMEM;

        server->table = table;
        while (server->chunks <= chunk) table[server->chunks++] = NULL;
    }
    if (!server->table[chunk]) server->table[chunk] = new_chunk();
    return server->table[chunk] ? 0 : ENOMEM;
}

/* Generation 0xffffffff is the listeners'. */
static uint32_t next_generation(uint32_t generation) {
    return generation >= UINT32_MAX - 1 ? 0 : generation + 1;
}

static uint64_t ticket_of(int number, uint32_t generation) {
    return (uint64_t)generation << GENERATION_SHIFT | (uint32_t)number;
}

struct server_connection *server_admit(struct server *server, int number) {
    if (make_room(server, number) != 0) return NULL;

    struct server_connection *connection = server_at(server, number);
    uint32_t generation = next_generation(connection->generation);
    *connection = (struct server_connection){
        .number = number, .generation = generation, .queue = SERVER_UNQUEUED, .next_ready = SERVER_NONE};
    uint64_t token = ticket_of(number, generation);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.u64 = token};
    if (epoll_ctl(server->epoll, EPOLL_CTL_ADD, number, &event) != 0) {
        connection->number = SERVER_NONE;
        return NULL;
    }
    server->count++;
    return connection;
}

static void leave_table(struct server *server, struct server_connection *connection) {
    server_dequeue(server, connection);
    connection->number = SERVER_NONE;
    server->count--;
    server->counts.closed++;
}

/*
 * What is cut must not look like a whole. Between UNIX sockets there are no resets: whoever has brought it can ask. To
 * disconnect resets a connection whoever else has a descriptor of it.
 */
static void end_by_reset(struct server *server, const struct server_connection *connection, int number) {
    struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    connect(number, &nobody, sizeof nobody);
    server->cut[server->cuts++ % SERVER_CUTS] = ticket_of(number, connection->generation);
}

bool server_was_cut(const struct server *server, int number, uint32_t generation) {
    uint64_t ticket = ticket_of(number, generation);
    for (unsigned index = 0; index < server->cuts && index < SERVER_CUTS; index++) {
        if (server->cut[index] == ticket) return true;
    }
    return false;
}

void server_drop(struct server *server, struct server_connection *connection) {
    int number = connection->number;
    leave_table(server, connection);
    if (connection->open_ended) end_by_reset(server, connection, number);
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
}

int server_detach(struct server *server, struct server_connection *connection) {
    int number = connection->number;
    epoll_ctl(server->epoll, EPOLL_CTL_DEL, number, NULL);
    leave_table(server, connection);
    return number;
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

struct server_connection *server_shift(struct server *server, struct server_list *list) {
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
    struct server_connection *connection = server_shift(server, &server->ready);
    if (connection) connection->busy = true;
    return connection;
}

void server_give_back(struct server *server, struct server_connection *connection) {
    if (connection->intake->body.kept == 0) server_spare(server, &connection->intake->body);
    connection->busy = false;
    server_make_ready(server, connection);
}

static struct server_connection *stop_waiting(struct server *server) {
    struct server_connection *connection = server_shift(server, &server->waiting);
    if (connection) server->held--;
    return connection;
}

struct server_connection *server_next_waiting(struct server *server) {
    struct server_connection *connection;
    while ((connection = stop_waiting(server))) {
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

static void expire(struct server *server, struct server_connection *connection, double now) {
    server->counts.expired++;
    bool begun = connection->queue == SERVER_HEAD || connection->queue == SERVER_BODY;
    if (begun) server_refuse(server, connection, 408, "the request did not arrive in time", "", now);
    else server_drop(server, connection);
}

static void expire_waiting(struct server *server, double now) {
    while (server->waiting.first != SERVER_NONE) {
        if (server_at(server, server->waiting.first)->since + server->settings.waiting > now) return;
        struct server_connection *connection = stop_waiting(server);
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
            if (!connection->listed && !connection->busy) expire(server, connection, now);
        }
    }
    expire_waiting(server, now);
    server_free_spare(server);
    if (server->paused && server->count < server->settings.connections) server_pause(server, false);
}

/* Nobody has looked at what may have come since. */
bool server_has_come(const struct server_connection *connection) {
    char byte;
    return connection->listed || recv(connection->number, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

static void see_off(struct server *server, struct server_connection *connection) {
    if (!server_has_come(connection)) return server_drop(server, connection);

    connection->readable = true;
    server_make_ready(server, connection);
}

void server_drain(struct server *server, double now) {
    if (!server->retiring) server_accept_all(server, now);
    server_deafen(server);
    server->retiring = server->draining = true;
    int number = server->queues[SERVER_IDLE].first;
    while (number != SERVER_NONE) {
        struct server_connection *connection = server_at(server, number);
        number = connection->after;
        if (!connection->busy) see_off(server, connection); /* or a worker is about to write its body to a file */
    }
}

uint32_t server_unfinished(const struct server *server, uint32_t *busy) {
    uint32_t count = *busy = 0;
    for (int index = 0; index < server->chunks * CHUNK; index++) {
        const struct server_connection *chunk = server->table[index / CHUNK], *connection = chunk + index % CHUNK;
        if (!chunk || connection->number == SERVER_NONE || connection->lingering) continue;
        if (connection->queue == SERVER_IDLE && !connection->busy) continue;
        count++;
        if (connection->busy) (*busy)++;
    }
    return count;
}

/* ---- epoll ---- */

static int register_bell(struct server *server) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = BELL};
    return epoll_ctl(server->epoll, EPOLL_CTL_ADD, server->bell, &event);
}

int server_open(struct server *server, const struct server_settings *settings) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    server->forks = forks;
    server->settings = *settings;
    server->ready = server->waiting = EMPTY;
    for (int queue = 0; queue < SERVER_QUEUES; queue++) server->queues[queue] = EMPTY;
    server->bell = -1;
    uint32_t fields = settings->limits.headers;
    server->table_of_head = malloc(fields * sizeof(struct http1_header));
    server->epoll = epoll_create1(EPOLL_CLOEXEC);
    server->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->table_of_head && server->epoll != -1 && server->bell != -1 && register_bell(server) == 0) {
        http1_head_init(&server->head, HTTP1_REQUEST, &server->settings.limits, server->table_of_head, fields);
        return 0;
    }
    int error = errno;
    server_close(server);
    return error;
}

static void drop_all(struct server *server) {
    for (int chunk = 0; chunk < server->chunks; chunk++) {
        struct server_connection *connections = server->table[chunk];
        for (int index = 0; connections && index < CHUNK; index++) {
            if (connections[index].number != SERVER_NONE) server_drop(server, &connections[index]);
        }
        free(connections);
    }
}

void server_close(struct server *server) {
    server->listening = 0;
    server_close_spooler(server);
    while (server->spare > 0) server_free_spare(server);
    drop_all(server);
    free(server->table);
    free(server->table_of_head);
    if (server->epoll != -1) close(server->epoll);
    if (server->bell != -1) close(server->bell);
    server->table = NULL;
    server->table_of_head = NULL;
    server->chunks = 0;
    server->ready = server->waiting = EMPTY;
    server->held = 0;
    server->epoll = server->bell = -1;
}

size_t server_bytes(const struct server *server) {
    size_t bytes = (size_t)server->chunks * sizeof(*server->table);
    for (int chunk = 0; chunk < server->chunks; chunk++) {
        if (server->table[chunk]) bytes += CHUNK * sizeof(struct server_connection);
    }
    return bytes;
}

static int look_at(const struct server *server, int index, int operation, uint32_t events) {
    if (server->listeners[index] == SERVER_NONE) return 0;

    struct epoll_event event = {.events = events, .data.u64 = LISTENER | (uint64_t)index};
    return epoll_ctl(server->epoll, operation, server->listeners[index], &event) == 0 ? 0 : errno;
}

int server_listen(struct server *server, int listener) {
    if (server->listening == SERVER_LISTENERS) return EMFILE;

    server->listeners[server->listening] = listener;
    int error = look_at(server, server->listening, EPOLL_CTL_ADD, EPOLLIN);
    if (error == 0) server->listening++;
    return error;
}

void server_deafen(struct server *server) {
    while (server->listening > 0) epoll_ctl(server->epoll, EPOLL_CTL_DEL, server->listeners[--server->listening], NULL);
}

void server_pause(struct server *server, bool paused) {
    server->paused = paused;
    for (int index = 0; index < server->listening; index++) look_at(server, index, EPOLL_CTL_MOD, paused ? 0 : EPOLLIN);
}

int server_sleep(const struct server *server, struct epoll_event *events, int milliseconds) {
    return epoll_wait(server->epoll, events, SERVER_BATCH, milliseconds);
}

void server_wake(const struct server *server) {
    uint64_t one = 1;
    ssize_t unused = write(server->bell, &one, sizeof one);
    (void)unused;
}

static void hush(const struct server *server) {
    uint64_t count;
    ssize_t unused = read(server->bell, &count, sizeof count);
    (void)unused;
}

static void take_connection(struct server *server, const struct epoll_event *event) {
    int number = (int)(uint32_t)event->data.u64;
    struct server_connection *connection = server_find(server, number, (uint32_t)(event->data.u64 >> GENERATION_SHIFT));
    if (!connection) return;

    uint32_t input = EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR;
    if (event->events & input) connection->readable = true;
    if (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) connection->ended = true;
    if (event->events & (EPOLLHUP | EPOLLERR)) connection->lost = true;
    bool output = connection->outbox && (event->events & (EPOLLOUT | EPOLLERR | EPOLLHUP));
    /* While a worker has it nobody else would: the kernel tells only once that there is room. */
    if (output && connection->busy && server_flush(connection) == 0) server_pour(connection);
    if (output || (event->events & input && !connection->outbox)) server_make_ready(server, connection);
}

bool server_take(struct server *server, const struct epoll_event *events, int count, double now) {
    bool woken = false;
    for (int index = 0; index < count; index++) {
        uint64_t token = events[index].data.u64;
        if (token == BELL) woken = true;
        else if (token >= LISTENER) server_accept(server, (int)(uint32_t)token, now);
        else take_connection(server, &events[index]);
    }
    if (woken) {
        hush(server);
        server_take_spooled(server);
    }
    return woken;
}

#endif
