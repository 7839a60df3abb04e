/*
 * How workers without work wait until they are called: a thread at a Queue of its own; a fiber in an Array, from which the
 * loop of fibers transfers to it, which saves the scheduler's hooks for both ways (a third of the CPU of a request that waits).
 */
#include "rb_server.h"

#include "../plait_io.h"

static ID id_push, id_pop;

static VALUE server_rest_leave(VALUE argument) {
    plait_native_leave(((const struct rb_server *)argument)->native);
    return Qnil;
}

/* A called worker is no longer in the list; one that is ended at rest is. Hundreds may rest: they are searched only then. */
static VALUE server_rest_stop_resting(VALUE argument) {
    struct rb_server *server = (struct rb_server *)argument;
    VALUE fiber = rb_fiber_current();
    bool called = server->called == fiber;
    server->called = Qnil;
    if (!called && RTEST(rb_ary_delete(server->resting, fiber))) server->parked--;
    else server->awake = false;
    return Qnil;
}

struct parking {
    struct rb_server *server;
    struct rb_server_worker *worker;
};

static VALUE server_rest_park(VALUE argument) {
    const struct rb_server_worker *worker = ((const struct parking *)argument)->worker;
    while (!worker->called) rb_funcall(worker->queue, id_pop, 0);
    return Qnil;
}

/* A worker that is ended while parked was called, or is still in the list: no other runs between a look and its use. */
static VALUE server_rest_stop_parking(VALUE argument) {
    const struct parking *parking = (const struct parking *)argument;
    struct rb_server *server = parking->server;
    if (parking->worker->called) {
        server->awake = false;
        return Qnil;
    }
    struct rb_server_worker **place = &server->idle;
    while (*place != parking->worker) place = &(*place)->next;
    *place = parking->worker->next;
    server->parked--;
    return Qnil;
}

static void server_rest_at_queue(struct rb_server *server, struct rb_server_worker *worker) {
    worker->called = false;
    worker->next = server->idle;
    server->idle = worker;
    server->parked++;
    struct parking parking = {.server = server, .worker = worker};
    rb_ensure(server_rest_park, (VALUE)&parking, server_rest_stop_parking, (VALUE)&parking);
}

void plait_server_rest(struct rb_server *server, struct rb_server_worker *worker) {
    if (!server->direct) return server_rest_at_queue(server, worker);

    server->parked++;
    rb_ary_push(server->resting, rb_fiber_current());
    rb_ensure(server_rest_leave, (VALUE)server, server_rest_stop_resting, (VALUE)server);
}

static void server_rest_call_at_queue(struct rb_server *server) {
    struct rb_server_worker *worker = server->idle;
    server->idle = worker->next;
    worker->called = true;
    rb_funcall(worker->queue, id_push, 1, Qtrue);
}

void plait_server_wake_one(struct rb_server *server) {
    server->parked--;
    server->awake = true;
    if (!server->direct) return server_rest_call_at_queue(server);

    server->called = rb_ary_pop(server->resting);
    rb_fiber_transfer(server->called, 0, NULL);
}

void plait_server_init_rest(void) {
    id_push = rb_intern("push");
    id_pop = rb_intern("pop");
}
