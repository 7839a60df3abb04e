/* See rb_rpc_visit.h. What Ruby calls is documented in plait-rpc/lib/plait/rpc/server/leading.rb. */
#include "rb_rpc_visit.h"

#ifdef HAVE_PLAIT_EPOLL

#include <math.h>
#include <stdbool.h>

#include "../plait_io.h"
#include "../reactor/rb_reactor.h"
#include "rb_rpc_batch.h"
#include "rb_rpc_batch_run.h"
#include "rb_rpc_line.h"
#include "rb_rpc_line_end.h"
#include "rb_rpc_line_receive.h"
#include "rb_rpc_line_send.h"
#include "rb_rpc_line_wait.h"

/* Milliseconds for which a connection may be silent: then it is armed, as all that are at rest. */
enum { SILENCE = 10 };

/* Seconds after which the visit makes sure again that a thread watches what is run. */
static const double WATCH = 0.001;

static VALUE sym_idle, sym_full, sym_closed;

struct visit {
    VALUE reactor;
    VALUE handler;
    VALUE batch;          /* that is run, or left; or nil */
    VALUE state;          /* what has come of reading: a Symbol */
    double since;         /* when that began, monotonic seconds; 0: nothing is run */
    double last;          /* when that, or the one before it, began */
    double limit;         /* when it is over, monotonic seconds, or INFINITY */
    double watched;       /* when the visit last made sure that a thread watches it */
    size_t requests;      /* that have come, since `counted` was asked for */
    size_t notifications;
    size_t done;          /* of both, that were run; the batch not counted */
    bool over;            /* there is no visit; or another worker has taken the connection, and the batch */
};

/* ---- the object ---- */

static void rpc_visit_mark(void *data) {
    const struct visit *visit = data;
    rb_gc_mark(visit->reactor);
    rb_gc_mark(visit->handler);
    rb_gc_mark(visit->batch);
}

