/*
 * The worker loop. Each worker, a thread or a fiber, takes ready connections, and runs the app for each one with a complete
 * request. When none is ready, one of them waits for all, and the others are parked.
 *
 * Before the app runs another worker is called, which takes over if the app waits. If it doesn't, the same worker goes on
 * with the next connection, without any switch in between.
 */
#include "rb_server.h"

#include <ruby/fiber/scheduler.h>

#include "../plait_io.h"

/* Connections served before it is seen to interrupts, such as the end of a thread's time slice. */
enum { CHECK_EVERY = 64 };

/*
 * Seconds that the first of a full queue may have waited before further requests are refused: the worker that runs the app may
 * only wait for the GVL, and the burst may be over as soon as it has the GVL.
 */
static const double PATIENCE = 0.25;

/*
 * Lets others have their turn now and then, however much there is to do. Threads too: one that has lost the GVL in the middle
 * of a request would wait for it as long as Ruby's time slice is, 0.1 s, while requests that came after it are answered. And
 * workers with fresh data: a connection that has sent thousands of requests at once is ready until the last of them.
 */
static void server_work_see_to_others(struct rb_server *server) {
    bool threads = NIL_P(server->scheduler);
    if (++server->served % CHECK_EVERY == 0) rb_thread_check_ints();
    if (plait_server_now() - server->yielded < RB_SERVER_SLICE) return;

    server->yielded = plait_server_now();
    if (!server->polling) plait_server_look(server);
    if (threads && server->running == 0) return;
    if (threads) rb_thread_schedule();
    else rb_fiber_scheduler_kernel_sleep(server->scheduler, INT2FIX(0));
}

static bool server_work_is_full(const struct rb_server *server) {
    const struct server *engine = &server->engine;
    if (server->running < server->limit || (long)engine->held < server->queue || engine->held == 0) return false;
    return server_at(engine, engine->waiting.first)->since + PATIENCE > plait_server_now();
}

static void server_work_begin_to_work(struct rb_server *server) {
    server->awake = false;
    server->scheduler = rb_fiber_scheduler_current();
    server->native = NIL_P(server->scheduler) ? NULL : plait_native_of(server->scheduler);
    server->direct = server->native && plait_native_leaves(server->native, server->scheduler);
}

static VALUE server_work_work(VALUE argument) {
    struct rb_server *server = (struct rb_server *)argument;
    server_work_begin_to_work(server);
    struct rb_server_worker worker = {.queue = Qnil};
    if (!server->direct) worker.queue = rb_funcall(rb_path2class("Thread::Queue"), rb_intern("new"), 0);
    while (!server->stopped) {
        struct server_connection *connection = NULL;
        if (server->running < server->limit) connection = server_next_waiting(&server->engine);
        server->waited = connection ? plait_server_now() - connection->since : -1;
        if (!connection && server_work_is_full(server)) {
            plait_server_nap(server);
            continue;
        }
        if (!connection) connection = server_next(&server->engine);
        if (connection) {
            plait_server_serve(server, connection);
            server_work_see_to_others(server);
        } else if (server->polling) {
            plait_server_rest(server, &worker);
        } else {
            plait_server_poll(server);
        }
    }
    return Qnil;
}

static VALUE server_work_leave(VALUE argument) {
    struct rb_server *server = (struct rb_server *)argument;
    server->workers--;
    int state = plait_server_call_worker(server);
    if (state != 0) rb_jump_tag(state);
    return Qnil;
}

/* work: `begin` starts the first worker, the spawner the others */
static VALUE server_work_server_work(VALUE self) {
    struct rb_server *server = plait_server_of(self);
    return rb_ensure(server_work_work, (VALUE)server, server_work_leave, (VALUE)server);
}

void plait_server_define_work(VALUE core) {
    rb_define_method(core, "work", server_work_server_work, 0);
}
