/* How bytes come and go, without waiting: by recv(2) and send(2), or by libssl. */
#include "rb_wire_move.h"

#include <errno.h>
#include <sys/socket.h>

#include "../plait_io.h"
#include "../tls/rb_tls.h"

/* Not everywhere; Ruby sees to it that SIGPIPE does no harm. */
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif
#ifndef MSG_MORE
#define MSG_MORE 0
#endif

static bool wire_move_would_block(int error) {
    return error == EAGAIN || error == EWOULDBLOCK;
}

static ssize_t wire_move_failed(struct exchange *exchange, VALUE error) {
    exchange->failure = error;
    return MOVE_FAILED;
}

/* ---- plain ---- */

static ssize_t wire_move_receive_plain(struct exchange *exchange, char *to, size_t room) {
    int descriptor = plait_descriptor_of(exchange->wire->raw);
    ssize_t received;
    do received = recv(descriptor, to, room, MSG_DONTWAIT);
    while (received < 0 && errno == EINTR);
    exchange->drained = received >= 0 ? (size_t)received < room : wire_move_would_block(errno);
    if (received >= 0) return received;
    return wire_move_would_block(errno) ? MOVE_WAITS : wire_move_failed(exchange, rb_syserr_new(errno, NULL));
}

static ssize_t wire_move_send_plain(struct exchange *exchange, const char *bytes, size_t size, bool more) {
    int descriptor = plait_descriptor_of(exchange->wire->raw);
    ssize_t sent;
    do sent = send(descriptor, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    while (sent < 0 && errno == EINTR);
    if (sent < 0) return wire_move_would_block(errno) ? MOVE_WAITS : wire_move_failed(exchange, rb_syserr_new(errno, NULL));

    exchange->wire->sent = true;
    return sent;
}

/* ---- TLS ---- */

/*
 * libssl calls no Ruby after the handshake: no other fiber or thread runs meanwhile. It knows its socket by number, which may be
 * another one's after an end that the wire has not seen: that raises here.
 */
static struct ssl_st *wire_move_ssl_of(const struct wire *wire) {
    plait_descriptor_of(wire->raw);
    return wire->ssl;
}

static ssize_t wire_move_receive_tls(struct exchange *exchange, char *to, size_t room) {
    size_t most = room < TLS_RECORD ? room : TLS_RECORD;
    ssize_t received = tls_receive(wire_move_ssl_of(exchange->wire), to, most, &exchange->drained);
    if (received >= 0) return received;
    return wire_move_would_block(errno) ? MOVE_WAITS : wire_move_failed(exchange, plait_tls_error("SSL_read"));
}

static ssize_t wire_move_send_tls(struct exchange *exchange, const char *bytes, size_t size) {
    ssize_t sent = tls_send(wire_move_ssl_of(exchange->wire), bytes, size);
    if (sent < 0) return wire_move_would_block(errno) ? MOVE_WAITS : wire_move_failed(exchange, plait_tls_error("SSL_write"));

    exchange->wire->sent = true;
    return sent;
}

/* ---- either ---- */

ssize_t plait_wire_receive_now(struct exchange *exchange, char *to, size_t room) {
    if (exchange->wire->ssl) return wire_move_receive_tls(exchange, to, room);
    return wire_move_receive_plain(exchange, to, room);
}

ssize_t plait_wire_send_now(struct exchange *exchange, const char *bytes, size_t size, bool more) {
    if (exchange->wire->ssl) return wire_move_send_tls(exchange, bytes, size);
    return wire_move_send_plain(exchange, bytes, size, more);
}

/* ---- an idle connection ---- */

/* Session tickets may lie there unread: libssl takes them, and then says that nothing is there. */
static bool wire_move_unasked_tls(struct wire *wire) {
    bool drained;
    char byte;
    return tls_receive(wire_move_ssl_of(wire), &byte, 1, &drained) >= 0 || !wire_move_would_block(errno);
}

bool plait_wire_unasked(struct wire *wire) {
    if (wire->ssl) return wire_move_unasked_tls(wire);

    char byte;
    ssize_t received = recv(plait_descriptor_of(wire->raw), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return received >= 0 || !wire_move_would_block(errno);
}
