/*
 * How workers without work wait until they are called: a thread in a Queue; a fiber in an Array, from which the loop of
 * fibers transfers to it, which saves the scheduler's hooks for both ways (a third of the CPU of a request that waits).
 */
#include "rb_server.h"

#ifdef __linux__

#include "rb_scheduler.h"

static ID id_push, id_pop;

static VALUE leave(VALUE argument) {
    plait_native_leave(((const struct rb_server *)argument)->native);
    return Qnil;
}

/* Who was called is no longer in there; who is ended while he rests still is. Hundreds may rest: they are searched only then. */
static VALUE stop_resting(VALUE argument) {
    struct rb_server *server = (struct rb_server *)argument;
    VALUE fiber = rb_fiber_current();
    bool called = server->called == fiber;
    server->called = Qnil;
    if (!called && RTEST(rb_ary_delete(server->resting, fiber))) server->parked--;
    else server->awake = false;
    return Qnil;
}

void plait_server_rest(struct rb_server *server) {
    server->parked++;
    if (server->direct) {
        rb_ary_push(server->resting, rb_fiber_current());
        rb_ensure(leave, (VALUE)server, stop_resting, (VALUE)server);
    } else {
        rb_funcall(server->parking, id_pop, 0);
        server->awake = false;
    }
}

void plait_server_wake_one(struct rb_server *server) {
    server->parked--;
    server->awake = true;
    if (!server->direct) {
        rb_funcall(server->parking, id_push, 1, Qtrue);
        return;
    }
    server->called = rb_ary_pop(server->resting);
    rb_fiber_transfer(server->called, 0, NULL);
}

void plait_server_init_rest(void) {
    id_push = rb_intern("push");
    id_pop = rb_intern("pop");
}

#endif
