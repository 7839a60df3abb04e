/*
 * Plait::Server::Exchange: one request's hold on its connection, for what is more than a Hash and an Array. It knows the
 * connection by number, generation and serial, so that one kept too long reaches no connection.
 */
#include "rb_server.h"

#include <errno.h>
#include <ruby/thread.h>

#include "server_file.h"
#include "server_send.h"

static VALUE exchange_class;

enum { GENERATION_SHIFT = 24 };

/* Bytes of a file read at once for TLS: they lie on the stack, which may be a fiber's. And how many are sent before others run. */
enum { FILE_PIECE = 16 * 1024, FILE_TURN = 256 * 1024 };

VALUE plait_server_handle(const struct exchange *exchange) {
    uint64_t ticket = (uint64_t)exchange->generation << GENERATION_SHIFT | (uint32_t)exchange->number;
    VALUE handle = rb_struct_alloc_noinit(exchange_class); /* rb_struct_new calls a method */
    RSTRUCT_SET(handle, 0, exchange->server->self);
    RSTRUCT_SET(handle, 1, ULL2NUM(ticket));
    RSTRUCT_SET(handle, 2, UINT2NUM(exchange->serial));
    return handle;
}

static struct server_connection *server_exchange_connection_of(VALUE self, struct rb_server **server) {
    *server = plait_server_of(RSTRUCT_GET(self, 0));
    uint64_t ticket = NUM2ULL(RSTRUCT_GET(self, 1));
    struct exchange exchange = {.server = *server, .serial = NUM2UINT(RSTRUCT_GET(self, 2))};
    exchange.number = (int)(ticket & ((1 << GENERATION_SHIFT) - 1));
    exchange.generation = (uint32_t)(ticket >> GENERATION_SHIFT);
    struct server_connection *connection = plait_server_connection(&exchange);
    /* After the answer the app has nothing to do with it, though it has that number until its next request begins. */
    return connection && connection->given ? connection : NULL;
}

/* write(parts): an Array of Strings. Returns the bytes that the peer has not taken, or nil when it is gone. */
static VALUE server_exchange_write(VALUE self, VALUE array) {
    struct rb_server *server;
    struct server_connection *connection = server_exchange_connection_of(self, &server);
    if (!connection) return Qnil;

    int count = (int)RARRAY_LEN(array);
    VALUE holder = 0;
    struct iovec *parts = rb_alloc_tmp_buffer_with_count(&holder, (size_t)count * sizeof *parts + 1, (size_t)count + 1);
    for (int index = 0; index < count; index++) {
        VALUE part = RARRAY_AREF(array, index);
        Check_Type(part, T_STRING);
        parts[index] = (struct iovec){.iov_base = RSTRING_PTR(part), .iov_len = (size_t)RSTRING_LEN(part)};
    }
    ssize_t kept = server_send(connection, parts, count);
    rb_free_tmp_buffer(&holder);
    RB_GC_GUARD(array);
    return kept < 0 ? Qnil : SSIZET2NUM(kept);
}

/* interim(parts): as write, but the answer itself does not start by it; once it has started, nothing is sent. */
static VALUE server_exchange_interim(VALUE self, VALUE array) {
    struct rb_server *server;
    struct server_connection *connection = server_exchange_connection_of(self, &server);
    if (!connection || connection->answering) return Qnil;

    VALUE kept = server_exchange_write(self, array);
    connection->answering = false;
    return kept;
}

/* open_ended: the end of the connection will be the end of the answer. One that is cut then ends by a reset. */
static VALUE server_exchange_open_ended(VALUE self) {
    struct rb_server *server;
    struct server_connection *connection = server_exchange_connection_of(self, &server);
    if (connection) connection->open_ended = true;
    return self;
}

/* The disk may be slow, and other threads need not wait for it. */
struct file_part {
    int to, from;
    off_t offset;
    size_t count;
    ssize_t sent;
    int error;
};

static void *server_exchange_send_part(void *argument) {
    struct file_part *part = argument;
    part->sent = server_file_send(part->to, part->from, part->offset, part->count);
    part->error = errno;
    return NULL;
}

/*
 * By TLS: a piece that the peer does not take lies in the outbox, and no other is read before it has. Nothing else may call libssl
 * for this connection meanwhile, so it keeps the GVL.
 */
static VALUE server_exchange_encrypt_file(struct server_connection *connection, int file, off_t offset, size_t count) {
    char piece[FILE_PIECE];
    size_t done = 0;
    while (done < count && done < FILE_TURN) {
        if (connection->outbox && server_flush(connection) != 0) return Qnil;
        if (connection->outbox) break;

        ssize_t size = pread(file, piece, count - done < FILE_PIECE ? count - done : FILE_PIECE, offset + (off_t)done);
        if (size <= 0) return done > 0 ? SIZET2NUM(done) : size == 0 ? Qfalse : Qnil;
        struct iovec part = {.iov_base = piece, .iov_len = (size_t)size};
        if (server_send(connection, &part, 1) < 0) return Qnil;
        done += (size_t)size;
    }
    return SIZET2NUM(done);
}

