/* Calls the app for one request and sends what it returns, answers for it when it fails, and reports the end of the request. */
#include "rb_server.h"

#include <unistd.h>

static ID id_call, id_fail, id_finished, id_close, id_end, id_ended, id_forget;
static ID id_bind_call, id_replied, id_abandon;
static VALUE response_finished_key, after_reply_key, thread_raise;

static VALUE server_perform_end_process(VALUE error) {
    return rb_funcall(rb_path2class("Plait::Io::OrphanedFork"), id_end, 1, error);
}

/* In a fork that came back from the app: connections, the kernel's set and answer are its parent's. */
static void server_perform_end_orphan(const struct rb_server *server, VALUE error) {
    if (server->generation == plait_generation()) return;

    int failed = 0;
    rb_protect(server_perform_end_process, RB_TYPE_P(error, T_OBJECT) ? error : Qnil, &failed);
    _exit(1);
}

static VALUE server_perform_run_app(VALUE argument) {
    struct exchange *exchange = (struct exchange *)argument;
    plait_server_input(exchange);
    VALUE response = rb_funcallv(exchange->server->app, id_call, 1, &exchange->env);
    server_perform_end_orphan(exchange->server, Qnil);
    plait_server_respond(exchange, response);
    return Qnil;
}

static VALUE server_perform_report(VALUE argument) {
    const struct exchange *exchange = (const struct exchange *)argument;
    rb_funcall(exchange->server->reply, id_fail, 2, exchange->env, rb_errinfo());
    if (!plait_server_connection(exchange)) rb_funcall(exchange->handle, id_abandon, 0); /* the app may have taken it over */
    return Qnil;
}

void plait_server_abandon(struct exchange *exchange) {
    if (exchange->file != -1) close(exchange->file); /* no app has got it */
    exchange->file = -1;
    struct server_connection *connection = plait_server_connection(exchange);
    if (connection) server_drop(&exchange->server->engine, connection);
}

struct leaving {
    int state;
    VALUE (*act)(VALUE);
    VALUE argument;
};

static VALUE server_perform_go_on(VALUE state) {
    rb_jump_tag((int)state);
    return Qnil;
}

static VALUE server_perform_leave(VALUE argument) {
    const struct leaving *leaving = (const struct leaving *)argument;
    return rb_ensure(server_perform_go_on, (VALUE)leaving->state, leaving->act, leaving->argument);
}

/*
 * Calls it in the middle of a jump. Ruby keeps the jump's values only during an ensure: with any other call it would be
 * gone, and to go on then ends the process by a SEGV.
 */
static void server_perform_act_while_leaving(int state, VALUE (*act)(VALUE), VALUE argument) {
    struct leaving leaving = {.state = state, .act = act, .argument = argument};
    rb_protect(server_perform_leave, (VALUE)&leaving, &state);
}

static VALUE server_perform_tell_of_end(VALUE argument) {
    const struct exchange *exchange = (const struct exchange *)argument;
    return rb_funcall(exchange->server->reply, id_ended, 1, exchange->env);
}

static VALUE server_perform_try_to_tell_of_end(VALUE argument) {
    int failed = 0;
    return rb_protect(server_perform_tell_of_end, argument, &failed);
}

static void server_perform_answer_failed(const struct exchange *exchange) {
    struct server_connection *connection = plait_server_connection(exchange);
    if (connection && connection->answering) server_drop(&exchange->server->engine, connection);
    else if (connection) server_refuse(&exchange->server->engine, connection, 500, "the application failed", "", plait_server_now());
}

/* The answer was given to the kernel, or is left to the peer's pace. */
static void server_perform_conclude(const struct exchange *exchange) {
    struct server_connection *connection = plait_server_connection(exchange);
    struct server *engine = &exchange->server->engine;
    if (connection && connection->remainder) server_leave_to_peer(engine, connection, !exchange->close, plait_server_now());
    else if (connection) server_finish(engine, connection, !exchange->close, plait_server_now());
}

