/* How bytes come and go, without waiting: by recv(2) and send(2), or by what speaks TLS. */
#include "rb_wire_move.h"

#include <errno.h>
#include <sys/socket.h>

#include "../plait_io.h"

/* Not everywhere; Ruby sees to it that SIGPIPE does no harm. */
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif
#ifndef MSG_MORE
#define MSG_MORE 0
#endif

/* A TLS record: what one read or write moves at most. */
enum { RECORD = 16 * 1024 };

static ID id_read, id_write, id_pending;
static VALUE wait_readable, wait_writable;
static VALUE no_exception; /* {exception: false} */
static VALUE ssl_error = Qnil;

/*
 * The buffer of TLS reads, for all wires. A reader takes it out first: OpenSSL may call back into Ruby, and that may switch to
 * a fiber that reads too.
 */
static VALUE spare = Qnil;

static bool wire_move_would_block(int error) {
    return error == EAGAIN || error == EWOULDBLOCK;
}

static ssize_t wire_move_failed(struct exchange *exchange, VALUE error) {
    exchange->failure = error;
    return MOVE_FAILED;
}

/* ---- plain ---- */

static ssize_t wire_move_receive_plain(struct exchange *exchange, char *to, size_t room, int *events) {
    int descriptor = plait_descriptor_of(exchange->wire->raw);
    ssize_t received;
    do received = recv(descriptor, to, room, MSG_DONTWAIT);
    while (received < 0 && errno == EINTR);
    if (received >= 0) return received;
    if (!wire_move_would_block(errno)) return wire_move_failed(exchange, rb_syserr_new(errno, NULL));

    *events = PLAIT_READABLE;
    return MOVE_WAITS;
}

