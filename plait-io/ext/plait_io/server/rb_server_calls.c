/*
 * The worker that takes over when another worker runs the app: one that is parked, or a new one. A thread is called at once. On
 * the loop of fibers a worker is called between two of them, and only if one is still wanted then.
 */
#include "rb_server.h"

#include "../plait_io.h"

/* Workers called one after another, while each waits in the app, before the loop of fibers looks at all else. */
enum { CALLS = 16 };

static ID id_call;

static VALUE server_calls_spawn(VALUE server) {
    return rb_funcall(((struct rb_server *)server)->spawner, id_call, 0);
}

/* Where the system gives no further thread, the existing workers go on. Returns the state to go on with, or 0. */
static int server_calls_try_to_spawn(struct rb_server *server) {
    int state = 0;
    server->awake = true;
    server->workers++;
    rb_protect(server_calls_spawn, (VALUE)server, &state);
    if (state == 0) return 0;

    server->awake = false;
    server->workers--;
    if (!plait_server_is_error(rb_errinfo())) return state;
    rb_set_errinfo(Qnil);
    server->engine.counts.exhausted++;
    return 0;
}

/*
 * There is always one worker more than may run the app: it waits for the connections. A called worker is `awake` until it
 * has come. So of `polling` and `awake` one is true while any worker has nothing to do.
 */
int plait_server_call_now(struct rb_server *server) {
    if (server->parked == 0) return server->workers <= server->limit ? server_calls_try_to_spawn(server) : 0;

    plait_server_wake_one(server);
    return 0;
}

/* Of threads one may be between two requests, without the GVL: it takes over as soon as it has it. */
static bool server_calls_somebody_stands_by(const struct rb_server *server) {
    return NIL_P(server->scheduler) && server->workers > server->running + server->parked;
}

int plait_server_call_worker(struct rb_server *server) {
    if (server->polling || server->awake || server->stopped || server_calls_somebody_stands_by(server)) return 0;

    if (!server->native || !plait_native_ends_waits(server->native)) return plait_server_call_now(server);
    server->wanted = true;
    if (!server->noted) plait_native_push(server->native, server->self);
    server->noted = true;
    return 0;
}

/* Each worker serves until it waits; by then it has noted, most often, that one more is wanted. */
static VALUE server_calls_call_one_after_another(VALUE argument) {
    struct rb_server *server = (struct rb_server *)argument;
    double until = plait_server_now() + RB_SERVER_SLICE;
    int state = 0;
    server->wanted = true;
    for (int calls = 0; state == 0 && server->wanted && calls < CALLS; calls++) {
        if (calls > 0 && plait_server_now() >= until) break;
        server->wanted = false;
        if (!server->polling && !server->awake && !server->stopped) state = plait_server_call_now(server);
    }
    if (state != 0) rb_jump_tag(state);
    return Qnil;
}

static VALUE server_calls_end(VALUE argument) {
    struct rb_server *server = (struct rb_server *)argument;
    server->noted = server->wanted && !server->stopped;
    if (server->noted) plait_native_push(server->native, server->self);
    return Qnil;
}

/*
 * transfer: called by the loop of fibers, between two of them, after plait_server_call_worker. If the app has not waited, the
 * worker waits for connections itself by now, and no other has to be called: that saves two switches each time.
 */
static VALUE server_calls_look(VALUE self) {
    struct rb_server *server = plait_server_of(self);
    while (server->stopped && server->direct && server->parked > 0) plait_server_wake_one(server);
    return rb_ensure(server_calls_call_one_after_another, (VALUE)server, server_calls_end, (VALUE)server);
}

/* begin: the first worker */
static VALUE server_calls_begin_work(VALUE self) {
    struct rb_server *server = plait_server_of(self);
    server->awake = true;
    server->workers++;
    server_calls_spawn((VALUE)server);
    return self;
}

void plait_server_define_calls(VALUE core) {
    id_call = rb_intern("call");
    rb_define_method(core, "begin", server_calls_begin_work, 0);
    rb_define_method(core, "transfer", server_calls_look, 0);
}