/* By Thread#kill, which Ruby tells by a number. */
static bool server_perform_is_end_of_thread(VALUE error) {
    return FIXNUM_P(error);
}

/* Returns the state to go on with, or 0. */
static int server_perform_handle_failure(struct exchange *exchange, int state, VALUE *error) {
    *error = rb_errinfo();
    if (!plait_server_is_error(*error)) {
        bool ended = server_perform_is_end_of_thread(*error);
        if (!RB_TYPE_P(*error, T_OBJECT)) *error = Qnil;
        if (!ended) return plait_server_abandon(exchange), state;

        server_perform_act_while_leaving(state, server_perform_try_to_tell_of_end, (VALUE)exchange);
        return server_perform_answer_failed(exchange), state;
    }
    int failed = 0;
    rb_protect(server_perform_report, (VALUE)exchange, &failed);
    if (failed != 0 && plait_server_is_error(rb_errinfo())) failed = 0;
    if (failed == 0) rb_set_errinfo(Qnil);
    if (exchange->answered) {
        *error = Qnil;
        server_perform_conclude(exchange);
    } else {
        server_perform_answer_failed(exchange);
    }
    return failed;
}

struct ending {
    struct exchange *exchange;
    VALUE callables, replied, error;
};

static VALUE server_perform_call_finished(VALUE argument) {
    const struct ending *ending = (const struct ending *)argument;
    const struct exchange *exchange = ending->exchange;
    if (!NIL_P(exchange->input)) rb_funcall(exchange->input, id_close, 0);
    if (!NIL_P(ending->callables)) {
        rb_funcall(exchange->server->reply, id_finished, 5, ending->callables, exchange->env, exchange->status,
                   exchange->headers, ending->error);
    }
    if (!NIL_P(ending->replied)) rb_funcall(exchange->server->reply, id_replied, 2, ending->replied, exchange->env);
    return Qnil;
}

static VALUE server_perform_try_to_call_finished(VALUE argument) {
    int failed = 0;
    rb_protect(server_perform_call_finished, argument, &failed);
    if (failed != 0) rb_set_errinfo(Qnil);
    return Qnil;
}

/* An Array in which there is something; else nil. */
static VALUE server_perform_callables_in(VALUE env, VALUE key) {
    VALUE array = rb_hash_lookup(env, key);
    return RB_TYPE_P(array, T_ARRAY) && RARRAY_LEN(array) > 0 ? array : Qnil;
}

static void server_perform_end_request(struct exchange *exchange, int state, VALUE error) {
    struct ending ending = {.exchange = exchange, .error = error};
    ending.callables = server_perform_callables_in(exchange->env, response_finished_key);
    ending.replied = server_perform_callables_in(exchange->env, after_reply_key);
    if (NIL_P(ending.callables) && NIL_P(ending.replied) && NIL_P(exchange->input)) return; /* as mostly */

    if (state == 0) server_perform_try_to_call_finished((VALUE)&ending);
    else server_perform_act_while_leaving(state, server_perform_try_to_call_finished, (VALUE)&ending);
}

static VALUE server_perform_forget(VALUE server) {
    return rb_funcall(((const struct rb_server *)server)->reply, id_forget, 0);
}

/* The next request here sees nothing of what this one has left at the fiber and the thread. Returns the state to go on with. */
static int server_perform_forget_request(struct rb_server *server, int state) {
    if (state != 0 || !(server->inheriting || plait_state_left(plait_state_own()))) return state;
    rb_protect(server_perform_forget, (VALUE)server, &state);
    return state;
}

static void server_perform_enter_app(struct exchange *exchange) {
    struct exchange **first = &exchange->server->performing;
    exchange->thread = rb_thread_current();
    exchange->fiber = rb_fiber_current();
    exchange->place = first;
    exchange->next = *first;
    if (exchange->next) exchange->next->place = &exchange->next;
    *first = exchange;
}

static void server_perform_leave_app(struct exchange *exchange) {
    *exchange->place = exchange->next;
    if (exchange->next) exchange->next->place = exchange->place;
}

static VALUE server_perform_check_interrupts(VALUE argument) {
    rb_thread_check_ints();
    return argument;
}