ssize_t plait_wire_send_bytes(struct exchange *exchange, const char *bytes, size_t size, bool more) {
    int descriptor = plait_descriptor_of(exchange->wire->raw);
    ssize_t sent;
    do sent = send(descriptor, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    while (sent < 0 && errno == EINTR);
    if (sent < 0) return wire_move_would_block(errno) ? MOVE_WAITS : wire_move_failed(exchange, rb_syserr_new(errno, NULL));

    exchange->wire->sent = true;
    return sent;
}

/* ---- TLS ---- */

/* One call of a method of the SSLSocket. */
struct tls_call {
    VALUE io;
    ID method;
    int count; /* of arguments */
    VALUE arguments[3];
};

static VALUE wire_move_call_tls(VALUE argument) {
    const struct tls_call *call = (const struct tls_call *)argument;
    return rb_funcallv_kw(call->io, call->method, call->count, call->arguments, RB_PASS_KEYWORDS);
}

/* Qundef stands for what it raised. */
static VALUE wire_move_note_failure(VALUE exchange, VALUE error) {
    wire_move_failed((struct exchange *)exchange, error);
    return Qundef;
}

/* OpenSSL is loaded, since there is a socket of it. */
VALUE plait_wire_tls_error(void) {
    if (NIL_P(ssl_error)) ssl_error = rb_path2class("OpenSSL::SSL::SSLError");
    return ssl_error;
}

static VALUE wire_move_try_tls(struct exchange *exchange, struct tls_call *call) {
    return rb_rescue2(wire_move_call_tls, (VALUE)call, wire_move_note_failure, (VALUE)exchange, rb_eSystemCallError,
                      rb_eIOError,
                      plait_wire_tls_error(), (VALUE)0);
}

/* Whether it is one of the symbols that say so. */
static bool wire_move_waits(VALUE result, int *events) {
    *events = result == wait_readable ? PLAIT_READABLE : PLAIT_WRITABLE;
    return result == wait_readable || result == wait_writable;
}

static VALUE wire_move_take_spare(void) {
    VALUE buffer = spare;
    spare = Qnil;
    return NIL_P(buffer) ? rb_str_buf_new(RECORD) : buffer;
}

static ssize_t wire_move_receive_tls(struct exchange *exchange, char *to, size_t room, int *events) {
    VALUE buffer = wire_move_take_spare();
    struct tls_call call = {.io = exchange->wire->io, .method = id_read, .count = 3,
                            .arguments = {INT2FIX(room < RECORD ? room : RECORD), buffer, no_exception}};
    VALUE result = wire_move_try_tls(exchange, &call);
    ssize_t received = 0;
    if (result == Qundef) {
        received = MOVE_FAILED;
    } else if (wire_move_waits(result, events)) {
        received = MOVE_WAITS;
    } else if (!NIL_P(result)) {
        received = RSTRING_LEN(result);
        memcpy(to, RSTRING_PTR(result), (size_t)received);
    }
    spare = buffer;
    RB_GC_GUARD(buffer);
    return received;
}

/* The rest of the String shares its memory, and as it is frozen OpenSSL makes no copy of it. */
static ssize_t wire_move_send_tls(struct exchange *exchange, VALUE string, size_t from, int *events) {
    size_t left = (size_t)RSTRING_LEN(string) - from;
    VALUE piece = from == 0 && left <= RECORD ? string : rb_str_subseq(string, (long)from, (long)(left < RECORD ? left : RECORD));
    struct tls_call call = {.io = exchange->wire->io, .method = id_write, .count = 2,
                            .arguments = {rb_obj_freeze(piece), no_exception}};
    VALUE result = wire_move_try_tls(exchange, &call);
    if (result == Qundef) return MOVE_FAILED;
    if (wire_move_waits(result, events)) return MOVE_WAITS;

    exchange->wire->sent = true;
    return NUM2SSIZET(result);
}

/* ---- either ---- */

ssize_t plait_wire_receive_now(struct exchange *exchange, char *to, size_t room, int *events) {
    if (exchange->wire->tls) return wire_move_receive_tls(exchange, to, room, events);
    return wire_move_receive_plain(exchange, to, room, events);
}

ssize_t plait_wire_send_now(struct exchange *exchange, VALUE string, size_t from, bool more, int *events) {
    if (exchange->wire->tls) return wire_move_send_tls(exchange, string, from, events);

    *events = PLAIT_WRITABLE;
    return plait_wire_send_bytes(exchange, RSTRING_PTR(string) + from, (size_t)RSTRING_LEN(string) - from, more);
}

/* ---- an idle connection ---- */

/* Session tickets may lie there unread: OpenSSL takes them, and then says that nothing is there. */
static bool wire_move_unasked_tls(struct wire *wire) {
    struct exchange exchange = {.wire = wire, .failure = Qnil};
    int events;
    char byte;
    return wire_move_receive_tls(&exchange, &byte, 1, &events) != MOVE_WAITS;
}

bool plait_wire_tls_pending(const struct wire *wire) {
    return NUM2INT(rb_funcall(wire->io, id_pending, 0)) > 0;
}

bool plait_wire_unasked(struct wire *wire) {
    if (wire->tls && plait_wire_tls_pending(wire)) return true;

    char byte;
    ssize_t received = recv(plait_descriptor_of(wire->raw), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (received < 0 && wire_move_would_block(errno)) return false;
    return wire->tls && received > 0 ? wire_move_unasked_tls(wire) : true;
}

void plait_init_wire_move(void) {
    id_read = rb_intern("sysread_nonblock");
    id_write = rb_intern("syswrite_nonblock");
    id_pending = rb_intern("pending");
    wait_readable = ID2SYM(rb_intern("wait_readable"));
    wait_writable = ID2SYM(rb_intern("wait_writable"));
    no_exception = rb_hash_new();
    rb_hash_aset(no_exception, ID2SYM(rb_intern("exception")), Qfalse);
    rb_obj_freeze(no_exception);
    rb_gc_register_mark_object(no_exception);
    rb_gc_register_address(&ssl_error);
    rb_gc_register_address(&spare);
}
