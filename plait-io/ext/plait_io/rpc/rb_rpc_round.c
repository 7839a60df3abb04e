/* See rb_rpc_round.h. What Ruby calls is documented in plait-rpc/lib/plait/rpc/server/leading.rb. */
#include "rb_rpc_round.h"

#ifdef HAVE_PLAIT_EPOLL

#include <math.h>
#include <ruby/fiber/scheduler.h>
#include <stdbool.h>

#include "../plait_io.h"
#include "../reactor/rb_reactor.h"
#include "rb_rpc_batch.h"
#include "rb_rpc_batch_run.h"
#include "rb_rpc_line.h"
#include "rb_rpc_line_receive.h"
#include "rb_rpc_line_send.h"
#include "rb_rpc_line_wait.h"

/* Seconds after which the round makes sure again that a worker watches what is run, and lets other fibers run. */
static const double WATCH = 0.001;

static ID id_admitted, id_again, id_attended, id_connection, id_fresh, id_in_flight, id_line;
static ID id_owed, id_running, id_stopping;
static VALUE sym_idle, sym_full;

struct round {
    VALUE pool;
    VALUE dispatcher;
    VALUE handler;
    VALUE mutex;          /* of the server's lock */
    VALUE reactor;
    VALUE duties;         /* Arrays and Hashes: what any worker can do at once; empty as a rule */
    VALUE queues;         /* Arrays: requests that go first; empty as a rule */
    VALUE others;         /* peers for Ruby to attend to */
    VALUE ready;          /* peers that have sent something, */
    long next;            /* of these the first that was not looked at */
    VALUE peer;           /* that is attended to, or nil */
    VALUE state;          /* what has come of reading from it: a Symbol */
    VALUE batch;          /* of it, that is run, or left; or nil */
    double since;         /* when that began, monotonic seconds; 0: nothing is run */
    double limit;         /* when the round ends, monotonic seconds, or INFINITY */
    double watched;       /* when it was last made sure that a worker watches */
    size_t requests;      /* that have come, since `counted` was asked for */
    size_t notifications;
    size_t done;          /* of both, that were run; the batch not counted */
    uint32_t most;        /* requests in a batch */
    long slots;           /* methods that run at once */
    bool secret;          /* peers have to show one first */
    unsigned generation;  /* of processes */
    bool over;            /* there is no round; or another worker has taken all of it */
};

/* ---- the object ---- */

static void rpc_round_mark(void *data) {
    const struct round *round = data;
    rb_gc_mark(round->pool);
    rb_gc_mark(round->dispatcher);
    rb_gc_mark(round->handler);
    rb_gc_mark(round->mutex);
    rb_gc_mark(round->reactor);
    rb_gc_mark(round->duties);
    rb_gc_mark(round->queues);
    rb_gc_mark(round->others);
    rb_gc_mark(round->ready);
    rb_gc_mark(round->peer);
    rb_gc_mark(round->batch);
}

