/* Receives a request from a connection that is ready, and has the app run it, holds it, or refuses it when too many run. */
#include "rb_server.h"

#ifdef __linux__

#include <ruby/thread.h>

static ID id_call, id_fail, id_finished, id_close, id_sent, id_end, id_ended, id_forget;
static ID id_bind_call, id_replied, id_abandon;
static VALUE response_finished_key, after_reply_key, queued_key, thread_raise;

static VALUE was_sent(VALUE error) {
    return rb_funcall(rb_path2class("Plait::Server::Signals"), id_sent, 1, error);
}

/* Signals come to the main thread: elsewhere it was the app that has raised one. There it may have been, too. */
static bool is_signal(VALUE error) {
    if (!rb_obj_is_kind_of(error, rb_eSignal) || rb_thread_current() != rb_thread_main()) return false;

    int failed = 0;
    bool sent = RTEST(rb_protect(was_sent, error, &failed));
    rb_set_errinfo(error);
    return sent || failed != 0;
}

bool plait_server_is_error(VALUE error) {
    if (!RTEST(error) || RB_SPECIAL_CONST_P(error) || RB_BUILTIN_TYPE(error) == T_IMEMO) return false;
    if (!rb_obj_is_kind_of(error, rb_eException) || is_signal(error)) return false;
    return !rb_obj_is_kind_of(error, rb_path2class("Plait::Mechanisms::Interruption"));
}

struct server_connection *plait_server_connection(const struct exchange *exchange) {
    if (exchange->server->generation != plait_generation()) return NULL; /* a fork: it is its parent's */

    const struct server *engine = &exchange->server->engine;
    struct server_connection *connection = server_find(engine, exchange->number, exchange->generation);
    return connection && connection->requests == exchange->serial ? connection : NULL;
}

static VALUE end_process(VALUE error) {
    return rb_funcall(rb_path2class("Plait::Server::OrphanedFork"), id_end, 1, error);
}

/* In a fork that came back from the app: connections, epoll and answer are its parent's. */
static void end_stray(const struct rb_server *server, VALUE error) {
    if (server->generation == plait_generation()) return;

    int failed = 0;
    rb_protect(end_process, RB_TYPE_P(error, T_OBJECT) ? error : Qnil, &failed);
    _exit(1);
}

static VALUE run_app(VALUE argument) {
    struct exchange *exchange = (struct exchange *)argument;
    plait_server_input(exchange);
    VALUE response = rb_funcallv(exchange->server->app, id_call, 1, &exchange->env);
    end_stray(exchange->server, Qnil);
    plait_server_respond(exchange, response);
    return Qnil;
}

static VALUE report(VALUE argument) {
    const struct exchange *exchange = (const struct exchange *)argument;
    rb_funcall(exchange->server->reply, id_fail, 2, exchange->env, rb_errinfo());
    if (!plait_server_connection(exchange)) rb_funcall(exchange->handle, id_abandon, 0); /* the app may have taken it over */
    return Qnil;
}

void plait_server_abandon(const struct exchange *exchange) {
    struct server_connection *connection = plait_server_connection(exchange);
    if (connection) server_drop(&exchange->server->engine, connection);
}

struct leaving {
    int state;
    VALUE (*act)(VALUE);
    VALUE argument;
};

static VALUE go_on(VALUE state) {
    rb_jump_tag((int)state);
    return Qnil;
}

static VALUE leave(VALUE argument) {
    const struct leaving *leaving = (const struct leaving *)argument;
    return rb_ensure(go_on, (VALUE)leaving->state, leaving->act, leaving->argument);
}

/*
 * Calls it in the middle of a jump. Ruby keeps what it jumps with aside only during an ensure: with any other call it would be
 * gone, and to go on then ends the process by a SEGV.
 */
static void act_while_leaving(int state, VALUE (*act)(VALUE), VALUE argument) {
    struct leaving leaving = {.state = state, .act = act, .argument = argument};
    rb_protect(leave, (VALUE)&leaving, &state);
}

static VALUE tell_of_end(VALUE argument) {
    const struct exchange *exchange = (const struct exchange *)argument;
    return rb_funcall(exchange->server->reply, id_ended, 1, exchange->env);
}

static VALUE try_to_tell_of_end(VALUE argument) {
    int failed = 0;
    return rb_protect(tell_of_end, argument, &failed);
}

static void answer_failed(const struct exchange *exchange) {
    struct server_connection *connection = plait_server_connection(exchange);
    if (connection && connection->begun) server_drop(&exchange->server->engine, connection);
    else if (connection) server_refuse(&exchange->server->engine, connection, 500, "the application failed", "", plait_server_now());
}

/* The answer was given to the kernel, or is left to the peer's pace. */
static void conclude(const struct exchange *exchange) {
    struct server_connection *connection = plait_server_connection(exchange);
    struct server *engine = &exchange->server->engine;
    if (connection && connection->remainder) server_leave_to_peer(engine, connection, !exchange->close, plait_server_now());
    else if (connection) server_finish(engine, connection, !exchange->close, plait_server_now());
}

/* By Thread#kill, which Ruby tells by a number. */
static bool is_end_of_thread(VALUE error) {
    return FIXNUM_P(error);
}

/* Returns the state to go on with, or 0. */
static int handle_failure(struct exchange *exchange, int state, VALUE *error) {
    *error = rb_errinfo();
    if (!plait_server_is_error(*error)) {
        bool ended = is_end_of_thread(*error);
        if (!RB_TYPE_P(*error, T_OBJECT)) *error = Qnil;
        if (!ended) return plait_server_abandon(exchange), state;

        act_while_leaving(state, try_to_tell_of_end, (VALUE)exchange);
        return answer_failed(exchange), state;
    }
    int failed = 0;
    rb_protect(report, (VALUE)exchange, &failed);
    if (failed != 0 && plait_server_is_error(rb_errinfo())) failed = 0;
    if (failed == 0) rb_set_errinfo(Qnil);
    if (exchange->answered) {
        *error = Qnil;
        conclude(exchange);
    } else {
        answer_failed(exchange);
    }
    return failed;
}

