/* What goes out on a connection, see server.h. */
#include "server.h"

#include "server_send.h"
#include "server_system.h"
#include "server_table.h"

#include "../tls/tls.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Parts that sendmsg(2) takes at once. */
enum { PARTS = IOV_MAX };

const char *server_date(void) {
    static char date[SERVER_DATE + 1];
    static time_t written = -1;
    time_t now = time(NULL);
    if (now == written) return date;

    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &utc);
    written = now;
    return date;
}

static size_t server_send_total(const struct iovec *parts, int count) {
    size_t size = 0;
    for (int index = 0; index < count; index++) size += parts[index].iov_len;
    return size;
}

/* Advances the parts by what was sent; returns how many are done. */
static int server_send_advance(struct iovec *parts, int count, size_t sent) {
    int done = 0;
    while (done < count && sent >= parts[done].iov_len) sent -= parts[done++].iov_len;
    if (done < count) {
        parts[done].iov_base = (char *)parts[done].iov_base + sent;
        parts[done].iov_len -= sent;
    }
    return done;
}

/* Small parts make one record. What was not taken is sent again from the outbox, which begins with the same bytes. */
static ssize_t server_send_encrypted(const struct server_secure *secure, const struct iovec *parts, int count) {
    if (count == 1 || parts->iov_len >= TLS_RECORD) return tls_send(secure->ssl, parts->iov_base, parts->iov_len);

    char record[TLS_RECORD];
    size_t size = 0;
    for (int index = 0; index < count && size < TLS_RECORD; index++) {
        size_t room = TLS_RECORD - size, more = parts[index].iov_len < room ? parts[index].iov_len : room;
        memcpy(record + size, parts[index].iov_base, more);
        size += more;
    }
    return tls_send(secure->ssl, record, size);
}

static ssize_t server_send_transmit_once(int number, struct iovec *parts, int count) {
    int flags = MSG_DONTWAIT | SERVER_NO_SIGNAL;
    if (count == 1) return send(number, parts->iov_base, parts->iov_len, flags);

    struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)(count < PARTS ? count : PARTS)};
    return sendmsg(number, &message, flags);
}

static ssize_t server_send_transmit(const struct server_connection *connection, struct iovec *parts, int count) {
    if (connection->secure) return server_send_encrypted(connection->secure, parts, count);

    ssize_t sent;
    do {
        sent = server_send_transmit_once(connection->number, parts, count);
    } while (sent == -1 && errno == EINTR);
    return sent;
}

static struct server_outbox *server_send_room_for(struct server_connection *connection, size_t size) {
    struct server_outbox *outbox = connection->outbox;
    if (outbox && outbox->at > outbox->size / 2) {
        memmove(outbox->data, outbox->data + outbox->at, outbox->size - outbox->at);
        outbox->size -= outbox->at;
        outbox->at = 0;
    }
    size_t needed = (outbox ? outbox->size : 0) + size;
    if (outbox && needed <= outbox->capacity) return outbox;

    struct server_outbox *larger = realloc(outbox, sizeof *larger + needed);
    if (!larger) return NULL;
    if (!outbox) larger->at = larger->taken = larger->size = 0;
    larger->capacity = needed;
    return connection->outbox = larger;
}

static ssize_t server_send_keep(struct server_connection *connection, const struct iovec *parts, int count) {
    size_t size = server_send_total(parts, count);
    if (size == 0 && !connection->outbox) return 0;

    struct server_outbox *outbox = server_send_room_for(connection, size);
    if (!outbox) return -ENOMEM;
    for (int index = 0; index < count; index++) {
        memcpy(outbox->data + outbox->size, parts[index].iov_base, parts[index].iov_len);
        outbox->size += parts[index].iov_len;
    }
    return (ssize_t)(outbox->size - outbox->at);
}

int server_flush(struct server_connection *connection) {
    struct server_outbox *outbox = connection->outbox;
    while (outbox && outbox->at < outbox->size) {
        struct iovec part = {.iov_base = outbox->data + outbox->at, .iov_len = outbox->size - outbox->at};
        ssize_t sent = server_send_transmit(connection, &part, 1);
        if (sent == -1) return errno == EAGAIN ? 0 : errno;
        outbox->at += (size_t)sent;
        outbox->taken += (size_t)sent;
    }
    free(outbox);
    connection->outbox = NULL;
    return 0;
}

ssize_t server_send(struct server_connection *connection, struct iovec *parts, int count) {
    connection->answering = true;
    if (connection->outbox) {
        int error = server_flush(connection);
        if (error != 0) return -error;
    }
    while (count > 0 && !connection->outbox) {
        ssize_t sent = server_send_transmit(connection, parts, count);
        if (sent == -1 && errno != EAGAIN) return -errno;
        if (sent == -1) break;
        int done = server_send_advance(parts, count, (size_t)sent);
        parts += done;
        count -= done;
    }
    return server_send_keep(connection, parts, count);
}

/* A reset would overtake the answer if the peer has sent bytes that were not read. */
static void server_send_close_gently(struct server *server, struct server_connection *connection, double now) {
    bool unread = connection->readable || connection->intake || server_has_come(connection);
    connection->open_ended = false; /* it is whole */
    if (!unread || connection->ended) return server_drop(server, connection);
    if (connection->secure) tls_finish(connection->secure->ssl);
    if (shutdown(connection->number, SHUT_WR) != 0) return server_drop(server, connection);

    server_free_intake(connection);
    connection->lingering = true;
    server_enqueue(server, connection, SERVER_LINGER, now);
    connection->readable = true;
    server_make_ready(server, connection);
}

void server_finish(struct server *server, struct server_connection *connection, bool persistent, double now) {
    connection->busy = connection->given = connection->to_head = false;
    server_uncount_file(server, connection);
    if (!persistent || server->draining || connection->requests >= server->settings.requests) connection->closing = true;
    /* There may be room by now, and the kernel has reported it to the worker: it does not report twice. */
    if (connection->outbox && server_flush(connection) != 0) return server_drop(server, connection);
    if (connection->outbox) return server_enqueue(server, connection, SERVER_STALLED, now);
    if (connection->closing) return server_send_close_gently(server, connection, now);

    bool more = connection->intake != NULL;
    server_enqueue(server, connection, more ? SERVER_HEAD : SERVER_IDLE, now);
    if (more || connection->readable || connection->ended) {
        connection->readable |= connection->ended;
        server_make_ready(server, connection);
    }
}

void server_refuse(struct server *server, struct server_connection *connection, int status, const char *text,
                   const char *fields, double now) {
    char answer[1024]; /* the texts are the server's own, and short */
    int size = snprintf(answer, sizeof answer,
                        "HTTP/1.1 %d %s\r\ndate: %s\r\ncontent-type: text/plain\r\ncontent-length: %zu\r\n"
                        "connection: close\r\n%s\r\n",
                        status, server_reason(status), server_date(), strlen(text) + 1, fields);
    if (!connection->to_head) size += snprintf(answer + size, sizeof answer - (size_t)size, "%s\n", text);
    struct iovec part = {.iov_base = answer, .iov_len = (size_t)size};
    if (server_send(connection, &part, 1) < 0) return server_drop(server, connection);

    connection->readable = true; /* it may be in the middle of sending */
    connection->ended = false;
    server_finish(server, connection, false, now);
}
