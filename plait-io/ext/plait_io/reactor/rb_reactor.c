/*
 * Plait::Io::NativeReactor, for lib/plait/io/reactor.rb, where its methods and its twin, PureReactor, are.
 *
 * A thread waits in epoll_wait(2) without the GVL, a fiber by its scheduler for the epoll's own descriptor. The events of the
 * kernel are noted before an interrupt can reach the waiting thread: the next thread finds them.
 */
#include "../plait_io.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <ruby/fiber/scheduler.h>
#include <ruby/io.h>
#include <ruby/thread.h>

#include "rb_reactor.h"
#include "reactor.h"

/* Seconds of one sleep: its milliseconds are an int. */
static const double LONGEST_SLEEP = 3600;

static ID id_at, id_to_io;

/* Counts the forks that led to this process: an epoll belongs to the process that made it. */
static unsigned generation;

static void reactor_count_fork(void) {
    generation++;
}

struct rb_reactor {
    struct reactor engine;
    VALUE io;            /* the epoll's descriptor, for schedulers; made when the first fiber waits */
    unsigned generation; /* of processes */
    int waiters;
    bool closed;
};

/* ---- the object ---- */

static void reactor_mark_token(struct reactor_entry *entry, void *unused) {
    (void)unused;
    rb_gc_mark_movable((VALUE)entry->token);
}

static void reactor_mark(void *data) {
    const struct rb_reactor *reactor = data;
    rb_gc_mark(reactor->io);
    reactor_each(&reactor->engine, reactor_mark_token, NULL);
}

static void reactor_move_token(struct reactor_entry *entry, void *unused) {
    (void)unused;
    entry->token = (uintptr_t)rb_gc_location((VALUE)entry->token);
}

static void reactor_compact(void *data) {
    reactor_each(&((const struct rb_reactor *)data)->engine, reactor_move_token, NULL);
}

static void reactor_free(void *data) {
    struct rb_reactor *reactor = data;
    reactor_close(&reactor->engine);
    xfree(reactor);
}

static size_t reactor_size(const void *data) {
    return sizeof(struct rb_reactor) + reactor_bytes(&((const struct rb_reactor *)data)->engine);
}

