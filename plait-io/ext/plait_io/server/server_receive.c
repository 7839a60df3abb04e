/* What comes on a connection: reading, parsing, and what is kept in between, see server.h. */
#include "server.h"

#include "server_remainder.h"
#include "server_send.h"
#include "server_table.h"

#include "../tls/tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* ---- what is kept ---- */

static struct server_intake *server_receive_intake_of(const struct server *server, struct server_connection *connection) {
    if (connection->intake) return connection->intake;

    uint32_t fields = server->settings.limits.headers;
    struct server_intake *intake = calloc(1, sizeof *intake + fields * sizeof(struct http1_header));
    if (!intake) return NULL;

    http1_head_init(&intake->head, HTTP1_REQUEST, &server->settings.limits, intake->fields, fields);
    http1_head_start(&intake->head, HTTP1_TO_ANY);
    intake->body.file = -1;
    connection->intake = intake;
    return intake;
}

static int server_receive_grow(char **data, size_t *capacity, size_t size) {
    if (size <= *capacity) return 0;

    size_t larger = *capacity * 2 > size ? *capacity * 2 : size;
    char *moved = realloc(*data, larger);
    if (!moved) return ENOMEM;

    *data = moved;
    *capacity = larger;
    return 0;
}

/* What is done with is given up: a peer may go on without ever ending where a read of ours ends. */
static void server_receive_make_way(struct server_intake *intake) {
    if (intake->at == 0) return;

    memmove(intake->data, intake->data + intake->at, intake->size - intake->at);
    intake->size -= intake->at;
    intake->at = 0;
}

static int server_receive_keep(struct server_intake *intake, const char *data, size_t size) {
    if (intake->at >= intake->size / 2) server_receive_make_way(intake);
    if (server_receive_grow(&intake->data, &intake->capacity, intake->size + size) != 0) return ENOMEM;

    memcpy(intake->data + intake->size, data, size);
    intake->size += size;
    return 0;
}

/* Nothing of it can be used twice: what it holds is a fresh head, or nothing. */
static void server_receive_restart(struct server_intake *intake) {
    http1_head_start(&intake->head, HTTP1_TO_ANY);
    intake->head_size = intake->moved = 0;
    intake->complete = false;
}

static void server_receive_copy_head(struct server_intake *intake, const struct http1_head *head) {
    struct http1_header *table = intake->head.table;
    memcpy(table, head->table, head->count * sizeof *table);
    intake->head = *head;
    intake->head.table = table;
}

/* ---- bodies ---- */

/* The rest that is still to come is short enough to go along: that spares a way to the disk, which costs as much for little. */
static bool server_receive_ends_soon(const struct server *server, const struct server_intake *intake) {
    const struct http1_head *head = &intake->head;
    return head->framing == HTTP1_LENGTH && head->content_length - intake->body.size <= server->settings.spool;
}

/* A body in a file has to be there as a whole before a worker gets it. */
static bool server_receive_has_to_be_spooled(const struct server *server, const struct server_intake *intake) {
    const struct server_body *body = &intake->body;
    if (intake->complete) return body->kept > (body->file == -1 ? server->settings.spool : 0);
    return body->kept > server->settings.spool && !server_receive_ends_soon(server, intake);
}

/* Bytes to keep before they go to a file. They are reserved once enough has come, not only announced, and then move no more. */
static size_t server_receive_room_for(const struct server *server, const struct server_intake *intake, size_t size) {
    const struct http1_head *head = &intake->head;
    const struct server_body *body = &intake->body;
    size_t most = 2 * server->settings.spool + SERVER_READ, needed = body->kept + size;
    if (head->framing != HTTP1_LENGTH || needed < SERVER_READ) return needed;

    uint64_t expected = body->kept + (head->content_length - body->size);
    size_t bound = expected < most ? (size_t)expected : most;
    return bound > needed ? bound : needed;
}