/* What was raised into the thread for this request must not reach the next one. Returns the state to go on with. */
static int server_perform_take_late_exceptions(int state) {
    VALUE error = rb_errinfo();
    if (state != 0 && !plait_server_is_error(error)) return state;

    for (;;) {
        int late = 0;
        rb_protect(server_perform_check_interrupts, Qnil, &late);
        if (late == 0) return state;
        if (!plait_server_is_error(rb_errinfo())) return late;
        if (state != 0) rb_set_errinfo(error);
        else error = rb_errinfo();
        state = late;
    }
}

/* The same for what calls behind the answer were to get, which have ended. */
static int server_perform_drop_late_exceptions(int state) {
    int late = server_perform_take_late_exceptions(state);
    if (late == state || !plait_server_is_error(rb_errinfo())) return late;

    rb_set_errinfo(Qnil);
    return state;
}

int plait_server_perform(struct exchange *exchange) {
    int state = 0;
    VALUE error = Qnil;
    server_perform_enter_app(exchange);
    rb_protect(server_perform_run_app, (VALUE)exchange, &state);
    server_perform_end_orphan(exchange->server, rb_errinfo());
    state = server_perform_take_late_exceptions(state);
    if (state != 0) state = server_perform_handle_failure(exchange, state, &error);
    else server_perform_conclude(exchange);
    server_perform_end_request(exchange, state, error);
    server_perform_leave_app(exchange);
    state = server_perform_drop_late_exceptions(state);
    server_perform_end_orphan(exchange->server, Qnil);
    return server_perform_forget_request(exchange->server, state);
}

/* NULL in a fork that an app has made: the others lie on the stacks of threads that are not there. */
static const struct exchange *server_perform_first(VALUE self) {
    const struct rb_server *server = plait_server_of(self);
    return server->generation == plait_generation() ? server->performing : NULL;
}

/*
 * raise_into(thread, exception): as Thread#raise, if a request runs its app there; whether it does. No other thread runs in
 * between, so that the exception meets that request. In a fork that an app has made it always is raised.
 */
static VALUE server_perform_raise_into(VALUE self, VALUE thread, VALUE exception) {
    const struct exchange *exchange = server_perform_first(self);
    while (exchange && exchange->thread != thread) exchange = exchange->next;
    if (!exchange && plait_server_of(self)->generation == plait_generation()) return Qfalse;

    rb_funcall(thread_raise, id_bind_call, 2, thread, exception);
    return Qtrue;
}

/* current_on(thread): [fiber, env] of each request that runs its app there */
static VALUE server_perform_current_on(VALUE self, VALUE thread) {
    VALUE pairs = rb_ary_new();
    for (const struct exchange *exchange = server_perform_first(self); exchange; exchange = exchange->next) {
        if (exchange->thread == thread) rb_ary_push(pairs, rb_assoc_new(exchange->fiber, exchange->env));
    }
    return pairs;
}

void plait_server_define_perform(VALUE core) {
    rb_define_method(core, "current_on", server_perform_current_on, 1);
    rb_define_method(core, "raise_into", server_perform_raise_into, 2);
}

void plait_server_init_perform(void) {
    id_call = rb_intern("call");
    id_fail = rb_intern("fail");
    id_finished = rb_intern("finished");
    id_close = rb_intern("close");
    id_end = rb_intern("end");
    id_ended = rb_intern("ended");
    id_forget = rb_intern("forget");
    id_bind_call = rb_intern("bind_call");
    id_replied = rb_intern("replied");
    id_abandon = rb_intern("abandon");
    after_reply_key = rb_interned_str_cstr("rack.after_reply");
    rb_gc_register_mark_object(after_reply_key);
    thread_raise = rb_funcall(rb_cThread, rb_intern("instance_method"), 1, ID2SYM(rb_intern("raise")));
    rb_gc_register_mark_object(thread_raise);
    response_finished_key = rb_interned_str_cstr("rack.response_finished");
    rb_gc_register_mark_object(response_finished_key);
}