struct ending {
    struct exchange *exchange;
    VALUE callables, replied, error;
};

static VALUE call_finished(VALUE argument) {
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

static VALUE try_to_call_finished(VALUE argument) {
    int failed = 0;
    rb_protect(call_finished, argument, &failed);
    if (failed != 0) rb_set_errinfo(Qnil);
    return Qnil;
}

/* An Array in which there is something; else nil. */
static VALUE callables_in(VALUE env, VALUE key) {
    VALUE array = rb_hash_lookup(env, key);
    return RB_TYPE_P(array, T_ARRAY) && RARRAY_LEN(array) > 0 ? array : Qnil;
}

static void end_request(struct exchange *exchange, int state, VALUE error) {
    struct ending ending = {.exchange = exchange, .error = error};
    ending.callables = callables_in(exchange->env, response_finished_key);
    ending.replied = callables_in(exchange->env, after_reply_key);
    if (NIL_P(ending.callables) && NIL_P(ending.replied) && NIL_P(exchange->input)) return; /* as mostly */

    if (state == 0) try_to_call_finished((VALUE)&ending);
    else act_while_leaving(state, try_to_call_finished, (VALUE)&ending);
}

static VALUE forget(VALUE server) {
    return rb_funcall(((const struct rb_server *)server)->reply, id_forget, 0);
}

/* The next request here sees nothing of what this one has left at the fiber and the thread. Returns the state to go on with. */
static int forget_request(struct rb_server *server, int state) {
    if (state != 0 || !(server->inheriting || plait_state_left(plait_state_own()))) return state;
    rb_protect(forget, (VALUE)server, &state);
    return state;
}

static void enter_app(struct exchange *exchange) {
    struct exchange **first = &exchange->server->performing;
    exchange->thread = rb_thread_current();
    exchange->fiber = rb_fiber_current();
    exchange->place = first;
    exchange->next = *first;
    if (exchange->next) exchange->next->place = &exchange->next;
    *first = exchange;
}

static void leave_app(struct exchange *exchange) {
    *exchange->place = exchange->next;
    if (exchange->next) exchange->next->place = exchange->place;
}

static VALUE check_interrupts(VALUE argument) {
    rb_thread_check_ints();
    return argument;
}

/* What was raised into the thread for this request must not reach the next one. Returns the state to go on with. */
static int take_late_exceptions(int state) {
    VALUE error = rb_errinfo();
    if (state != 0 && !plait_server_is_error(error)) return state;

    for (;;) {
        int late = 0;
        rb_protect(check_interrupts, Qnil, &late);
        if (late == 0) return state;
        if (!plait_server_is_error(rb_errinfo())) return late;
        if (state != 0) rb_set_errinfo(error);
        else error = rb_errinfo();
        state = late;
    }
}

/* The same for what calls behind the answer were to get, which have ended. */
static int drop_late_exceptions(int state) {
    int late = take_late_exceptions(state);
    if (late == state || !plait_server_is_error(rb_errinfo())) return late;

    rb_set_errinfo(Qnil);
    return state;
}

int plait_server_perform(struct exchange *exchange) {
    int state = 0;
    VALUE error = Qnil;
    enter_app(exchange);
    rb_protect(run_app, (VALUE)exchange, &state);
    end_stray(exchange->server, rb_errinfo());
    state = take_late_exceptions(state);
    if (state != 0) state = handle_failure(exchange, state, &error);
    else conclude(exchange);
    end_request(exchange, state, error);
    leave_app(exchange);
    state = drop_late_exceptions(state);
    end_stray(exchange->server, Qnil);
    return forget_request(exchange->server, state);
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
    int state = plait_server_call_somebody(server);
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

/* Other threads go on, as if the app ran. With an interrupt at hand it is done all the same. */
static void spool_here(struct rb_server *server, struct server_connection *connection) {
    struct spooling spooling = {.server = server, .connection = connection};
    server->running++;
    int state = NIL_P(server->scheduler) ? plait_server_call_somebody(server) : 0;
    rb_nogvl(spool_without_gvl, &spooling, NULL, NULL, RB_NOGVL_INTR_FAIL);
    if (!spooling.done) spool_without_gvl(&spooling);
    server->running--;
    server_give_back(&server->engine, connection);
    if (state != 0) rb_jump_tag(state);
}

/* The disk may be slow, and must not hold up a loop of fibers: whoever is here goes on with others at once. */
static void spool(struct rb_server *server, struct server_connection *connection) {
    if (!NIL_P(server->scheduler) && server_spool_aside(&server->engine, connection) == 0) return;
    spool_here(server, connection);
}

void plait_server_serve(struct rb_server *server, struct server_connection *connection) {
    struct server_request request;
    int result = server_receive(&server->engine, connection, &request, plait_server_now());
    if (result == SERVER_SPOOL) spool(server, connection);
    if (result != SERVER_REQUEST) return;
    if (server->running < server->limit) return run(server, connection, &request);
    if ((long)server->engine.held >= server->queue) return refuse(server, connection);
    if (server_hold(&server->engine, connection, &request, plait_server_now()) != 0) server_drop(&server->engine, connection);
}

void plait_server_init_request(void) {
    queued_key = rb_interned_str_cstr("plait.queued");
    rb_gc_register_mark_object(queued_key);
}

#endif