/* Memory that is there already, if it is enough. */
static bool server_receive_take_spare(struct server *server, struct server_body *body, size_t room) {
    if (room < SERVER_READ || server->spare == 0 || server->spares[server->spare - 1].capacity < room) return false;

    const struct server_body *spare = &server->spares[--server->spare];
    if (body->kept > 0) memcpy(spare->data, body->data, body->kept);
    free(body->data);
    body->data = spare->data;
    body->capacity = spare->capacity;
    return true;
}

static int server_receive_make_room(struct server *server, struct server_intake *intake, size_t size) {
    struct server_body *body = &intake->body;
    if (body->kept + size <= body->capacity) return 0;

    size_t room = server_receive_room_for(server, intake, size);
    return server_receive_take_spare(server, body, room) ? 0 : server_receive_grow(&body->data, &body->capacity, room);
}

static int server_receive_store(struct server *server, struct server_intake *intake, const char *data, size_t size) {
    struct server_body *body = &intake->body;
    if (server_receive_make_room(server, intake, size) != 0) return ENOMEM;

    memcpy(body->data + body->kept, data, size);
    body->kept += size;
    body->size += size;
    return 0;
}

/* A broken rule, negated, or an errno; 0 is good. */
struct fed {
    int rule;
    int error;
    size_t consumed;
};

static struct fed server_receive_feed(struct server *server, struct server_intake *intake, const char *data, size_t size) {
    struct fed fed = {0};
    struct http1_piece piece;
    while (!intake->complete && fed.consumed < size) {
        int event = http1_body_next(&intake->framing, data + fed.consumed, size - fed.consumed, &piece);
        if (event < 0) {
            fed.rule = event;
            return fed;
        }
        if (event == HTTP1_DATA) fed.error = server_receive_store(server, intake, data + fed.consumed + piece.at, piece.size);
        if (fed.error != 0) return fed;
        intake->complete = event == HTTP1_DONE;
        fed.consumed += event == HTTP1_MORE ? size - fed.consumed : piece.consumed;
    }
    if (http1_body_done(&intake->framing)) intake->complete = true;
    return fed;
}

/* ---- a message ---- */

static int server_receive_gone(struct server *server, struct server_connection *connection) {
    server_drop(server, connection);
    return SERVER_GONE;
}

static int server_receive_malformed(struct server *server, struct server_connection *connection, ptrdiff_t result, double now) {
    const struct http1_rule *rule = http1_rule(result);
    server->counts.malformed++;
    server_refuse(server, connection, rule->status, rule->text, "", now);
    return SERVER_GONE;
}

static int server_receive_no_memory(struct server *server, struct server_connection *connection, double now) {
    server->counts.exhausted++;
    server_refuse(server, connection, 503, "the server has no room for this request", "retry-after: 5\r\n", now);
    return SERVER_GONE;
}

/* Old clients send an empty line behind a body: it is kept, since a second one is an error, but it begins no request. */
static bool server_receive_nothing_begun(const struct server_intake *intake) {
    size_t size = intake->size - intake->at;
    return size == 0 || (size == 2 && memcmp(intake->data + intake->at, "\r\n", 2) == 0);
}

static enum server_queue server_receive_queue_of(const struct server_intake *intake) {
    if (intake && intake->head_size > 0) return SERVER_BODY;
    return !intake || server_receive_nothing_begun(intake) ? SERVER_IDLE : SERVER_HEAD;
}

static int server_receive_wait_for_more(struct server *server, struct server_connection *connection, double now) {
    struct server_intake *intake = connection->intake;
    enum server_queue queue = server_receive_queue_of(intake);
    connection->busy = false;
    if (intake && intake->at == intake->size && intake->head_size == 0) server_free_intake(connection);
    if (queue == SERVER_IDLE && server->draining) return server_receive_gone(server, connection);
    bool fresh = queue == SERVER_BODY && intake->moved >= SERVER_READ;
    if (fresh) intake->moved = 0;
    if (connection->queue != queue || fresh) server_enqueue(server, connection, queue, now);
    return SERVER_WAIT;
}

