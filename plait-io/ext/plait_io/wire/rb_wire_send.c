/*
 * Requests on their way. A small one is put together in a static buffer and needs no Ruby object. While a long one waits for
 * the peer to take more, the peer is listened to: it may have answered already (413, say), and then it will not take the rest.
 */
#include "rb_wire_send.h"

#include "../plait_io.h"
#include "../tls/tls.h"
#include "rb_wire_move.h"
#include "rb_wire_receive.h"
#include "rb_wire_wait.h"

/* The largest request that is sent from one piece of memory. */
enum { SMALL = 16 * 1024 };

static char outgoing[SMALL];

static ID id_each, id_bad_target;

/* ---- one String ---- */

static void wire_send_wait_to_send(struct exchange *exchange) {
    int events = exchange->deaf ? PLAIT_WRITABLE : PLAIT_WRITABLE | PLAIT_READABLE;
    int came = plait_wire_wait(exchange, events, WAIT_TO_SEND);
    if (came & PLAIT_READABLE && !exchange->deaf) plait_wire_listen(exchange);
}

/* From an offset on; it must not change meanwhile. `more` says that more follows at once. */
static void wire_send_string(struct exchange *exchange, VALUE string, size_t from, bool more) {
    size_t size = (size_t)RSTRING_LEN(string);
    while (from < size && !exchange->stopped) {
        ssize_t sent = plait_wire_send_now(exchange, RSTRING_PTR(string) + from, size - from, more);
        if (sent >= 0) {
            from += (size_t)sent;
            if (from < size) plait_wire_keep_pace(exchange, WAIT_TO_SEND);
        } else if (sent == MOVE_WAITS) {
            wire_send_wait_to_send(exchange);
        } else {
            exchange->stopped = true;
        }
    }
    RB_GC_GUARD(string);
}

/* Bytes that the next switch may overwrite. */
static void wire_send_volatile(struct exchange *exchange, const char *bytes, size_t size) {
    ssize_t sent = plait_wire_send_now(exchange, bytes, size, false);
    if (sent == (ssize_t)size) return;

    exchange->stopped = sent == MOVE_FAILED;
    size_t done = sent > 0 ? (size_t)sent : 0;
    if (!exchange->stopped) wire_send_string(exchange, rb_str_new(bytes + done, (long)(size - done)), 0, false);
}

/* ---- GET ---- */

struct target {
    const char *bytes;
    size_t size;
    bool slash; /* one has to be put before it */
};

/* What follows the origin in a URL, without the fragment, which is not the server's business (RFC 9110 §7.1). */
static struct target wire_send_target_of(VALUE url, size_t offset) {
    struct target target = {.bytes = RSTRING_PTR(url) + offset, .size = (size_t)RSTRING_LEN(url) - offset};
    const char *fragment = memchr(target.bytes, '#', target.size);
    if (fragment) target.size = (size_t)(fragment - target.bytes);
    target.slash = target.size == 0 || target.bytes[0] == '?';
    return target;
}

static char *wire_send_append(char *to, const char *bytes, size_t size) {
    memcpy(to, bytes, size);
    return to + size;
}

#define APPEND_LITERAL(to, literal) wire_send_append(to, literal, sizeof(literal) - 1)

/* Returns its end. */
static char *wire_send_compose(char *to, const struct target *target, VALUE block) {
    to = APPEND_LITERAL(to, "GET ");
    if (target->slash) *to++ = '/';
    to = wire_send_append(to, target->bytes, target->size);
    to = APPEND_LITERAL(to, " HTTP/1.1\r\n");
    to = wire_send_append(to, RSTRING_PTR(block), (size_t)RSTRING_LEN(block));
    return APPEND_LITERAL(to, "\r\n");
}

static int wire_send_broken_rule_of(const struct target *target) {
    if (target->size == 0) return 0;

    int broken = http1_check_target("GET", 3, target->bytes, target->size);
    return target->slash && broken == -HTTP1_E_TARGET_FORM ? 0 : broken;
}

static size_t wire_send_size_of_get(const struct target *target, VALUE block) {
    return sizeof("GET  HTTP/1.1\r\n\r\n") - 1 + target->slash + target->size + (size_t)RSTRING_LEN(block);
}

void plait_wire_check_target(VALUE self, VALUE url, size_t offset) {
    struct target target = wire_send_target_of(url, offset);
    if (!wire_send_broken_rule_of(&target)) return;

    VALUE bytes = rb_str_new(target.bytes, (long)target.size);
    rb_exc_raise(rb_funcall(self, id_bad_target, 1, bytes));
}