static const rb_data_type_t rpc_round_type = {
    .wrap_struct_name = "Plait::RPC::NativeRound",
    .function = {.dmark = rpc_round_mark, .dfree = RUBY_DEFAULT_FREE},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE rpc_round_allocate(VALUE class) {
    struct round *round;
    VALUE self = TypedData_Make_Struct(class, struct round, &rpc_round_type, round);
    round->pool = round->dispatcher = round->handler = round->mutex = round->reactor = Qnil;
    round->duties = round->queues = round->others = round->ready = round->peer = round->batch = Qnil;
    round->state = sym_idle;
    round->over = true;
    return self;
}

static struct round *rpc_round_of(VALUE self) {
    return rb_check_typeddata(self, &rpc_round_type);
}

/* new(pool, dispatcher, handler, mutex, reactor, duties, queues, most) */
static VALUE rpc_round_initialize(int argc, VALUE *argv, VALUE self) {
    struct round *round = rpc_round_of(self);
    rb_check_arity(argc, 8, 8);
    round->pool = argv[0];
    round->dispatcher = argv[1];
    round->handler = argv[2];
    round->mutex = argv[3];
    round->reactor = argv[4];
    round->duties = argv[5];
    round->queues = argv[6];
    round->most = NUM2UINT(argv[7]);
    round->others = rb_ary_new();
    round->ready = rb_ary_new();
    round->generation = plait_generation();
    round->slots = NUM2LONG(rb_attr_get(round->pool, rb_intern("@limit")));
    round->secret = RTEST(rb_attr_get(round->dispatcher, rb_intern("@secret")));
    return self;
}

/* ---- the server's records ---- */

/*
 * They are changed under the server's lock. While no thread has it, and no line of Ruby runs, the GVL does as well. Where
 * another thread has it, what there is to be done is left to Ruby.
 */
static bool rpc_round_locked(const struct round *round) {
    return RTEST(rb_mutex_locked_p(round->mutex));
}

static bool rpc_round_any(VALUE lists) {
    for (long i = 0; i < RARRAY_LEN(lists); i++) {
        VALUE list = RARRAY_AREF(lists, i);
        if (RB_TYPE_P(list, T_HASH) ? RHASH_SIZE(list) > 0 : RARRAY_LEN(list) > 0) return true;
    }
    return false;
}

/* Whether requests may be run now. */
static bool rpc_round_open(const struct round *round) {
    if (rpc_round_locked(round) || RTEST(rb_attr_get(round->dispatcher, id_stopping))) return false;
    if (rpc_round_any(round->duties) || rpc_round_any(round->queues)) return false;
    return FIX2LONG(rb_attr_get(round->pool, id_running)) < round->slots;
}

/* Its line, if nothing else is going on there; or NULL. */
static struct line *rpc_round_plain_line(const struct round *round, VALUE peer) {
    VALUE value = rb_attr_get(rb_attr_get(peer, id_connection), id_line);
    if (!rb_typeddata_is_kind_of(value, &plait_line_type)) return NULL;

    struct line *line = plait_line_of(value);
    if (!line->batches || !NIL_P(line->over) || line->held || plait_line_unsent(line) > 0) return NULL;
    if (RTEST(rb_attr_get(peer, id_attended)) || rb_attr_get(peer, id_in_flight) != INT2FIX(0)) return NULL;
    return !round->secret || rb_attr_get(peer, id_admitted) == Qtrue ? line : NULL;
}

static void rpc_round_take_hold(struct round *round, VALUE peer) {
    rb_ivar_set(peer, id_attended, Qtrue);
    round->peer = peer;
    round->state = sym_idle;
}

/* Lets go of the peer, which waits for its next request, or for Ruby. Returns false where it can't be done now. */
static bool rpc_round_release(struct round *round, const struct line *line, bool done) {
    VALUE peer = round->peer;
    if (rpc_round_locked(round)) return false;

    done = done && !RTEST(rb_attr_get(peer, id_again)) && !plait_line_buffered(line);
    if (!done) rb_ary_push(round->others, peer);
    rb_ivar_set(peer, id_attended, Qfalse);
    round->peer = Qnil;
    if (done) plait_reactor_rearm(round->reactor, plait_descriptor_of(line->io), line->drained);
    return true;
}

/* All of the batch were run. Answers that come later are still owed. */
static bool rpc_round_count_off(struct round *round) {
    size_t unanswered = plait_rpc_batch_unanswered(round->batch);
    if (unanswered > 0) {
        if (rpc_round_locked(round)) return false;
        rb_ivar_set(round->peer, id_owed, LONG2FIX(FIX2LONG(rb_attr_get(round->peer, id_owed)) + (long)unanswered));
    }
    round->done += plait_rpc_batch_requests(round->batch) + plait_rpc_batch_notifications(round->batch);
    round->batch = Qnil;
    return true;
}

/* ---- the requests of a peer ---- */

/*
 * Exceptions of other threads may come in here at any call of Ruby. So each request is in the batch until a method of it runs,
 * `state` says until then that there is more to read, and the calls that change the server's records hold exceptions back.
 */

static void rpc_round_see_to_watch(struct round *round) {
    if (round->since - round->watched < WATCH) return;

    round->watched = round->since;
    plait_undisturbed_by(rb_cObject, rb_yield, Qnil);
}

/* Another worker has taken what is left; or a method has come back in a fork, where all is its parent's. */
static bool rpc_round_over(const struct round *round) {
    return round->over || round->generation != plait_generation();
}

/* Returns whether all of the batch were run here. */
static bool rpc_round_run(struct round *round, struct line *line, VALUE batch) {
    round->requests += plait_rpc_batch_requests(batch);
    round->notifications += plait_rpc_batch_notifications(batch);
    round->batch = batch;
    for (;;) {
        round->since = plait_now();
        rpc_round_see_to_watch(round);
        VALUE left = plait_rpc_batch_run(batch, round->handler);
        round->since = 0;
        if (rpc_round_over(round) || RTEST(left)) return false;
        if (!plait_rpc_batch_left(batch)) return plait_rpc_batch_done(batch) && rpc_round_count_off(round);
        if (!plait_line_flush(line) && plait_line_congested(line)) return false;
    }
}

/* Returns false where its batch is left. */
static bool rpc_round_attend(struct round *round, struct line *line) {
    bool came = false;
    do {
        VALUE batch = Qnil;
        round->state = sym_full;
        round->state = plait_line_take_requests(line, round->most, &batch);
        if (NIL_P(batch)) break;
        came = true;
        if (!rpc_round_run(round, line, batch)) return false;
    } while (NIL_P(line->over) && plait_line_holds_request(line));
    bool done = NIL_P(line->over) && plait_line_flush(line) && NIL_P(line->over) && round->state == sym_idle;
    if (came && !done) rb_ivar_set(round->peer, id_fresh, Qtrue);
    return rpc_round_release(round, line, done);
}

/* ---- the round ---- */

/* Returns false where a peer is left in the middle. */
static bool rpc_round_go_through(struct round *round) {
    while (round->next < RARRAY_LEN(round->ready)) {
        if (!rpc_round_open(round)) return false;

        VALUE peer = RARRAY_AREF(round->ready, round->next++);
        struct line *line = rpc_round_plain_line(round, peer);
        if (!line) {
            rb_ary_push(round->others, peer);
            continue;
        }
        rpc_round_take_hold(round, peer);
        if (!rpc_round_attend(round, line) || rpc_round_over(round)) return false;
    }
    return RARRAY_LEN(round->others) == 0;
}

/* A thread gives the GVL away while it waits, be it for a moment. A loop of fibers has others to run. */
static void rpc_round_let_others_run(struct round *round, VALUE scheduler) {
    if (NIL_P(scheduler) || plait_now() - round->watched < WATCH) return;

    round->watched = plait_now();
    rb_fiber_scheduler_kernel_sleep(scheduler, INT2FIX(0));
}

/* Returns whether a peer is ready, before the round has to end. */
static bool rpc_round_wait(struct round *round) {
    VALUE scheduler = rb_fiber_scheduler_current();
    rpc_round_let_others_run(round, scheduler);
    if (rpc_round_over(round) || rpc_round_any(round->duties)) return false;

    VALUE ready = plait_reactor_wait(round->reactor, round->limit, NIL_P(scheduler));
    if (NIL_P(ready)) return false;
    round->next = 0;
    round->ready = ready;
    return RARRAY_LEN(ready) > 0;
}

static VALUE rpc_round_go_on(VALUE argument) {
    struct round *round = (struct round *)argument;
    while (rpc_round_wait(round) && rpc_round_go_through(round)) {
        if (!isinf(round->limit) && plait_now() >= round->limit) break;
    }
    return Qnil;
}

static VALUE rpc_round_stop(VALUE argument) {
    ((struct round *)argument)->since = 0;
    return Qnil;
}

/* go(limit) { … } */
static VALUE rpc_round_go(VALUE self, VALUE limit) {
    struct round *round = rpc_round_of(self);
    round->over = false;
    round->watched = plait_now();
    round->limit = NIL_P(limit) ? INFINITY : NUM2DBL(limit);
    rb_ensure(rpc_round_go_on, (VALUE)round, rpc_round_stop, (VALUE)round);
    RB_GC_GUARD(self);
    return Qnil;
}

/* ---- what the worker pool asks ---- */

/* since => Float, or nil */
static VALUE rpc_round_since(VALUE self) {
    double since = rpc_round_of(self)->since;
    return since > 0 ? DBL2NUM(since) : Qnil;
}

/* end => [Array<Peer>, Peer or nil, Symbol, NativeBatch or nil] */
static VALUE rpc_round_end(VALUE self) {
    struct round *round = rpc_round_of(self);
    VALUE others = round->others;
    for (; round->next < RARRAY_LEN(round->ready); round->next++) rb_ary_push(others, RARRAY_AREF(round->ready, round->next));
    VALUE rest = rb_ary_new_from_args(4, others, round->peer, round->state, round->batch);
    round->over = true;
    round->peer = round->batch = Qnil;
    return rest;
}

/* counted => [requests, notifications, done] */
static VALUE rpc_round_counted(VALUE self) {
    struct round *round = rpc_round_of(self);
    VALUE counted = rb_ary_new_from_args(3, SIZET2NUM(round->requests), SIZET2NUM(round->notifications), SIZET2NUM(round->done));
    round->requests = round->notifications = round->done = 0;
    return counted;
}

static void rpc_round_load_names(void) {
    id_admitted = rb_intern("@admitted");
    id_again = rb_intern("@again");
    id_attended = rb_intern("@attended");
    id_connection = rb_intern("@connection");
    id_fresh = rb_intern("@fresh");
    id_in_flight = rb_intern("@in_flight");
    id_line = rb_intern("@line");
    id_owed = rb_intern("@owed");
    id_running = rb_intern("@running");
    id_stopping = rb_intern("@stopping");
    sym_idle = ID2SYM(rb_intern("idle"));
    sym_full = ID2SYM(rb_intern("full"));
}

void plait_init_rpc_round(VALUE rpc) {
    rpc_round_load_names();
    VALUE round = rb_define_class_under(rpc, "NativeRound", rb_cObject);
    rb_define_alloc_func(round, rpc_round_allocate);
    rb_define_method(round, "initialize", rpc_round_initialize, -1);
    rb_define_method(round, "go", rpc_round_go, 1);
    rb_define_method(round, "since", rpc_round_since, 0);
    rb_define_method(round, "end", rpc_round_end, 0);
    rb_define_method(round, "counted", rpc_round_counted, 0);
}

#endif
