/*
 * How a worker waits for the connections of all: a thread in server_sleep without the GVL, a fiber by its scheduler, for
 * which the kernel's set is an IO.
 */
#include "rb_server.h"

#include <errno.h>
#include <ruby/fiber/scheduler.h>
#include <ruby/thread.h>

#include "../plait_io.h"

struct poll {
    struct rb_server *server;
    server_event events[SERVER_BATCH];
    int count; /* of events; -1 with error */
    int error;
};

static void *server_poll_sleep_without_gvl(void *argument) {
    struct poll *poll = argument;
    poll->count = server_sleep(&poll->server->engine, poll->events, -1);
    poll->error = errno;
    return NULL;
}

/* It does not sleep while anything is pending, be it a turn that others are to have: so that is seen to each time. */
static void server_poll_sleep_on_thread(struct poll *poll) {
    rb_nogvl(server_poll_sleep_without_gvl, poll, RUBY_UBF_IO, NULL, RB_NOGVL_INTR_FAIL);
}

static VALUE server_poll_set_as_io(struct rb_server *server) {
    if (!NIL_P(server->io)) return server->io;

    return server->io = plait_io_to_wait_by(server->engine.kernel.number);
}

static void server_poll_wait_in_fiber(struct rb_server *server) {
    VALUE io = server_poll_set_as_io(server);
    if (server->native) plait_native_wait(server->native, server->scheduler, io, PLAIT_READABLE, NULL);
    else rb_fiber_scheduler_io_wait(server->scheduler, io, INT2FIX(PLAIT_READABLE), Qnil);
}

static VALUE server_poll_wait_for_connections(VALUE argument) {
    struct poll *poll = (struct poll *)argument;
    if (NIL_P(poll->server->scheduler)) {
        server_poll_sleep_on_thread(poll);
    } else {
        server_poll_wait_in_fiber(poll->server);
        poll->server->yielded = plait_server_now();
    }
    return Qnil;
}

static VALUE server_poll_end_wait(VALUE argument) {
    ((const struct poll *)argument)->server->polling = false;
    return Qnil;
}

static void server_poll_take(struct poll *poll) {
    if (poll->count > 0) server_take(&poll->server->engine, poll->events, poll->count, plait_server_now());
    if (poll->count == -1 && poll->error != EINTR) rb_syserr_fail(poll->error, SERVER_KERNEL);
    poll->count = 0;
}

/* While others run the app in their fibers, these have to be let go on too. */
static bool server_poll_others_wait(const struct rb_server *server) {
    return server->running > 0 || plait_server_now() - server->yielded > RB_SERVER_SLICE;
}

void plait_server_poll(struct rb_server *server) {
    struct poll poll = {.server = server, .error = EINTR};
    bool fibers = !NIL_P(server->scheduler);
    if (!fibers || !server_poll_others_wait(server)) poll.count = server_sleep(&server->engine, poll.events, 0);
    if (poll.count <= 0) {
        poll.count = -1;
        server->polling = true;
        rb_ensure(server_poll_wait_for_connections, (VALUE)&poll, server_poll_end_wait, (VALUE)&poll);
        if (fibers && server->engine.kernel.number != -1) poll.count = server_sleep(&server->engine, poll.events, 0);
    }
    server_poll_take(&poll);
    rb_thread_check_ints();
}

void plait_server_look(struct rb_server *server) {
    struct poll poll = {.server = server};
    poll.count = server_sleep(&server->engine, poll.events, 0);
    poll.error = errno;
    server_poll_take(&poll);
}

void plait_server_nap(struct rb_server *server) {
    plait_server_look(server);
    if (NIL_P(server->scheduler)) rb_thread_wait_for((struct timeval){.tv_usec = 1000});
    else rb_fiber_scheduler_kernel_sleep(server->scheduler, DBL2NUM(0.001));
}