/* send_file(descriptor, offset, count): returns the bytes sent, 0 when it would wait, nil when it is gone. */
static VALUE server_exchange_send_file(VALUE self, VALUE descriptor, VALUE offset, VALUE count) {
    struct rb_server *server;
    struct server_connection *connection = server_exchange_connection_of(self, &server);
    if (!connection) return Qnil;

    if (connection->secure) return server_exchange_encrypt_file(connection, NUM2INT(descriptor), NUM2OFFT(offset), NUM2SIZET(count));

    struct file_part part = {.to = connection->number, .from = NUM2INT(descriptor), .offset = NUM2OFFT(offset)};
    part.count = NUM2SIZET(count);
    part.sent = -1;
    part.error = EINTR;
    rb_nogvl(server_exchange_send_part, &part, RUBY_UBF_IO, NULL, RB_NOGVL_INTR_FAIL);
    if (part.sent == 0) return Qfalse; /* the file is shorter */
    if (part.sent > 0) return SSIZET2NUM(part.sent);
    if (part.error == EINTR) rb_thread_check_ints();
    return part.error == EAGAIN || part.error == EINTR ? INT2FIX(0) : Qnil;
}

/* NativeServer.present?(descriptor, offset, count): whether that of a file, by samples, is read without a wait for the disk */
static VALUE server_exchange_is_file_present(VALUE self, VALUE descriptor, VALUE offset, VALUE count) {
    (void)self;
    return server_file_is_present(NUM2INT(descriptor), NUM2OFFT(offset), NUM2OFFT(count)) ? Qtrue : Qfalse;
}

/* NativeServer.open_known(path): its descriptor; nil: it is no file, can't be opened, or that may take a wait for the disk */
static VALUE server_exchange_open_known(VALUE self, VALUE path) {
    (void)self;
    path = rb_get_path(path);
    int number = server_file_open_known(StringValueCStr(path));
    if (number == -1) return Qnil;

    rb_update_max_fd(number);
    return INT2NUM(number);
}

void plait_server_init_exchange(VALUE native) {
    rb_define_singleton_method(native, "open_known", server_exchange_open_known, 1);
    rb_define_singleton_method(native, "present?", server_exchange_is_file_present, 3);
}

/* number: the descriptor, or nil when it is gone. */
static VALUE server_exchange_number(VALUE self) {
    struct rb_server *server;
    struct server_connection *connection = server_exchange_connection_of(self, &server);
    return connection ? INT2NUM(connection->number) : Qnil;
}

/*
 * detach: [descriptor, bytes that were received behind the request, what speaks TLS or nil], the caller's from now on; nil when it is
 * gone.
 */
static VALUE server_exchange_detach(VALUE self) {
    struct rb_server *server;
    struct server_connection *connection = server_exchange_connection_of(self, &server);
    if (!connection) return Qnil;

    const struct server_intake *intake = connection->intake;
    VALUE rest = intake ? rb_str_new(intake->data + intake->at, (long)(intake->size - intake->at)) : rb_str_new(NULL, 0);
    VALUE secure = plait_server_socket_of(connection->secure);
    int number = server_detach(&server->engine, connection);
    server_forget(connection);
    rb_update_max_fd(number);
    return rb_ary_new_from_args(3, INT2NUM(number), rest, secure);
}

/* env: of the request, while its app runs; else nil, also in a fork that an app has made */
static VALUE server_exchange_env(VALUE self) {
    const struct rb_server *server = plait_server_of(RSTRUCT_GET(self, 0));
    if (server->generation != plait_generation()) return Qnil;

    const struct exchange *exchange = server->performing;
    while (exchange && exchange->handle != self) exchange = exchange->next;
    return exchange ? exchange->env : Qnil;
}

/* answering?: whether something of an answer was sent */
static VALUE server_exchange_answering(VALUE self) {
    struct rb_server *server;
    const struct server_connection *connection = server_exchange_connection_of(self, &server);
    return !connection || connection->answering ? Qtrue : Qfalse;
}

/* version_minor: 0 or 1 */
static VALUE server_exchange_minor(VALUE self) {
    struct rb_server *server;
    const struct server_connection *connection = server_exchange_connection_of(self, &server);
    return INT2FIX(connection ? connection->minor : 1);
}

void plait_server_define_exchange(VALUE server_class) {
    exchange_class = rb_const_get(server_class, rb_intern("Exchange"));
    rb_gc_register_mark_object(exchange_class);
    rb_define_method(exchange_class, "write", server_exchange_write, 1);
    rb_define_method(exchange_class, "interim", server_exchange_interim, 1);
    rb_define_method(exchange_class, "send_file", server_exchange_send_file, 3);
    rb_define_method(exchange_class, "number", server_exchange_number, 0);
    rb_define_method(exchange_class, "detach", server_exchange_detach, 0);
    rb_define_method(exchange_class, "open_ended", server_exchange_open_ended, 0);
    rb_define_method(exchange_class, "env", server_exchange_env, 0);
    rb_define_method(exchange_class, "answering?", server_exchange_answering, 0);
    rb_define_method(exchange_class, "minor", server_exchange_minor, 0);
}