static const rb_data_type_t visit_type = {
    .wrap_struct_name = "Plait::RPC::NativeVisit",
    .function = {.dmark = rpc_visit_mark, .dfree = RUBY_DEFAULT_FREE},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE rpc_visit_allocate(VALUE class) {
    struct visit *visit;
    VALUE self = TypedData_Make_Struct(class, struct visit, &visit_type, visit);
    visit->reactor = visit->handler = visit->batch = Qnil;
    visit->state = sym_idle;
    visit->over = true;
    return self;
}

static struct visit *rpc_visit_of(VALUE self) {
    return rb_check_typeddata(self, &visit_type);
}

/* new(reactor, handler) */
static VALUE rpc_visit_initialize(VALUE self, VALUE reactor, VALUE handler) {
    struct visit *visit = rpc_visit_of(self);
    visit->reactor = reactor;
    visit->handler = handler;
    return self;
}

/* ---- a visit ---- */

/*
 * Exceptions of other threads may come in here at any call of Ruby. So each request is in the batch until a method of it runs,
 * `state` says until then that there is more to read, and the calls that change the server's records hold exceptions back.
 */

static VALUE rpc_visit_release_line(VALUE line) {
    plait_line_release((struct line *)line);
    return Qnil;
}

/* While it is waited for, its descriptor is not closed. */
static enum plait_turn rpc_visit_wait(const struct visit *visit, struct line *line) {
    line->receiving = true;
    enum plait_turn turn = plait_reactor_wait_beside(visit->reactor, plait_descriptor_of(line->io), SILENCE);
    line->receiving = false;
    if (!NIL_P(line->over)) plait_undisturbed_by(rb_cObject, rpc_visit_release_line, (VALUE)line);
    if (turn == PLAIT_INTERRUPTED) rb_thread_check_ints();
    return turn;
}

static void rpc_visit_see_to_watch(struct visit *visit) {
    if (visit->last - visit->watched < WATCH) return;

    visit->watched = visit->last;
    plait_undisturbed_by(rb_cObject, rb_yield, Qnil);
}

static void rpc_visit_begin(struct visit *visit, VALUE batch) {
    visit->since = visit->last = plait_now();
    visit->batch = batch;
    visit->requests += plait_rpc_batch_requests(batch);
    visit->notifications += plait_rpc_batch_notifications(batch);
}

static void rpc_visit_finish(struct visit *visit) {
    visit->done += plait_rpc_batch_requests(visit->batch) + plait_rpc_batch_notifications(visit->batch);
    visit->batch = Qnil;
}

/* Returns whether all is answered and sent. `left` is whether the next request is for Ruby to run. */
static bool rpc_visit_run(struct visit *visit, struct line *line, VALUE batch, VALUE *left) {
    rpc_visit_begin(visit, batch);
    rpc_visit_see_to_watch(visit);
    if (plait_rpc_batch_waits(batch)) return false;
    *left = plait_rpc_batch_run(batch, visit->handler);
    visit->since = 0;
    if (visit->over || RTEST(*left) || !plait_rpc_batch_over(batch)) return false;

    rpc_visit_finish(visit);
    return NIL_P(line->over) && plait_line_flush(line);
}

/* Takes what is there. Returns whether the visit goes on. */
static bool rpc_visit_take(struct visit *visit, struct line *line, VALUE *left) {
    VALUE batch = Qnil;
    visit->state = sym_full;
    visit->state = plait_line_visit(line, &batch);
    bool idle = visit->state == sym_idle;
    if (NIL_P(batch)) return idle;

    bool done = rpc_visit_run(visit, line, batch, left);
    return done && idle && visit->last < visit->limit;
}

static VALUE rpc_visit_stay(struct visit *visit, struct line *line) {
    VALUE left = Qfalse;
    bool on = true;
    while (on) {
        enum plait_turn turn = rpc_visit_wait(visit, line);
        if (!NIL_P(line->over)) visit->state = sym_closed;
        if (turn == PLAIT_INTERRUPTED && NIL_P(line->over)) continue;

        on = turn == PLAIT_THIS && NIL_P(line->over) && rpc_visit_take(visit, line, &left);
    }
    return left;
}

/* pay(line, limit) { … } => whether the next request is for Ruby to run */
static VALUE rpc_visit_pay(VALUE self, VALUE line, VALUE limit) {
    struct visit *visit = rpc_visit_of(self);
    visit->over = false;
    visit->state = sym_idle;
    visit->watched = plait_now();
    visit->limit = NIL_P(limit) ? INFINITY : NUM2DBL(limit);
    VALUE outcome = rpc_visit_stay(visit, plait_line_of(line));
    RB_GC_GUARD(self);
    RB_GC_GUARD(line);
    return outcome;
}

/* ---- what the worker pool asks ---- */

/* since => Float, or nil */
static VALUE rpc_visit_since(VALUE self) {
    double since = rpc_visit_of(self)->since;
    return since > 0 ? DBL2NUM(since) : Qnil;
}

/* state => Symbol; or nil: it is over */
static VALUE rpc_visit_state(VALUE self) {
    const struct visit *visit = rpc_visit_of(self);
    return visit->over ? Qnil : visit->state;
}

/* end => NativeBatch, or nil */
static VALUE rpc_visit_end(VALUE self) {
    struct visit *visit = rpc_visit_of(self);
    VALUE batch = visit->batch;
    visit->over = true;
    visit->since = 0;
    visit->batch = Qnil;
    return batch;
}

/* counted => [requests, notifications, done] */
static VALUE rpc_visit_counted(VALUE self) {
    struct visit *visit = rpc_visit_of(self);
    VALUE counted = rb_ary_new_from_args(3, SIZET2NUM(visit->requests), SIZET2NUM(visit->notifications), SIZET2NUM(visit->done));
    visit->requests = visit->notifications = visit->done = 0;
    return counted;
}

void plait_init_rpc_visit(VALUE rpc) {
    sym_idle = ID2SYM(rb_intern("idle"));
    sym_full = ID2SYM(rb_intern("full"));
    sym_closed = ID2SYM(rb_intern("closed"));
    VALUE visit = rb_define_class_under(rpc, "NativeVisit", rb_cObject);
    rb_define_alloc_func(visit, rpc_visit_allocate);
    rb_define_method(visit, "initialize", rpc_visit_initialize, 2);
    rb_define_method(visit, "pay", rpc_visit_pay, 2);
    rb_define_method(visit, "since", rpc_visit_since, 0);
    rb_define_method(visit, "state", rpc_visit_state, 0);
    rb_define_method(visit, "end", rpc_visit_end, 0);
    rb_define_method(visit, "counted", rpc_visit_counted, 0);
}

#endif
