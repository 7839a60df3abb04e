/*
 * Plait::Server::NativeCore: the workers of a server. Each, a thread or a fiber, takes connections that are ready, and runs
 * the app for those with a complete request. When none is ready, one of them waits for all, and the others are parked.
 *
 * Before the app is called somebody else is called, who takes over if the app waits. If it doesn't, the same worker goes on
 * with the next connection, without any switch in between.
 */
#include "rb_server.h"

#ifdef __linux__

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <ruby/fiber/scheduler.h>
#include <ruby/io.h>
#include <ruby/thread.h>
#include <string.h>
#include <unistd.h>

#include "rb_scheduler.h"
#include "rb_selector.h"

/* Connections served before it is seen to interrupts, such as the end of a thread's time slice. */
enum { CHECK_EVERY = 64 };

/*
 * Seconds that the first of a full queue may have waited before further requests are refused: who runs the app may but wait
 * for the GVL, and the burst be over as soon as he has it.
 */
static const double PATIENCE = 0.25;

/* Workers called one after another, while each waits in the app, before the loop of fibers looks at all else. */
enum { CALLS = 16 };

/* Seconds after which other fibers are let run, as Scheduler::SLICE. */
static const double SLICE = 0.004;

static ID id_call, id_autoclose, id_for_fd, id_fail, id_finished, id_close, id_new;
static VALUE response_finished_key, queued_key;

/* ---- the object ---- */

static void server_mark(void *data) {
    const struct rb_server *server = data;
    rb_gc_mark(server->self); /* so that it does not move */
    rb_gc_mark(server->app);
    rb_gc_mark(server->reply);
    rb_gc_mark(server->hybrid);
    rb_gc_mark(server->spawner);
    rb_gc_mark(server->parking);
    rb_gc_mark(server->resting);
    rb_gc_mark(server->called);
    rb_gc_mark(server->io);
    rb_gc_mark(server->scheduler);
    for (int index = 0; index < SERVER_LISTENERS; index++) {
        for (int size = 0; size < RB_SERVER_TEMPLATES; size++) rb_gc_mark(server->listeners[index].templates[size]);
        rb_gc_mark(server->listeners[index].name);
        rb_gc_mark(server->listeners[index].port);
    }
}

static void server_free(void *data) {
    struct rb_server *server = data;
    if (server->generation == plait_generation()) server_close(&server->engine);
    xfree(server);
}

static size_t server_size(const void *data) {
    return sizeof(struct rb_server) + server_bytes(&((const struct rb_server *)data)->engine);
}

