/*
 * Sends a body that has `each`, piece by piece: each piece at once, since the next one may take long. By chunks where its length
 * is unknown.
 */
#include "rb_server.h"

/* Bytes that the peer has not taken; above it the writer waits, as in Answer. */
enum { OUTBOX = 64 * 1024 };

/* Hexadecimal digits of a chunk's size, and what ends their line. */
enum { SIZE_LINE = 18 };

static ID id_each, id_settle;

struct parts {
    struct exchange *exchange;
    struct iovec head; /* until it is sent */
    long length, sent; /* a length of -1: it is unknown */
    VALUE body;
    bool broken;       /* a piece was not sent whole: no other may follow */
};

/* What the block of an `each` has. The app may keep it, and call it when there are no `parts` any more, be it in a fork. */
struct guard {
    struct parts *parts; /* on the stack; NULL: the answer is over */
    unsigned generation; /* of processes */
};

static const rb_data_type_t guard_type = {
    .wrap_struct_name = "Plait::Server::Parts",
    .function = {.dfree = RUBY_DEFAULT_FREE},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static struct guard *server_parts_guard(VALUE self) {
    return rb_check_typeddata(self, &guard_type);
}

/* Its file is loaded when there is something to answer. */
static VALUE server_parts_lost(void) {
    static VALUE lost;
    if (!lost) rb_gc_register_mark_object(lost = rb_path2class("Plait::Server::Answer::Lost"));
    return lost;
}

NORETURN(static void server_parts_lose(void));
static void server_parts_lose(void) {
    rb_raise(server_parts_lost(), "the peer is gone");
}

/* In a fork the stacks of other threads are not there, and the peer is the parent's. */
static struct parts *server_parts_of(VALUE self) {
    const struct guard *guard = server_parts_guard(self);
    if (guard->generation != plait_generation()) server_parts_lose();
    if (!guard->parts) rb_raise(rb_eIOError, "the answer is over");
    return guard->parts;
}

/* Sends them behind the head, if that is still to be sent. Waits while the peer takes less: then others run. */
static void server_parts_write(VALUE guard, struct iovec *pieces, int count) {
    struct parts *parts = server_parts_of(guard);
    struct server_connection *connection = plait_server_connection(parts->exchange);
    if (!connection) server_parts_lose();

    pieces[0] = parts->head;
    int sent = parts->head.iov_len == 0; /* of the pieces */
    parts->head.iov_len = 0;
    ssize_t kept = server_send(connection, pieces + sent, count - sent);
    if (kept < 0) server_parts_lose();
    if (kept > OUTBOX) rb_funcall(parts->exchange->server->reply, id_settle, 1, parts->exchange->handle);
}

static struct iovec server_parts_line_of(char *line, unsigned long size) {
    char *at = line + SIZE_LINE, *end = at;
    *--at = '\n';
    *--at = '\r';
    do *--at = "0123456789abcdef"[size % 16];
    while ((size /= 16) > 0);
    return (struct iovec){.iov_base = at, .iov_len = (size_t)(end - at)};
}

/* A large one in parts, so that there is no copy of all of it while the peer takes it slowly. */
static void server_parts_write_piece(VALUE guard, VALUE piece, bool chunked) {
    size_t size = (size_t)RSTRING_LEN(piece), at = 0;
    char line[SIZE_LINE];
    if (size > SERVER_PIECE) piece = rb_str_new_frozen(piece); /* others may change it while the peer takes it */
    do {
        size_t next = size - at < SERVER_PIECE ? size - at : SERVER_PIECE;
        struct iovec pieces[4];
        int count = 1;
        if (chunked && at == 0) pieces[count++] = server_parts_line_of(line, size);
        pieces[count++] = (struct iovec){.iov_base = RSTRING_PTR(piece) + at, .iov_len = next};
        at += next;
        if (chunked && at == size) pieces[count++] = (struct iovec){.iov_base = (void *)"\r\n", .iov_len = 2};
        server_parts_write(guard, pieces, count);
    } while (at < size);
    RB_GC_GUARD(piece);
}

static void server_parts_count(struct parts *parts, long size) {
    parts->sent += size;
    if (parts->length < 0 || parts->sent <= parts->length) return;

    rb_raise(rb_path2class("Plait::LocalProtocolError"),
             "the app's content-length is %ld, but its body goes on after that", parts->length);
}

static VALUE server_parts_take(VALUE piece, VALUE guard, int argc, const VALUE *argv, VALUE block) {
    (void)argc, (void)argv, (void)block;
    struct parts *parts = server_parts_of(guard);
    if (!RB_TYPE_P(piece, T_STRING)) rb_raise(rb_eTypeError, "a body yields Strings, not %" PRIsVALUE, rb_obj_class(piece));
    if (parts->broken) server_parts_lose();
    if (RSTRING_LEN(piece) == 0) return Qtrue;

    parts->broken = true;
    server_parts_count(parts, RSTRING_LEN(piece));
    server_parts_write_piece(guard, piece, parts->length < 0);
    server_parts_of(guard)->broken = false;
    return Qtrue;
}

/* The app may have rescued what broke it. */
static VALUE server_parts_send(VALUE guard) {
    struct parts *parts = server_parts_of(guard);
    rb_block_call(parts->body, id_each, 0, NULL, server_parts_take, guard);
    if (parts->broken) server_parts_lose();
    if (parts->sent < parts->length) {
        rb_raise(rb_path2class("Plait::LocalProtocolError"), "the app's content-length is %ld, but its body has %ld bytes",
                 parts->length, parts->sent);
    }
    struct iovec pieces[2];
    int count = 1;
    if (parts->length < 0) pieces[count++] = (struct iovec){.iov_base = (void *)"0\r\n\r\n", .iov_len = 5};
    if (count > 1 || parts->head.iov_len > 0) server_parts_write(guard, pieces, count);
    return Qnil;
}

static VALUE server_parts_drop(VALUE guard, VALUE error) {
    (void)error;
    struct exchange *exchange = server_parts_guard(guard)->parts->exchange; /* also in a fork of this very thread */
    exchange->close = true;
    plait_server_abandon(exchange);
    return Qnil;
}

static VALUE server_parts_try(VALUE guard) {
    return rb_rescue2(server_parts_send, guard, server_parts_drop, guard, server_parts_lost(), (VALUE)0);
}

static VALUE server_parts_end(VALUE guard) {
    server_parts_guard(guard)->parts = NULL;
    return Qnil;
}

void plait_server_send_parts(struct exchange *exchange, struct iovec head, long length, VALUE body) {
    struct parts parts = {.exchange = exchange, .head = head, .length = length, .body = body};
    struct guard *guard;
    VALUE self = TypedData_Make_Struct(0, struct guard, &guard_type, guard);
    *guard = (struct guard){.parts = &parts, .generation = plait_generation()};
    rb_ensure(server_parts_try, self, server_parts_end, self);
}

void plait_server_init_parts(void) {
    id_each = rb_intern("each");
    id_settle = rb_intern("settle");
}