/* What an answer has to know of the request, even one before the request is complete. */
static void server_receive_take_note(struct server_connection *connection, const struct http1_head *head, const char *data) {
    connection->minor = head->minor;
    connection->to_head = head->method.size == 4 && memcmp(data + head->method.at, "HEAD", 4) == 0;
}

static int server_receive_complete(struct server *server, struct server_connection *connection) {
    server_dequeue(server, connection);
    return SERVER_REQUEST;
}

static int server_receive_give_kept(struct server *server, struct server_connection *connection,
                                    struct server_request *request) {
    const struct server_intake *intake = connection->intake;
    *request = (struct server_request){.head = &intake->head, .data = intake->data + intake->at, .size = intake->head_size,
                                       .body = intake->body.data, .body_size = intake->body.size, .file = intake->body.file};
    return server_receive_complete(server, connection);
}

/* The file takes a descriptor, which belongs to the app until the answer is whole. */
static int server_receive_spool(struct server *server, struct server_connection *connection, double now) {
    if (!connection->filed && !server_has_room(server, 1)) return server_receive_no_memory(server, connection, now);
    if (!connection->filed) server_hold_descriptors(server, 1);
    connection->filed = true;
    return SERVER_SPOOL;
}

/* What of the body is there lies in `data`; the head is in the intake, at its beginning. */
static int server_receive_take_body(struct server *server, struct server_connection *connection, struct server_request *request,
                                    const char *data, size_t size, double now) {
    struct server_intake *intake = connection->intake;
    struct fed fed = server_receive_feed(server, intake, data, size);
    if (fed.rule < 0) return server_receive_malformed(server, connection, fed.rule, now);
    if (fed.error != 0) return server_receive_no_memory(server, connection, now);

    intake->moved += fed.consumed;
    if (fed.consumed < size && server_receive_keep(intake, data + fed.consumed, size - fed.consumed) != 0) {
        return server_receive_no_memory(server, connection, now);
    }
    if (server_receive_has_to_be_spooled(server, intake)) return server_receive_spool(server, connection, now);
    return intake->complete ? server_receive_give_kept(server, connection, request) : SERVER_WAIT;
}

