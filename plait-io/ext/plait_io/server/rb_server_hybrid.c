/*
 * What has held the loop of fibers for long is moved to threads, see Plait::Server::Hybrid, which decides. A request that is
 * moved is moved as a whole: the app is called, the answer sent and its body closed on one thread.
 */
#include "rb_server.h"

#include <sys/resource.h>

#include "../plait_io.h"

/* Seconds without a wait from which a request counts as blocking. */
static const double BLOCKING = 0.01;

static ID id_offload, id_blocking, id_judge;
static VALUE offloaded_class;

/* A request on its way to another thread: not on the stack of its fiber, which may be ended meanwhile. */
struct offloaded {
    struct exchange exchange;
    bool started;
};

static void server_hybrid_offloaded_mark(void *data) {
    const struct exchange *exchange = &((const struct offloaded *)data)->exchange;
    if (!exchange->server) return;
    rb_gc_mark(exchange->server->self);
    rb_gc_mark(exchange->env);
    rb_gc_mark(exchange->handle);
    rb_gc_mark(exchange->status);
    rb_gc_mark(exchange->headers);
    rb_gc_mark(exchange->body);
    rb_gc_mark(exchange->input);
}

static const rb_data_type_t offloaded_type = {
    .wrap_struct_name = "Plait::Server::Offloaded",
    .function = {.dmark = server_hybrid_offloaded_mark, .dfree = RUBY_DEFAULT_FREE},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

/* call: on a thread of the pool */
static VALUE server_hybrid_offloaded_call(VALUE self) {
    struct offloaded *offloaded = rb_check_typeddata(self, &offloaded_type);
    offloaded->started = true;
    int state = plait_server_perform(&offloaded->exchange);
    if (state != 0) rb_jump_tag(state);
    return Qnil;
}

struct call {
    struct exchange *exchange;
    ID method;
    VALUE argument;
};

static VALUE server_hybrid_ask(VALUE argument) {
    const struct call *call = (const struct call *)argument;
    struct rb_server *server = call->exchange->server;
    server->moving = RTEST(rb_funcall(server->hybrid, call->method, 2, call->exchange->env, call->argument));
    return Qnil;
}

/* What ends the wait for the thread is this fiber's, unless the thread has seen to it. Returns the state to go on with. */
static int server_hybrid_offload(struct exchange *exchange) {
    struct offloaded *offloaded;
    struct call call = {.exchange = exchange, .method = id_offload};
    call.argument = TypedData_Make_Struct(offloaded_class, struct offloaded, &offloaded_type, offloaded);
    offloaded->exchange = *exchange;
    int state = 0;
    rb_protect(server_hybrid_ask, (VALUE)&call, &state);
    if (state != 0 && plait_server_is_error(rb_errinfo())) {
        rb_set_errinfo(Qnil);
        state = offloaded->started ? 0 : plait_server_perform(exchange); /* there is no thread for it */
    } else if (state != 0 && !offloaded->started) {
        plait_server_abandon(exchange);
    }
    RB_GC_GUARD(call.argument);
    return state;
}

#ifdef HAVE_CONST_RUSAGE_THREAD
static double server_hybrid_seconds(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static struct rusage server_hybrid_usage_now(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage;
}

/* It has neither computed for long nor stood still by itself since: the machine had others to do first. */
static bool server_hybrid_was_held_up(const struct rusage *before) {
    struct rusage now = server_hybrid_usage_now();
    double computed = server_hybrid_seconds(now.ru_utime) + server_hybrid_seconds(now.ru_stime) -
                      server_hybrid_seconds(before->ru_utime) - server_hybrid_seconds(before->ru_stime);
    return computed < BLOCKING && now.ru_nvcsw == before->ru_nvcsw;
}
#else
/* The system doesn't tell of a thread. */
static struct rusage server_hybrid_usage_now(void) {
    return (struct rusage){.ru_nvcsw = 0};
}

static bool server_hybrid_was_held_up(const struct rusage *before) {
    (void)before;
    return false;
}
#endif

/* Looked at closely only while something is under suspicion: that takes a system call. */
static int server_hybrid_run_here(struct exchange *exchange, const struct native *native) {
    struct rb_server *server = exchange->server;
    unsigned long before = plait_native_ticks(native, server->scheduler);
    bool closely = server->moving;
    struct rusage usage;
    if (closely) usage = server_hybrid_usage_now();
    double began = plait_server_now();
    int state = plait_server_perform(exchange);
    if (state != 0 || plait_server_now() - began <= BLOCKING) return state;

    bool waited = plait_native_ticks(native, server->scheduler) != before || (closely && server_hybrid_was_held_up(&usage));
    struct call call = {.exchange = exchange, .method = id_judge, .argument = waited ? Qtrue : Qfalse};
    rb_protect(server_hybrid_ask, (VALUE)&call, &state);
    return state;
}

int plait_server_run_hybrid(struct exchange *exchange) {
    struct rb_server *server = exchange->server;
    if (!server->native) return plait_server_perform(exchange);
    if (!server->moving) return server_hybrid_run_here(exchange,
                                                       server->native); /* nothing is moved, as with most apps */

    bool blocking = RTEST(rb_funcall(server->hybrid, id_blocking, 1, exchange->env));
    return blocking ? server_hybrid_offload(exchange) : server_hybrid_run_here(exchange, server->native);
}

void plait_server_define_hybrid(VALUE server_class) {
    id_offload = rb_intern("offload");
    id_blocking = rb_intern("blocking?");
    id_judge = rb_intern("judge");
    offloaded_class = rb_define_class_under(server_class, "Offloaded", rb_cObject);
    rb_gc_register_mark_object(offloaded_class);
    rb_undef_alloc_func(offloaded_class);
    rb_define_method(offloaded_class, "call", server_hybrid_offloaded_call, 0);
}