static const rb_data_type_t reactor_type = {
    .wrap_struct_name = "Plait::Io::NativeReactor",
    .function = {.dmark = reactor_mark, .dfree = reactor_free, .dsize = reactor_size, .dcompact = reactor_compact},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static VALUE reactor_allocate(VALUE class) {
    struct rb_reactor *reactor;
    VALUE self = TypedData_Make_Struct(class, struct rb_reactor, &reactor_type, reactor);
    reactor->engine.epoll = reactor->engine.wakeup = -1;
    reactor->closed = true;
    reactor->io = Qnil;
    return self;
}

static void reactor_open_engine(struct rb_reactor *reactor) {
    int error = reactor_open(&reactor->engine);
    if (error != 0) rb_syserr_fail(error, "epoll");

    rb_update_max_fd(reactor->engine.epoll);
    rb_update_max_fd(reactor->engine.wakeup);
    reactor->generation = generation;
    reactor->waiters = 0;
    reactor->io = Qnil;
}

static VALUE reactor_initialize(VALUE self) {
    struct rb_reactor *reactor = rb_check_typeddata(self, &reactor_type);
    reactor_open_engine(reactor);
    reactor->closed = false;
    return self;
}

/* The child of a fork must not touch the epoll that it shares with its parent: it begins with one of its own. */
static struct rb_reactor *reactor_of(VALUE self) {
    struct rb_reactor *reactor = rb_check_typeddata(self, &reactor_type);
    if (reactor->generation == generation || reactor->closed) return reactor;

    reactor_close(&reactor->engine);
    reactor_open_engine(reactor);
    return reactor;
}

static struct rb_reactor *reactor_open_reactor_of(VALUE self) {
    struct rb_reactor *reactor = reactor_of(self);
    if (reactor->closed) rb_raise(rb_eIOError, "the reactor is closed");
    return reactor;
}

/* The waiting thread keeps the descriptors: a number that is closed under a waiter may be another file's soon. */
static VALUE reactor_close_now(VALUE self) {
    struct rb_reactor *reactor = reactor_of(self);
    if (reactor->closed) return Qnil;

    reactor->closed = true;
    if (reactor->waiters == 0) reactor_close(&reactor->engine);
    else reactor_wake(&reactor->engine);
    return Qnil;
}

static VALUE reactor_is_closed(VALUE self) {
    return reactor_of(self)->closed ? Qtrue : Qfalse;
}

/* ---- waits ---- */

static int reactor_descriptor_of(VALUE io) {
    return plait_descriptor_of(RB_TYPE_P(io, T_FILE) ? io : rb_funcall(io, id_to_io, 0));
}

static int reactor_interest_of(VALUE interest) {
    int events = NUM2INT(interest);
    if (events != 0 && (events & ~(REACTOR_READABLE | REACTOR_WRITABLE)) == 0) return events;

    rb_raise(rb_eArgError, "interest is READABLE, WRITABLE or both, not %d", events);
}

static int reactor_queue_of(VALUE value) {
    int queue = NUM2INT(value);
    if (queue >= 0 && queue < REACTOR_QUEUES) return queue;

    rb_raise(rb_eArgError, "a queue is a number from 0 to %d, not %d", REACTOR_QUEUES - 1, queue);
}

/* add(io, token, interest = READABLE, queue = 0) */
static VALUE reactor_add_io(int argc, VALUE *argv, VALUE self) {
    rb_check_arity(argc, 2, 4);
    int events = argc > 2 ? reactor_interest_of(argv[2]) : REACTOR_READABLE;
    int queue = argc > 3 ? reactor_queue_of(argv[3]) : 0;
    int number = reactor_descriptor_of(argv[0]);
    int error = reactor_add(&reactor_open_reactor_of(self)->engine, number, (uintptr_t)argv[1], events, queue, plait_now());
    if (error != 0) rb_syserr_fail(error, "epoll_ctl");
    RB_OBJ_WRITTEN(self, Qundef, argv[1]);
    return self;
}

/* rearm(io, interest = READABLE, queue = 0, keep = false) */
static VALUE reactor_rearm_io(int argc, VALUE *argv, VALUE self) {
    rb_check_arity(argc, 1, 4);
    int events = argc > 1 ? reactor_interest_of(argv[1]) : REACTOR_READABLE;
    int queue = argc > 2 ? reactor_queue_of(argv[2]) : 0;
    int number = reactor_descriptor_of(argv[0]);
    int error = reactor_rearm(&reactor_open_reactor_of(self)->engine, number, events, queue, argc > 3 && RTEST(argv[3]),
                              plait_now());
    if (error == ENOENT) rb_raise(rb_eArgError, "it was never added to this reactor");
    if (error != 0) rb_syserr_fail(error, "epoll_ctl");
    return self;
}

/* remove(io) */
static VALUE reactor_remove_io(VALUE self, VALUE io) {
    int number = reactor_descriptor_of(io);
    return reactor_remove(&reactor_of(self)->engine, number) ? Qtrue : Qfalse;
}

static VALUE reactor_count(VALUE self) {
    return SIZET2NUM(reactor_of(self)->engine.count);
}

/* expire(queue, before) */
static VALUE reactor_expire(VALUE self, VALUE queue_value, VALUE before_value) {
    struct rb_reactor *reactor = reactor_of(self);
    int queue = reactor_queue_of(queue_value), cursor = REACTOR_NONE;
    double before = NUM2DBL(before_value);
    VALUE tokens = rb_ary_new();
    const struct reactor_entry *entry;
    while ((entry = reactor_next_expired(&reactor->engine, queue, before, &cursor))) rb_ary_push(tokens, (VALUE)entry->token);
    return tokens;
}

/* oldest(queue) */
static VALUE reactor_oldest_since(VALUE self, VALUE queue) {
    const struct reactor_entry *entry = reactor_oldest(&reactor_of(self)->engine, reactor_queue_of(queue));
    return entry ? DBL2NUM(entry->since) : Qnil;
}

/* ---- waiting ---- */

struct waiting {
    VALUE self;
    struct rb_reactor *reactor;
    struct epoll_event events[REACTOR_BATCH];
    double limit; /* monotonic seconds, or INFINITY */
    int milliseconds;
    int count;
    int error;
    bool woken;
    bool at_once; /* sleeps without a look before */
};

static void *reactor_sleep_without_gvl(void *argument) {
    struct waiting *waiting = argument;
    waiting->count = reactor_sleep(&waiting->reactor->engine, waiting->events, waiting->milliseconds);
    waiting->error = errno;
    return NULL;
}

static void reactor_take_note(struct waiting *waiting) {
    for (int index = 0; index < waiting->count; index++) {
        if (!reactor_take(&waiting->reactor->engine, &waiting->events[index])) waiting->woken = true;
    }
    if (waiting->count == -1 && waiting->error != EINTR) rb_syserr_fail(waiting->error, "epoll_wait");
    waiting->count = 0;
}

/* Without letting go of the GVL. */
static void reactor_look(struct waiting *waiting) {
    waiting->milliseconds = 0;
    reactor_sleep_without_gvl(waiting);
    reactor_take_note(waiting);
}

/*
 * RUBY_UBF_IO, because Ruby 3.1 starts a helper thread for any other way to interrupt. It does not sleep while anything is
 * pending, be it a turn that others are to have. So the thread checks each time, and only when no thread can lose its turn.
 */
static void reactor_sleep_on_thread(struct waiting *waiting, double seconds) {
    waiting->milliseconds = isinf(seconds) ? -1 : (int)ceil(fmin(seconds, LONGEST_SLEEP) * 1e3);
    waiting->count = -1;
    waiting->error = EINTR;
    rb_nogvl(reactor_sleep_without_gvl, waiting, RUBY_UBF_IO, NULL, RB_NOGVL_INTR_FAIL);
    reactor_take_note(waiting);
    rb_thread_check_ints();
}

static VALUE reactor_descriptor_as_io(struct waiting *waiting) {
    struct rb_reactor *reactor = waiting->reactor;
    if (!NIL_P(reactor->io)) return reactor->io;

    VALUE io = plait_io_to_wait_by(reactor->engine.epoll);
    RB_OBJ_WRITE(waiting->self, &reactor->io, io);
    return io;
}

static void reactor_sleep_on_scheduler(struct waiting *waiting, VALUE scheduler, double seconds) {
    VALUE time = isinf(seconds) ? Qnil : DBL2NUM(seconds);
    rb_fiber_scheduler_io_wait(scheduler, reactor_descriptor_as_io(waiting), INT2FIX(REACTOR_READABLE), time);
}

static VALUE reactor_told(struct reactor *engine) {
    VALUE tokens = rb_ary_new_capa(1);
    const struct reactor_entry *entry;
    while (RARRAY_LEN(tokens) < REACTOR_BATCH && (entry = reactor_next_ready(engine))) rb_ary_push(tokens, (VALUE)entry->token);
    return tokens;
}

static VALUE reactor_wait_for_any(VALUE argument) {
    struct waiting *waiting = (struct waiting *)argument;
    bool slept = waiting->at_once;
    for (;;) {
        if (waiting->reactor->closed) return Qnil;
        if (!slept) reactor_look(waiting);
        VALUE tokens = reactor_told(&waiting->reactor->engine);
        double left = waiting->limit - plait_now();
        if (RARRAY_LEN(tokens) > 0 || waiting->woken || left <= 0) return tokens;

        VALUE scheduler = rb_fiber_scheduler_current();
        slept = NIL_P(scheduler); /* what it has come to is known: no need to look */
        if (slept) reactor_sleep_on_thread(waiting, left);
        else reactor_sleep_on_scheduler(waiting, scheduler, left);
    }
}

static VALUE reactor_stop_waiting(VALUE argument) {
    struct rb_reactor *reactor = ((const struct waiting *)argument)->reactor;
    if (reactor->generation != generation) return Qnil;
    if (--reactor->waiters == 0 && reactor->closed) reactor_close(&reactor->engine);
    else if (reactor->closed) reactor_wake(&reactor->engine); /* the wakeup may have reached this thread only */
    return Qnil;
}

VALUE plait_reactor_wait(VALUE self, double limit, bool at_once) {
    struct waiting waiting = {.self = self, .limit = limit, .at_once = at_once};
    waiting.reactor = reactor_of(self);
    waiting.reactor->waiters++;
    return rb_ensure(reactor_wait_for_any, (VALUE)&waiting, reactor_stop_waiting, (VALUE)&waiting);
}

/* wait(deadline = nil) */
static VALUE reactor_wait(int argc, VALUE *argv, VALUE self) {
    rb_check_arity(argc, 0, 1);
    VALUE deadline = argc > 0 ? argv[0] : Qnil;
    return plait_reactor_wait(self, NIL_P(deadline) ? INFINITY : NUM2DBL(rb_funcall(deadline, id_at, 0)), false);
}

void plait_reactor_rearm(VALUE self, int descriptor, bool drained) {
    struct rb_reactor *reactor = reactor_of(self);
    if (reactor->closed) return;
    if (drained) reactor_rearm_drained(&reactor->engine, descriptor, plait_now());
    else reactor_rearm(&reactor->engine, descriptor, REACTOR_READABLE, 0, false, plait_now());
}

/* wake: nothing in here may block, and nothing be allocated: a signal handler may call it */
static VALUE reactor_wake_up(VALUE self) {
    struct rb_reactor *reactor = reactor_of(self);
    if (!reactor->closed) reactor_wake(&reactor->engine);
    return Qnil;
}

/* ---- wiring ---- */

static void reactor_define_methods(VALUE reactor) {
    rb_define_method(reactor, "initialize", reactor_initialize, 0);
    rb_define_method(reactor, "add", reactor_add_io, -1);
    rb_define_method(reactor, "rearm", reactor_rearm_io, -1);
    rb_define_method(reactor, "remove", reactor_remove_io, 1);
    rb_define_method(reactor, "size", reactor_count, 0);
    rb_define_method(reactor, "wait", reactor_wait, -1);
    rb_define_method(reactor, "wake", reactor_wake_up, 0);
    rb_define_method(reactor, "expire", reactor_expire, 2);
    rb_define_method(reactor, "oldest", reactor_oldest_since, 1);
    rb_define_method(reactor, "close", reactor_close_now, 0);
    rb_define_method(reactor, "closed?", reactor_is_closed, 0);
}

void plait_init_reactor(VALUE plait) {
    id_at = rb_intern("at");
    id_to_io = rb_intern("to_io");
    pthread_atfork(NULL, NULL, reactor_count_fork);

    VALUE reactor = rb_define_class_under(rb_define_module_under(plait, "Io"), "NativeReactor", rb_cObject);
    rb_define_alloc_func(reactor, reactor_allocate);
    reactor_define_methods(reactor);
    rb_define_const(reactor, "READABLE", INT2FIX(REACTOR_READABLE));
    rb_define_const(reactor, "WRITABLE", INT2FIX(REACTOR_WRITABLE));
    rb_define_const(reactor, "QUEUES", INT2FIX(REACTOR_QUEUES));
}
