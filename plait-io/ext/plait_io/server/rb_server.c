/*
 * Plait::Server::NativeCore: the connections of a server and its workers, as Ruby sees them. What a worker does is in
 * rb_server_work.c.
 */
#include "rb_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "../plait_io.h"

/* ---- the object ---- */

static VALUE server_allocate(VALUE class) {
    struct rb_server *server;
    VALUE self = TypedData_Make_Struct(class, struct rb_server, &plait_server_type, server);
    server->engine.kernel.number = server->engine.kernel.wakeup = -1;
    server->self = self;
    server->io = server->scheduler = server->called = server->folder = Qnil;
    server->app = server->reply = server->hybrid = server->spawner = server->resting = Qnil;
    server->generation = plait_generation();
    return self;
}

/* new(app, reply, hybrid, spawner, settings): the Hash is the caller's to keep, see NativeCore in Ruby */
static VALUE server_initialize(VALUE self, VALUE app, VALUE reply, VALUE hybrid, VALUE spawner, VALUE settings) {
    struct rb_server *server = plait_server_of(self);
    server->folder = rb_str_new_frozen(plait_server_setting(settings, "folder"));
    struct server_settings engine = plait_server_settings(settings, server->folder);
    int error = server_open(&server->engine, &engine);
    if (error != 0) rb_syserr_fail(error, SERVER_KERNEL);

    rb_update_max_fd(server->engine.kernel.number);
    rb_update_max_fd(server->engine.kernel.wakeup);
    server->app = app;
    server->reply = reply;
    server->inheriting = RTEST(rb_attr_get(reply, rb_intern("@storage")));
    server->hybrid = hybrid;
    server->spawner = spawner;
    server->resting = rb_ary_new();
    server->limit = NUM2LONG(plait_server_setting(settings, "limit"));
    server->queue = NUM2LONG(plait_server_setting(settings, "queue"));
    rb_ivar_set(self, rb_intern("@settings"), settings);
    return self;
}

/*
 * listen(io, scheme, name, port, protocol = "HTTP/1.1"): Strings; an IO of nil: see `bring`. Returns its index. Whatever the
 * protocol is called, the connections of the listener speak HTTP/1.1.
 */
static VALUE server_listen_to(int argc, VALUE *argv, VALUE self) {
    VALUE io, scheme, name, port, protocol;
    rb_scan_args(argc, argv, "41", &io, &scheme, &name, &port, &protocol);
    struct rb_server *server = plait_server_of(self);
    int number = NIL_P(io) ? SERVER_NONE : plait_descriptor_of(io);
    int index = server->engine.listening;
    if (index == SERVER_LISTENERS) rb_raise(rb_eArgError, "a server has %d listening sockets at most", SERVER_LISTENERS);

    struct rb_server_listener *listener = &server->listeners[index];
    listener->name = rb_str_new_frozen(name);
    listener->port = rb_str_new_frozen(port);
    plait_server_listener(listener, rb_str_new_frozen(scheme), NIL_P(protocol) ? Qnil : rb_str_new_frozen(protocol));
    int error = server_listen(&server->engine, number);
    if (error != 0) rb_syserr_fail(error, SERVER_KERNEL);
    return INT2FIX(index);
}

static void server_set_address(struct server_connection *connection, const char *address) {
    if (inet_pton(AF_INET, address, connection->address) == 1) connection->family = AF_INET;
    else if (inet_pton(AF_INET6, address, connection->address) == 1) connection->family = AF_INET6;
}

/* bring(descriptor, index, address): a connection accepted elsewhere; the descriptor is copied. */
static VALUE server_bring_one(VALUE self, VALUE descriptor, VALUE index, VALUE address) {
    struct rb_server *server = plait_server_of(self);
    const char *text = StringValueCStr(address);
    int number = fcntl(NUM2INT(descriptor), F_DUPFD_CLOEXEC, 3);
    if (number == -1) rb_sys_fail("a descriptor");
    fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK);
    struct server_connection *connection = server_bring(&server->engine, number, NUM2INT(index), NULL, plait_server_now());
    if (!connection) {
        int error = errno;
        close(number);
        rb_syserr_fail(error ? error : ENOMEM, SERVER_KERNEL);
    }
    server_set_address(connection, text);
    return self;
}

/* bring_secure(socket, index, address): an SSLSocket after its handshake; its descriptor is the core's from then on. */
static VALUE server_bring_secure(VALUE self, VALUE socket, VALUE index, VALUE address) {
    struct rb_server *server = plait_server_of(self);
    const char *text = StringValueCStr(address);
    int listener = NUM2INT(index);
    VALUE raw = rb_funcall(socket, rb_intern("to_io"), 0);
    int number = plait_descriptor_of(raw);
    fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK);
    struct server_secure *secure = plait_server_secure(server, socket);
    struct server_connection *connection = server_bring(&server->engine, number, listener, secure, plait_server_now());
    if (!connection) {
        int error = errno;
        secure->release(secure);
        rb_syserr_fail(error ? error : ENOMEM, SERVER_KERNEL);
    }
    server_set_address(connection, text);
    rb_funcall(raw, rb_intern("autoclose="), 1, Qfalse);
    return self;
}

/* hold(count): descriptors in front of connections that are brought; below 0: they are there no more */
static VALUE server_hold_some(VALUE self, VALUE count) {
    server_hold_descriptors(&plait_server_of(self)->engine, NUM2INT(count));
    return self;
}

/* room?(count): whether there may be so many descriptors more */
static VALUE server_has_room_for(VALUE self, VALUE count) {
    return server_has_room(&plait_server_of(self)->engine, NUM2UINT(count)) ? Qtrue : Qfalse;
}