void plait_wire_send_get(struct exchange *exchange) {
    struct target target = wire_send_target_of(exchange->first, exchange->offset);
    size_t size = wire_send_size_of_get(&target, exchange->second);
    if (size <= sizeof outgoing) {
        wire_send_compose(outgoing, &target, exchange->second);
        wire_send_volatile(exchange, outgoing, size);
    } else {
        VALUE request = rb_str_buf_new((long)size);
        wire_send_compose(RSTRING_PTR(request), &target, exchange->second);
        rb_str_set_len(request, (long)size);
        wire_send_string(exchange, request, 0, false);
    }
    RB_GC_GUARD(exchange->first);
    RB_GC_GUARD(exchange->second);
}

bool plait_wire_small_get(const struct exchange *exchange) {
    struct target target = wire_send_target_of(exchange->first, exchange->offset);
    return !wire_send_broken_rule_of(&target) && wire_send_size_of_get(&target, exchange->second) <= sizeof outgoing;
}

VALUE plait_wire_send_small_get(struct exchange *exchange) {
    struct target target = wire_send_target_of(exchange->first, exchange->offset);
    size_t size = wire_send_size_of_get(&target, exchange->second);
    wire_send_compose(outgoing, &target, exchange->second);
    ssize_t sent = plait_wire_send_now(exchange, outgoing, size, false);
    if (sent == (ssize_t)size) return Qnil;

    size_t done = sent > 0 ? (size_t)sent : 0;
    return rb_str_new(outgoing + done, (long)(size - done));
}

/* ---- other requests ---- */

/* Bytes: a longer piece is not copied where the socket takes a part of it. */
enum { PIECE = 64 * 1024 };

/* Seconds between two looks for an early answer; raising it sends more of a body that is not wanted. */
static const double LISTEN = 0.01;

/* A peer that takes all that comes never lets us wait. */
static void wire_send_listen(struct exchange *exchange) {
    double now = plait_now();
    if (exchange->deaf || now - exchange->listened_at < LISTEN) return;

    exchange->listened_at = now;
    plait_wire_listen(exchange);
    if (exchange->stopped) rb_iter_break();
}

/* A reader of files puts its next bytes into the same String, which a frozen twin of it would give new memory. */
static VALUE wire_send_piece(RB_BLOCK_CALL_FUNC_ARGLIST(piece, argument)) {
    (void)argc, (void)argv, (void)blockarg;
    struct exchange *exchange = (struct exchange *)argument;
    StringValue(piece);
    wire_send_listen(exchange);
    plait_wire_keep_pace(exchange, WAIT_TO_SEND);
    size_t size = (size_t)RSTRING_LEN(piece);
    if (size > (exchange->wire->ssl ? TLS_RECORD : PIECE)) wire_send_string(exchange, rb_str_new_frozen(piece), 0, false);
    else wire_send_volatile(exchange, RSTRING_PTR(piece), size);
    RB_GC_GUARD(piece);
    if (exchange->stopped) rb_iter_break();
    return Qnil;
}

static void wire_send_body(struct exchange *exchange, VALUE body) {
    if (NIL_P(body) || exchange->stopped) return;

    if (RB_TYPE_P(body, T_STRING)) wire_send_string(exchange, rb_str_new_frozen(body), 0, false);
    else rb_block_call(body, id_each, 0, NULL, wire_send_piece, (VALUE)exchange);
}

static void wire_send_head_and_string(struct exchange *exchange, VALUE head, VALUE body) {
    size_t head_size = (size_t)RSTRING_LEN(head);
    size_t body_size = (size_t)RSTRING_LEN(body);
    if (head_size + body_size <= sizeof outgoing) {
        wire_send_append(wire_send_append(outgoing, RSTRING_PTR(head), head_size), RSTRING_PTR(body), body_size);
        wire_send_volatile(exchange, outgoing, head_size + body_size);
    } else {
        body = rb_str_new_frozen(body);
        wire_send_string(exchange, rb_str_new_frozen(head), 0, true);
        wire_send_string(exchange, body, 0, false);
    }
    RB_GC_GUARD(head);
    RB_GC_GUARD(body);
}

void plait_wire_send(struct exchange *exchange) {
    VALUE head = exchange->first;
    VALUE body = exchange->second;
    if (NIL_P(head)) {
        wire_send_body(exchange, body);
    } else if (NIL_P(body)) {
        wire_send_volatile(exchange, RSTRING_PTR(head), (size_t)RSTRING_LEN(head));
    } else if (RB_TYPE_P(body, T_STRING)) {
        wire_send_head_and_string(exchange, head, body);
    } else {
        wire_send_string(exchange, rb_str_new_frozen(head), 0, false);
        wire_send_body(exchange, body);
    }
}

void plait_init_wire_send(void) {
    id_each = rb_intern("each");
    id_bad_target = rb_intern("bad_target!");
}