static bool server_receive_tell_to_go_on(struct server_connection *connection) {
    static char line[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct iovec part = {.iov_base = line, .iov_len = sizeof line - 1};
    return server_send(connection, &part, 1) >= 0;
}

/* The body is chunked, or not there as a whole. */
static int server_receive_begin_body(struct server *server, struct server_connection *connection,
                                     struct server_request *request,
                                     const struct http1_body *framing, double now) {
    size_t head_size = request->size, rest = request->body_size;
    struct server_intake *intake = connection->intake;
    bool kept = intake != NULL;
    if (!kept) {
        intake = server_receive_intake_of(server, connection);
        if (!intake || server_receive_keep(intake, request->data, head_size) != 0) {
            return server_receive_no_memory(server, connection, now);
        }
        server_receive_copy_head(intake, request->head);
    }
    intake->head_size = head_size;
    intake->framing = *framing;
    if (kept) intake->size = intake->at + head_size; /* what is behind it is moved to where it belongs */
    bool asked = intake->head.expect_continue && rest == 0;
    if (asked && !server_receive_tell_to_go_on(connection)) return server_receive_gone(server, connection);
    if (!kept) return server_receive_take_body(server, connection, request, request->body, rest, now);

    char *copy = malloc(rest + 1);
    if (!copy) return server_receive_no_memory(server, connection, now);
    memcpy(copy, request->body, rest);
    int result = server_receive_take_body(server, connection, request, copy, rest, now);
    free(copy);
    return result;
}

/* `head` has been parsed: it is `size` bytes of the `available` ones at `data`. */
static int server_receive_take_head(struct server *server, struct server_connection *connection, struct server_request *request,
                                    const struct http1_head *head, const char *data, size_t size, size_t available,
                                        double now) {
    *request = (struct server_request){.head = head, .data = data, .size = size, .file = -1};
    server_receive_take_note(connection, head, data);
    if (head->framing == HTTP1_NO_BODY) return server_receive_complete(server, connection);

    struct http1_body framing;
    int error = http1_body_start(&framing, head);
    if (error < 0) return server_receive_malformed(server, connection, error, now);

    request->body = data + size;
    request->body_size = available - size;
    if (head->framing == HTTP1_LENGTH && head->content_length <= request->body_size) {
        request->body_size = (size_t)head->content_length;
        request->size += request->body_size;
        return server_receive_complete(server, connection);
    }
    return server_receive_begin_body(server, connection, request, &framing, now);
}

static int server_receive_parse_kept(struct server *server, struct server_connection *connection,
                                     struct server_request *request,
                                     double now) {
    struct server_intake *intake = connection->intake;
    const char *data = intake->data + intake->at;
    size_t size = intake->size - intake->at;
    ptrdiff_t parsed = http1_head_parse(&intake->head, data, size);
    if (parsed < 0) return server_receive_malformed(server, connection, parsed, now);
    if (parsed == 0) return SERVER_WAIT;
    return server_receive_take_head(server, connection, request, &intake->head, data, (size_t)parsed, size, now);
}

static int server_receive_parse_fresh(struct server *server, struct server_connection *connection,
                                      struct server_request *request,
                                      double now) {
    http1_head_start(&server->head, HTTP1_TO_ANY);
    ptrdiff_t parsed = http1_head_parse(&server->head, server->buffer, server->filled);
    if (parsed < 0) return server_receive_malformed(server, connection, parsed, now);
    if (parsed > 0) {
        return server_receive_take_head(server, connection, request, &server->head, server->buffer, (size_t)parsed,
                                        server->filled, now);
    }
    struct server_intake *intake = server_receive_intake_of(server, connection);
    if (!intake || server_receive_keep(intake, server->buffer, server->filled) != 0) {
        return server_receive_no_memory(server, connection, now);
    }

    server_receive_copy_head(intake, &server->head);
    return SERVER_WAIT;
}

static int server_receive_parse(struct server *server, struct server_connection *connection, struct server_request *request,
                                double now) {
    struct server_intake *intake = connection->intake;
    if (!intake) return server_receive_parse_fresh(server, connection, request, now);
    if (intake->head_size > 0) {
        return server_receive_take_body(server, connection, request, server->buffer, server->filled, now);
    }
    if (server_receive_keep(intake, server->buffer, server->filled) != 0) {
        return server_receive_no_memory(server, connection, now);
    }
    return server_receive_parse_kept(server, connection, request, now);
}

/* ---- reading ---- */

/* Once the socket has been read the kernel does not report the bytes that TLS still holds: all are taken, but for a full buffer. */
static ssize_t server_receive_decrypted(struct server *server, struct server_connection *connection) {
    bool drained;
    ssize_t size = tls_receive(connection->secure->ssl, server->buffer, SERVER_READ, &drained);
    if (drained && !(connection->ended && size > 0)) connection->readable = false;
    if (size > 0) server->filled = (size_t)size;
    return size;
}

static ssize_t server_receive_receive(struct server *server, struct server_connection *connection) {
    if (connection->secure) return server_receive_decrypted(server, connection);

    ssize_t size;
    do {
        size = recv(connection->number, server->buffer, SERVER_READ, MSG_DONTWAIT);
    } while (size == -1 && errno == EINTR);
    if (size == -1 && errno == EAGAIN) connection->readable = false;
    if (size > 0) server->filled = (size_t)size;
    /* Less than there was room for was all; another event reports what comes later. */
    if (size > 0 && size < SERVER_READ && !connection->ended) connection->readable = false;
    return size;
}

/* What the peer still sends is of no interest; but if it were not read, a reset would overtake what we have said. */
static int server_receive_linger(struct server *server, struct server_connection *connection, double now) {
    if (connection->since + server->settings.seconds[SERVER_LINGER] <= now) return server_receive_gone(server, connection);
    for (int times = 0; connection->readable; times++) {
        ssize_t size = server_receive_receive(server, connection);
        if (size == 0 || (size == -1 && errno != EAGAIN)) return server_receive_gone(server, connection);
        if (times >= 16) break;
    }
    connection->busy = false;
    if (connection->readable) server_make_ready(server, connection);
    return SERVER_WAIT;
}

static int server_receive_send_first(struct server *server, struct server_connection *connection, double now) {
    if (server_flush(connection) != 0) return server_receive_gone(server, connection);
    bool fresh = !connection->outbox;
    if (fresh && server_pour(connection) != 0) return server_receive_gone(server, connection);
    if (!connection->outbox) {
        server_finish(server, connection, !connection->closing, now);
        return SERVER_WAIT;
    }
    connection->busy = false;
    fresh |= connection->outbox->taken >= SERVER_READ;
    if (fresh) connection->outbox->taken = 0;
    if (fresh || connection->queue != SERVER_STALLED) server_enqueue(server, connection, SERVER_STALLED, now);
    return SERVER_WAIT;
}

int server_receive(struct server *server, struct server_connection *connection, struct server_request *request, double now) {
    if (connection->outbox || connection->remainder) return server_receive_send_first(server, connection, now);
    if (connection->lingering) return server_receive_linger(server, connection, now);

    int result = SERVER_WAIT;
    struct server_intake *intake = connection->intake;
    if (intake && intake->body.error != 0) return server_receive_no_memory(server, connection, now);
    if (intake && intake->complete) return server_receive_give_kept(server, connection, request);
    if (intake && intake->head_size == 0 && intake->at < intake->size)
        result = server_receive_parse_kept(server, connection, request, now);
    else if (intake && intake->head_size == 0) server_free_intake(connection);

    for (int times = 0; result == SERVER_WAIT && connection->readable && times < 16; times++) {
        ssize_t size = server_receive_receive(server, connection);
        if (size == 0 || (size == -1 && errno != EAGAIN)) return server_receive_gone(server, connection);
        if (size > 0) result = server_receive_parse(server, connection, request, now);
    }
    if (result != SERVER_WAIT) return result;
    if (server_receive_wait_for_more(server, connection, now) == SERVER_GONE) return SERVER_GONE;
    if (connection->readable) server_make_ready(server, connection); /* others had to wait long enough */
    return SERVER_WAIT;
}

/* ---- handing over ---- */

int server_begin(struct server *server, struct server_connection *connection, const struct server_request *request) {
    struct server_intake *intake = connection->intake;
    connection->requests++;
    connection->given = true;
    server->counts.requests++;
    connection->answering = connection->open_ended = false;
    if (intake) {
        intake->at += request->size;
        intake->body.file = -1; /* the caller's */
        server_free_body(&intake->body);
        server_receive_restart(intake);
        if (intake->at == intake->size) server_free_intake(connection);
        return 0;
    }
    size_t rest = server->filled - request->size;
    if (rest == 0) return 0;

    intake = server_receive_intake_of(server, connection);
    return intake ? server_receive_keep(intake, request->data + request->size, rest) : ENOMEM;
}

int server_hold(struct server *server, struct server_connection *connection, const struct server_request *request,
                double now) {
    struct server_intake *intake = connection->intake;
    if (!intake) {
        intake = server_receive_intake_of(server, connection);
        if (!intake || server_receive_keep(intake, request->data, server->filled) != 0) return ENOMEM;
    } else if (!intake->complete) {
        server_receive_restart(intake);
    }
    server->held++;
    connection->since = now;
    server_push(server, &server->waiting, connection);
    return 0;
}