/* ---- from outside ---- */

/* sweep: ends what takes too long; and begins a worker where the last one has gone and there was no other */
static VALUE server_sweep_now(VALUE self) {
    struct rb_server *server = plait_server_of(self);
    server_sweep(&server->engine, plait_server_now());
    int state = server->workers > 0 || server->stopped ? 0 : plait_server_call_now(server);
    if (state != 0) rb_jump_tag(state);
    return self;
}

/* drain: takes no further connections, closes idle ones, and each of the others after its request */
static VALUE server_begin_to_end(VALUE self) {
    struct rb_server *server = plait_server_of(self);
    server_drain(&server->engine, plait_server_now());
    server_wake(&server->engine); /* for workers that are ready by this */
    return self;
}

/* retire: takes no further connections, and closes each connection after the next answer that says so */
static VALUE server_retire(VALUE self) {
    struct rb_server *server = plait_server_of(self);
    server_deafen(&server->engine);
    server->engine.retiring = true;
    return self;
}

/* halt: the workers leave, as far as they aren't in the app */
static VALUE server_halt(VALUE self) {
    struct rb_server *server = plait_server_of(self);
    server->stopped = true;
    server_wake(&server->engine);
    if (server->direct) plait_native_push(server->native, server->self);
    else while (server->parked > 0) plait_server_wake_one(server);
    return self;
}

/* close: closes all connections. No worker may be at work. */
static VALUE server_close_all(VALUE self) {
    server_close(&plait_server_of(self)->engine);
    return Qnil;
}

/* unfinished: how many requests would be cut by the end; some go on without their connection */
static VALUE server_requests_unfinished(VALUE self) {
    const struct rb_server *server = plait_server_of(self);
    uint32_t busy, connections = server_unfinished(&server->engine, &busy);
    return LONG2NUM((long)connections + server->running - (long)busy);
}

static void server_count(VALUE hash, const char *name, uint64_t number) {
    rb_hash_aset(hash, ID2SYM(rb_intern(name)), ULL2NUM(number));
}

static VALUE server_statistics(VALUE self) {
    const struct rb_server *server = plait_server_of(self);
    const struct server_counts *counts = &server->engine.counts;
    VALUE hash = rb_hash_new();
    server_count(hash, "connections", server->engine.count);
    server_count(hash, "idle", server->engine.idle);
    server_count(hash, "accepted", counts->accepted);
    server_count(hash, "requests", counts->requests);
    server_count(hash, "running", (uint64_t)server->running);
    server_count(hash, "waiting", server->engine.held);
    server_count(hash, "workers", (uint64_t)server->workers);
    server_count(hash, "malformed", counts->malformed);
    server_count(hash, "expired", counts->expired);
    server_count(hash, "refused", counts->refused);
    server_count(hash, "exhausted", counts->exhausted);
    return hash;
}

/* ---- wiring ---- */

/* NativeServer.define_core(server): once its classes in Ruby are there */
static VALUE server_define_core(VALUE self, VALUE server_class) {
    plait_server_define_env(server_class);
    plait_server_define_exchange(server_class);
    plait_server_define_hybrid(server_class);
    VALUE core = rb_define_class_under(server_class, "NativeCore", rb_cObject);
    rb_define_alloc_func(core, server_allocate);
    rb_define_method(core, "initialize", server_initialize, 5);
    rb_define_method(core, "listen", server_listen_to, -1);
    rb_define_method(core, "bring", server_bring_one, 3);
    rb_define_method(core, "bring_secure", server_bring_secure, 3);
    rb_define_method(core, "hold", server_hold_some, 1);
    rb_define_method(core, "room?", server_has_room_for, 1);
    rb_define_method(core, "sweep", server_sweep_now, 0);
    rb_define_method(core, "drain", server_begin_to_end, 0);
    rb_define_method(core, "retire", server_retire, 0);
    rb_define_method(core, "halt", server_halt, 0);
    rb_define_method(core, "close", server_close_all, 0);
    rb_define_method(core, "unfinished", server_requests_unfinished, 0);
    rb_define_method(core, "statistics", server_statistics, 0);
    plait_server_define_perform(core);
    plait_server_define_calls(core);
    plait_server_define_work(core);
    return self;
}

/* NativeServer.reason(status) */
static VALUE server_reason_of(VALUE self, VALUE status) {
    (void)self;
    return rb_str_new_cstr(server_reason(NUM2INT(status)));
}

/*
 * NativeServer.redirect(descriptor, to): from one moment to the next. IO#reopen, which does this too, raises in the threads that
 * are about to print, and forgets for a moment that the stream is not to be buffered.
 */
static VALUE server_redirect(VALUE self, VALUE descriptor, VALUE to) {
    (void)self;
    while (dup2(NUM2INT(to), NUM2INT(descriptor)) == -1) {
        if (errno != EINTR && errno != EBUSY) rb_sys_fail("dup2(2)");
    }
    return Qnil;
}

void plait_init_server(VALUE plait) {
    plait_server_init_errors();
    plait_server_init_perform();
    plait_server_init_request();
    plait_server_init_rest();
    plait_server_init_env();
    plait_server_init_respond();
    plait_server_init_parts();
    VALUE native = rb_define_module_under(plait, "NativeServer");
    rb_define_singleton_method(native, "define_core", server_define_core, 1);
    rb_define_singleton_method(native, "reason", server_reason_of, 1);
    rb_define_singleton_method(native, "redirect", server_redirect, 2);
    plait_server_init_exchange(native);
}