static const rb_data_type_t server_type = {
    .wrap_struct_name = "Plait::Server::NativeCore",
    .function = {.dmark = server_mark, .dfree = server_free, .dsize = server_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

struct rb_server *plait_server_of(VALUE self) {
    return rb_check_typeddata(self, &server_type);
}

static VALUE server_allocate(VALUE class) {
    struct rb_server *server;
    VALUE self = TypedData_Make_Struct(class, struct rb_server, &server_type, server);
    server->engine.epoll = server->engine.bell = -1;
    server->self = self;
    server->io = server->scheduler = server->called = Qnil;
    server->app = server->reply = server->hybrid = server->spawner = server->parking = server->resting = Qnil;
    server->generation = plait_generation();
    return self;
}

/* ---- settings ---- */

static VALUE setting(VALUE settings, const char *name) {
    return rb_hash_fetch(settings, ID2SYM(rb_intern(name)));
}

static double seconds_of(VALUE settings, const char *name) {
    VALUE value = setting(settings, name);
    return NIL_P(value) ? INFINITY : NUM2DBL(value);
}

static uint32_t number_of(VALUE settings, const char *name) {
    VALUE value = setting(settings, name);
    return NIL_P(value) ? UINT32_MAX : NUM2UINT(value);
}

static struct http1_limits limits_of(VALUE settings) {
    struct http1_limits limits = http1_default_limits;
    VALUE body = setting(settings, "body");
    limits.body = NIL_P(body) ? UINT64_MAX : NUM2ULL(body);
    limits.start_line = number_of(settings, "start_line");
    limits.head = number_of(settings, "head");
    limits.headers = number_of(settings, "headers");
    limits.chunk_extensions = number_of(settings, "chunk_extensions");
    limits.trailer = number_of(settings, "trailer");
    return limits;
}

static struct server_settings settings_of(VALUE settings) {
    struct server_settings engine = {.limits = limits_of(settings)};
    engine.seconds[SERVER_IDLE] = seconds_of(settings, "idle_timeout");
    engine.seconds[SERVER_HEAD] = seconds_of(settings, "head_timeout");
    engine.seconds[SERVER_BODY] = seconds_of(settings, "body_timeout");
    engine.seconds[SERVER_STALLED] = seconds_of(settings, "write_timeout");
    engine.seconds[SERVER_LINGER] = 2;
    engine.waiting = seconds_of(settings, "queue_timeout");
    engine.spool = NUM2SIZET(setting(settings, "spool"));
    VALUE folder = setting(settings, "folder");
    engine.folder = StringValueCStr(folder);
    engine.connections = number_of(settings, "connections");
    engine.requests = number_of(settings, "requests");
    return engine;
}

/* new(app, reply, hybrid, spawner, settings): the Hash is the caller's to keep, see NativeCore in Ruby */
static VALUE server_initialize(VALUE self, VALUE app, VALUE reply, VALUE hybrid, VALUE spawner, VALUE settings) {
    struct rb_server *server = plait_server_of(self);
    struct server_settings engine = settings_of(settings);
    int error = server_open(&server->engine, &engine);
    if (error != 0) rb_syserr_fail(error, "epoll");

    rb_update_max_fd(server->engine.epoll);
    rb_update_max_fd(server->engine.bell);
    server->app = app;
    server->reply = reply;
    server->hybrid = hybrid;
    server->spawner = spawner;
    server->parking = rb_funcall(rb_path2class("Thread::Queue"), id_new, 0);
    server->resting = rb_ary_new();
    server->limit = NUM2LONG(setting(settings, "limit"));
    server->queue = NUM2LONG(setting(settings, "queue"));
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
    if (error != 0) rb_syserr_fail(error, "epoll_ctl");
    return INT2FIX(index);
}

static void set_address(struct server_connection *connection, const char *address) {
    if (inet_pton(AF_INET, address, connection->address) == 1) connection->family = AF_INET;
    else if (inet_pton(AF_INET6, address, connection->address) == 1) connection->family = AF_INET6;
}

/* bring(descriptor, index, address): a connection accepted elsewhere; the descriptor is copied. Returns its ticket. */
static VALUE server_bring_one(VALUE self, VALUE descriptor, VALUE index, VALUE address) {
    struct rb_server *server = plait_server_of(self);
    const char *text = StringValueCStr(address);
    int number = fcntl(NUM2INT(descriptor), F_DUPFD_CLOEXEC, 3);
    if (number == -1) rb_sys_fail("a descriptor");
    fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK);
    struct server_connection *connection = server_bring(&server->engine, number, NUM2INT(index), plait_server_now());
    if (!connection) {
        int error = errno;
        close(number);
        rb_syserr_fail(error ? error : ENOMEM, "epoll_ctl");
    }
    set_address(connection, text);
    return rb_assoc_new(INT2NUM(number), UINT2NUM(connection->generation));
}

/* cut?(ticket): of one that was brought and has ended: whether its last answer was cut, though only its end tells */
static VALUE server_has_cut(VALUE self, VALUE ticket) {
    int number = NUM2INT(rb_ary_entry(ticket, 0));
    return server_was_cut(&plait_server_of(self)->engine, number, NUM2UINT(rb_ary_entry(ticket, 1))) ? Qtrue : Qfalse;
}

/* ---- workers ---- */

/* Signals come to the main thread: elsewhere it was the app that has raised one. */
static bool is_signal(VALUE error) {
    return rb_obj_is_kind_of(error, rb_eSignal) && rb_thread_current() == rb_thread_main();
}

bool plait_server_is_error(VALUE error) {
    if (!RTEST(error) || RB_SPECIAL_CONST_P(error) || RB_BUILTIN_TYPE(error) == T_IMEMO) return false;
    if (!rb_obj_is_kind_of(error, rb_eException) || is_signal(error)) return false;
    return !rb_obj_is_kind_of(error, rb_path2class("Plait::Mechanisms::Interruption"));
}

static VALUE spawn(VALUE server) {
    return rb_funcall(((struct rb_server *)server)->spawner, id_call, 0);
}

/* Where the system gives no further thread, those that are there do the work. Returns the state to go on with, or 0. */
static int try_to_spawn(struct rb_server *server) {
    int state = 0;
    server->awake = true;
    server->workers++;
    rb_protect(spawn, (VALUE)server, &state);
    if (state == 0) return 0;

    server->awake = false;
    server->workers--;
    if (!plait_server_is_error(rb_errinfo())) return state;
    rb_set_errinfo(Qnil);
    server->engine.counts.exhausted++;
    return 0;
}

/*
 * There is always one worker more than may run the app, so that somebody can wait for the connections. Who is called is
 * `awake` until he has come; so of `polling` and `awake` one is true while anybody has nothing to do.
 */
static int call_now(struct rb_server *server) {
    if (server->parked == 0) return server->workers <= server->limit ? try_to_spawn(server) : 0;

    plait_server_wake_one(server);
    return 0;
}

/* Of threads one may be between two requests, without the GVL: it takes over as soon as it has it. */
static bool somebody_stands_by(const struct rb_server *server) {
    return NIL_P(server->scheduler) && server->workers > server->running + server->parked;
}

static int call_somebody(struct rb_server *server) {
    if (server->polling || server->awake || server->stopped || somebody_stands_by(server)) return 0;

    if (!server->native || !plait_native_ends_waits(server->native)) return call_now(server);
    server->wanted = true;
    if (!server->noted) plait_native_push(server->native, server->self);
    server->noted = true;
    return 0;
}

/* Each serves until he waits; by then he has noted, most often, that one more is wanted. */
static VALUE call_one_after_another(VALUE argument) {
    struct rb_server *server = (struct rb_server *)argument;
    double until = plait_server_now() + SLICE;
    int state = 0;
    server->wanted = true;
    for (int calls = 0; state == 0 && server->wanted && calls < CALLS; calls++) {
        if (calls > 0 && plait_server_now() >= until) break;
        server->wanted = false;
        if (!server->polling && !server->awake && !server->stopped) state = call_now(server);
    }
    if (state != 0) rb_jump_tag(state);
    return Qnil;
}

static VALUE end_calls(VALUE argument) {
    struct rb_server *server = (struct rb_server *)argument;
    server->noted = server->wanted && !server->stopped;
    if (server->noted) plait_native_push(server->native, server->self);
    return Qnil;
}

/*
 * transfer: called by the loop of fibers, between two of them, after `call_somebody`. If the app has not waited, the worker
 * waits for connections himself by now, and nobody has to be called: that saves two switches each time.
 */
static VALUE server_look(VALUE self) {
    struct rb_server *server = plait_server_of(self);
    while (server->stopped && server->direct && server->parked > 0) plait_server_wake_one(server);
    return rb_ensure(call_one_after_another, (VALUE)server, end_calls, (VALUE)server);
}

struct poll {
    struct rb_server *server;
    struct epoll_event events[SERVER_BATCH];
    int count; /* of events; -1 with error */
    int error;
};

static void *sleep_without_gvl(void *argument) {
    struct poll *poll = argument;
    poll->count = server_sleep(&poll->server->engine, poll->events, -1);
    poll->error = errno;
    return NULL;
}

/* It does not sleep while anything is pending, be it a turn that others are to have: so that is seen to each time. */
static void sleep_on_thread(struct poll *poll) {
    rb_nogvl(sleep_without_gvl, poll, RUBY_UBF_IO, NULL, RB_NOGVL_INTR_FAIL);
}

static VALUE epoll_as_io(struct rb_server *server) {
    if (!NIL_P(server->io)) return server->io;

    VALUE io = rb_funcall(rb_cIO, id_for_fd, 1, INT2FIX(server->engine.epoll));
    rb_funcall(io, id_autoclose, 1, Qfalse);
    return server->io = io;
}

static void wait_in_fiber(struct rb_server *server) {
    VALUE io = epoll_as_io(server);
    if (server->native) plait_native_wait(server->native, server->scheduler, io, PLAIT_READABLE, NULL);
    else rb_fiber_scheduler_io_wait(server->scheduler, io, INT2FIX(PLAIT_READABLE), Qnil);
}

static VALUE wait_for_connections(VALUE argument) {
    struct poll *poll = (struct poll *)argument;
    if (NIL_P(poll->server->scheduler)) {
        sleep_on_thread(poll);
    } else {
        wait_in_fiber(poll->server);
        poll->server->yielded = plait_server_now();
    }
    return Qnil;
}

static VALUE end_wait(VALUE argument) {
    ((const struct poll *)argument)->server->polling = false;
    return Qnil;
}

static void take(struct poll *poll) {
    if (poll->count > 0) server_take(&poll->server->engine, poll->events, poll->count, plait_server_now());
    if (poll->count == -1 && poll->error != EINTR) rb_syserr_fail(poll->error, "epoll_wait");
    poll->count = 0;
}

/* While others run the app in their fibers, these have to be let go on too. */
static bool others_wait(const struct rb_server *server) {
    return server->running > 0 || plait_server_now() - server->yielded > SLICE;
}

static void poll_connections(struct rb_server *server) {
    struct poll poll = {.server = server, .error = EINTR};
    bool fibers = !NIL_P(server->scheduler);
    if (!fibers || !others_wait(server)) poll.count = server_sleep(&server->engine, poll.events, 0);
    if (poll.count <= 0) {
        poll.count = -1;
        server->polling = true;
        rb_ensure(wait_for_connections, (VALUE)&poll, end_wait, (VALUE)&poll);
        if (fibers && server->engine.epoll != -1) poll.count = server_sleep(&server->engine, poll.events, 0);
    }
    take(&poll);
    rb_thread_check_ints();
}

/* ---- a request ---- */

struct server_connection *plait_server_connection(const struct exchange *exchange) {
    const struct server *engine = &exchange->server->engine;
    struct server_connection *connection = server_find(engine, exchange->number, exchange->generation);
    return connection && connection->requests == exchange->serial ? connection : NULL;
}

static VALUE run_app(VALUE argument) {
    struct exchange *exchange = (struct exchange *)argument;
    plait_server_input(exchange);
    plait_server_respond(exchange, rb_funcallv(exchange->server->app, id_call, 1, &exchange->env));
    return Qnil;
}

static VALUE report(VALUE argument) {
    const struct exchange *exchange = (const struct exchange *)argument;
    rb_funcall(exchange->server->reply, id_fail, 2, exchange->env, rb_errinfo());
    return Qnil;
}

void plait_server_abandon(const struct exchange *exchange) {
    struct server_connection *connection = plait_server_connection(exchange);
    if (connection) server_drop(&exchange->server->engine, connection);
}

/* Returns the state to go on with, or 0. */
static int handle_failure(struct exchange *exchange, int state, VALUE *error) {
    *error = rb_errinfo();
    if (!plait_server_is_error(*error)) {
        plait_server_abandon(exchange);
        return state;
    }
    int failed = 0;
    rb_protect(report, (VALUE)exchange, &failed);
    if (failed != 0 && plait_server_is_error(rb_errinfo())) failed = 0;
    if (failed == 0) rb_set_errinfo(Qnil);
    struct server_connection *connection = plait_server_connection(exchange);
    if (connection && connection->begun) server_drop(&exchange->server->engine, connection);
    else if (connection) server_refuse(&exchange->server->engine, connection, 500, "the application failed", "", plait_server_now());
    return failed;
}

struct ending {
    struct exchange *exchange;
    VALUE callables, error;
};

static VALUE call_finished(VALUE argument) {
    const struct ending *ending = (const struct ending *)argument;
    const struct exchange *exchange = ending->exchange;
    if (!NIL_P(exchange->input)) rb_funcall(exchange->input, id_close, 0);
    if (!NIL_P(ending->callables)) {
        rb_funcall(exchange->server->reply, id_finished, 5, ending->callables, exchange->env, exchange->status,
                   exchange->headers, ending->error);
    }
    return Qnil;
}

static void end_request(struct exchange *exchange, int state, VALUE error) {
    struct ending ending = {.exchange = exchange, .error = error, .callables = rb_hash_lookup(exchange->env, response_finished_key)};
    if (!RB_TYPE_P(ending.callables, T_ARRAY) || RARRAY_LEN(ending.callables) == 0) ending.callables = Qnil;
    if (NIL_P(ending.callables) && NIL_P(exchange->input)) return; /* as mostly */

    int failed = 0;
    rb_protect(call_finished, (VALUE)&ending, &failed);
    if (state == 0 && failed != 0) rb_set_errinfo(Qnil);
}

int plait_server_perform(struct exchange *exchange) {
    int state = 0;
    VALUE error = Qnil;
    struct server_connection *connection;
    rb_protect(run_app, (VALUE)exchange, &state);
    if (state != 0) {
        state = handle_failure(exchange, state, &error);
    } else if ((connection = plait_server_connection(exchange))) {
        server_finish(&exchange->server->engine, connection, !exchange->close, plait_server_now());
    }
    end_request(exchange, state, error);
    return state;
}

static bool is_last(const struct rb_server *server, const struct server_connection *connection) {
    return connection->requests + 1 >= server->engine.settings.requests;
}

static void run(struct rb_server *server, struct server_connection *connection, const struct server_request *request) {
    struct exchange exchange = {.server = server, .number = connection->number, .generation = connection->generation,
                                .minor = connection->minor, .serial = connection->requests + 1, .status = Qnil,
                                .headers = Qnil, .persistent = request->head->persistent && !is_last(server, connection)};
    plait_server_env(&exchange, connection, request);
    if (server->waited >= 0) rb_hash_aset(exchange.env, queued_key, DBL2NUM(server->waited));
    if (server_begin(&server->engine, connection, request) != 0) return server_drop(&server->engine, connection);

    server->running++;
    int state = call_somebody(server);
    if (state != 0) plait_server_abandon(&exchange);
    else state = NIL_P(server->hybrid) ? plait_server_perform(&exchange) : plait_server_run_hybrid(&exchange);
    server->running--;
    if (state != 0) rb_jump_tag(state);
    RB_GC_GUARD(exchange.env);
}

static void refuse(struct rb_server *server, struct server_connection *connection) {
    server->engine.counts.refused++;
    server_refuse(&server->engine, connection, 503, "the server is busy", "retry-after: 1\r\n", plait_server_now());
}

struct spooling {
    struct rb_server *server;
    struct server_connection *connection;
    bool done;
};

static void *spool_without_gvl(void *argument) {
    struct spooling *spooling = argument;
    server_spool(&spooling->server->engine, spooling->connection);
    spooling->done = true;
    return NULL;
}

/* The disk may be slow: other threads go on, as if the app ran. With an interrupt at hand it is done all the same. */
static void spool(struct rb_server *server, struct server_connection *connection) {
    struct spooling spooling = {.server = server, .connection = connection};
    server->running++;
    int state = NIL_P(server->scheduler) ? call_somebody(server) : 0;
    rb_nogvl(spool_without_gvl, &spooling, NULL, NULL, RB_NOGVL_INTR_FAIL);
    if (!spooling.done) spool_without_gvl(&spooling);
    server->running--;
    server_give_back(&server->engine, connection);
    if (state != 0) rb_jump_tag(state);
}

static void serve(struct rb_server *server, struct server_connection *connection) {
    struct server_request request;
    int result = server_receive(&server->engine, connection, &request, plait_server_now());
    if (result == SERVER_SPOOL) spool(server, connection);
    if (result != SERVER_REQUEST) return;
    if (server->running < server->limit) return run(server, connection, &request);
    if ((long)server->engine.held >= server->queue) return refuse(server, connection);
    if (server_hold(&server->engine, connection, &request, plait_server_now()) != 0) server_drop(&server->engine, connection);
}

/*
 * Lets others have their turn now and then, however much there is to do. Among threads too: who has lost the GVL in the middle
 * of a request would wait for it as long as Ruby's time slice is, 0.1 s, while requests that came after it are answered.
 */
static void see_to_others(struct rb_server *server) {
    bool threads = NIL_P(server->scheduler);
    if (++server->served % CHECK_EVERY == 0) rb_thread_check_ints();
    if (plait_server_now() - server->yielded < SLICE || (threads && server->running == 0)) return;

    server->yielded = plait_server_now();
    if (threads) rb_thread_schedule();
    else rb_fiber_scheduler_kernel_sleep(server->scheduler, INT2FIX(0));
}

static bool is_full(const struct rb_server *server) {
    const struct server *engine = &server->engine;
    if (server->running < server->limit || (long)engine->held < server->queue || engine->held == 0) return false;
    return server_at(engine, engine->waiting.first)->since + PATIENCE > plait_server_now();
}

/* Lets those go on who run the app. Who connects meanwhile is accepted, so that the kernel's queue does not overflow. */
static void nap(struct rb_server *server) {
    struct poll poll = {.server = server};
    poll.count = server_sleep(&server->engine, poll.events, 0);
    poll.error = errno;
    take(&poll);
    if (NIL_P(server->scheduler)) rb_thread_wait_for((struct timeval){.tv_usec = 1000});
    else rb_fiber_scheduler_kernel_sleep(server->scheduler, DBL2NUM(0.001));
}

static VALUE work(VALUE argument) {
    struct rb_server *server = (struct rb_server *)argument;
    server->awake = false;
    server->scheduler = rb_fiber_scheduler_current();
    server->native = NIL_P(server->scheduler) ? NULL : plait_native_of(server->scheduler);
    server->direct = server->native && plait_native_leaves(server->native, server->scheduler);
    while (!server->stopped) {
        struct server_connection *connection = NULL;
        if (server->running < server->limit) connection = server_next_waiting(&server->engine);
        server->waited = connection ? plait_server_now() - connection->since : -1;
        if (!connection && is_full(server)) {
            nap(server);
            continue;
        }
        if (!connection) connection = server_next(&server->engine);
        if (connection) {
            serve(server, connection);
            see_to_others(server);
        } else if (server->polling) {
            plait_server_rest(server);
        } else {
            poll_connections(server);
        }
    }
    return Qnil;
}

static VALUE leave(VALUE argument) {
    struct rb_server *server = (struct rb_server *)argument;
    server->workers--;
    int state = call_somebody(server);
    if (state != 0) rb_jump_tag(state);
    return Qnil;
}

/* work: a worker's life; the first one is begun by `begin`, the others by the spawner */
static VALUE server_work(VALUE self) {
    struct rb_server *server = plait_server_of(self);
    return rb_ensure(work, (VALUE)server, leave, (VALUE)server);
}

static VALUE server_begin_work(VALUE self) {
    struct rb_server *server = plait_server_of(self);
    server->awake = true;
    server->workers++;
    spawn((VALUE)server);
    return self;
}

/* ---- from outside ---- */

/* sweep: ends what takes too long; and begins a worker where the last one has gone and there was no other */
static VALUE server_sweep_now(VALUE self) {
    struct rb_server *server = plait_server_of(self);
    server_sweep(&server->engine, plait_server_now());
    int state = server->workers > 0 || server->stopped ? 0 : call_now(server);
    if (state != 0) rb_jump_tag(state);
    return self;
}

/* drain: takes no further connections, closes idle ones, and each of the others after its request */
static VALUE server_begin_to_end(VALUE self) {
    struct rb_server *server = plait_server_of(self);
    server_drain(&server->engine, plait_server_now());
    server_wake(&server->engine); /* for those who are ready by this */
    return self;
}

/* retire: takes no further connections, and closes each of those there are after its next request */
static VALUE server_retire(VALUE self) {
    struct rb_server *server = plait_server_of(self);
    server_deafen(&server->engine);
    server->engine.draining = true;
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

/* close: closes all connections. Nobody may be at work. */
static VALUE server_close_all(VALUE self) {
    server_close(&plait_server_of(self)->engine);
    return Qnil;
}

static void count(VALUE hash, const char *name, uint64_t number) {
    rb_hash_aset(hash, ID2SYM(rb_intern(name)), ULL2NUM(number));
}

static VALUE server_statistics(VALUE self) {
    const struct rb_server *server = plait_server_of(self);
    const struct server_counts *counts = &server->engine.counts;
    VALUE hash = rb_hash_new();
    count(hash, "connections", server->engine.count);
    count(hash, "idle", server->engine.idle);
    count(hash, "accepted", counts->accepted);
    count(hash, "requests", counts->requests);
    count(hash, "running", (uint64_t)server->running);
    count(hash, "waiting", server->engine.held);
    count(hash, "workers", (uint64_t)server->workers);
    count(hash, "malformed", counts->malformed);
    count(hash, "expired", counts->expired);
    count(hash, "refused", counts->refused);
    count(hash, "exhausted", counts->exhausted);
    return hash;
}

/* ---- wiring ---- */

/* NativeServer.define_core(server): once its classes in Ruby are there */
static VALUE define_core(VALUE self, VALUE server_class) {
    plait_server_define_env(server_class);
    plait_server_define_exchange(server_class);
    plait_server_define_hybrid(server_class);
    VALUE core = rb_define_class_under(server_class, "NativeCore", rb_cObject);
    rb_define_alloc_func(core, server_allocate);
    rb_define_method(core, "initialize", server_initialize, 5);
    rb_define_method(core, "listen", server_listen_to, -1);
    rb_define_method(core, "bring", server_bring_one, 3);
    rb_define_method(core, "cut?", server_has_cut, 1);
    rb_define_method(core, "begin", server_begin_work, 0);
    rb_define_method(core, "work", server_work, 0);
    rb_define_method(core, "transfer", server_look, 0);
    rb_define_method(core, "sweep", server_sweep_now, 0);
    rb_define_method(core, "drain", server_begin_to_end, 0);
    rb_define_method(core, "retire", server_retire, 0);
    rb_define_method(core, "halt", server_halt, 0);
    rb_define_method(core, "close", server_close_all, 0);
    rb_define_method(core, "statistics", server_statistics, 0);
    return self;
}

/* NativeServer.reason(status) */
static VALUE reason_of(VALUE self, VALUE status) {
    (void)self;
    return rb_str_new_cstr(server_reason(NUM2INT(status)));
}

/* NativeServer.triplet(response): see Server::Triplet */
static VALUE triplet_of(VALUE self, VALUE response) {
    (void)self;
    return plait_server_triplet(response);
}

void plait_init_server(VALUE plait) {
    id_call = rb_intern("call");
    id_autoclose = rb_intern("autoclose=");
    id_for_fd = rb_intern("for_fd");
    id_fail = rb_intern("fail");
    id_finished = rb_intern("finished");
    id_close = rb_intern("close");
    id_new = rb_intern("new");
    response_finished_key = rb_interned_str_cstr("rack.response_finished");
    rb_gc_register_mark_object(response_finished_key);
    queued_key = rb_interned_str_cstr("plait.queued");
    rb_gc_register_mark_object(queued_key);
    plait_server_init_rest();
    plait_server_init_env();
    plait_server_init_respond();
    VALUE native = rb_define_module_under(plait, "NativeServer");
    rb_define_singleton_method(native, "define_core", define_core, 1);
    rb_define_singleton_method(native, "reason", reason_of, 1);
    rb_define_singleton_method(native, "triplet", triplet_of, 1);
}

#endif
