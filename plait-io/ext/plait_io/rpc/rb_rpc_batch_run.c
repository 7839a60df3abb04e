/* Runs the requests of a batch whose methods are quick, back to back. */
#include "rb_rpc_batch_run.h"

#include <ruby/fiber/scheduler.h>

#include "../plait_io.h"
#include "rb_rpc_batch.h"
#include "rb_rpc_line.h"
#include "rb_rpc_line_send.h"
#include "rb_rpc_line_wait.h"

/* Bytes of answers that do not wait for more: whether the peer takes them is to be known before. */
enum { PORTION = 64 * 1024 };

/* Seconds from which on a run is slow, as in plait-rpc/lib/plait/rpc/exposure.rb; and that answers wait for others at most. */
static const double SLOW = 0.0002, GATHER = 0.0005;

static ID id_respond, id_methods, id_conclude, id_rescued, id_abandon, id_took, id_running;
static ID id_forget, id_call, id_plain, id_doubt;
static VALUE callable_class, delayed_class;

/* What is in @plain of a method without keywords. */
enum { PLAIN_OBJECT, PLAIN_METHOD, PLAIN_LEAST, PLAIN_MOST };

/* Whether this Ruby warns of unused blocks, and whether it does so without -w, too: as at the start of the program. */
static bool may_warn, warns_always;

/* ---- without interrupts ---- */

/*
 * What another thread raises must not come between a request and its answer. A thread of fibers gets nothing raised, and must
 * not have a mask, which all its fibers would share.
 */
static VALUE rpc_batch_run_undisturbed(VALUE (*function)(VALUE), VALUE argument) {
    if (!NIL_P(rb_fiber_scheduler_current())) return function(argument);
    return plait_undisturbed_by(rb_eException, function, argument);
}

/* ---- an answer before the end ---- */

struct early {
    VALUE token;
    VALUE value;
};

static VALUE rpc_batch_run_respond(VALUE argument) {
    const struct early *early = (const struct early *)argument;
    return rb_funcall(plait_rpc_batch_incoming(plait_rpc_batch_class, early->token), id_respond, 1, early->value);
}

/* What a method yields is the answer, before it is over or after that. */
static VALUE rpc_batch_run_answer_early(RB_BLOCK_CALL_FUNC_ARGLIST(value, token)) {
    (void)argc, (void)argv, (void)blockarg;
    struct early early = {.token = token, .value = value};
    return rpc_batch_run_undisturbed(rpc_batch_run_respond, (VALUE)&early);
}

/* ---- a run ---- */

struct run {
    struct batch *batch;
    struct line *line;
    VALUE handler;
    VALUE name;     /* the method that was looked up last, */
    VALUE callable; /* and what was found, or nil; */
    VALUE plain;    /* its object, method and numbers of arguments, or nil */
    VALUE own;      /* of the fiber, see plait_state_left */
    VALUE value;    /* that it has returned */
    size_t number;  /* of the request that is run */
    bool busy;      /* it is */
    bool refused;   /* its caller has the refusal, or was to get it */
    bool slow;      /* the last one was */
    double began;
    double since;   /* answers wait */
    uint64_t sent;  /* by the line before */
};

static void rpc_batch_run_find(struct run *run, VALUE name) {
    if (run->name == name) return;

    run->callable = rb_hash_lookup(rb_attr_get(run->handler, id_methods), name);
    run->plain = rb_obj_class(run->callable) == callable_class ? rb_attr_get(run->callable, id_plain) : Qnil;
    run->name = name;
}

static bool rpc_batch_run_fits(VALUE plain, long count) {
    VALUE most = RARRAY_AREF(plain, PLAIN_MOST);
    return count >= FIX2LONG(RARRAY_AREF(plain, PLAIN_LEAST)) && (NIL_P(most) || count <= FIX2LONG(most));
}

/* Whether it can be run here. */
static bool rpc_batch_run_plain(const struct run *run, const struct request *request) {
    if (!request->small || NIL_P(run->plain) || rb_attr_get(run->callable, id_doubt) != INT2FIX(0)) return false;
    return rpc_batch_run_fits(run->plain, RARRAY_LEN(request->params) - 1);
}

/* Since Ruby 3.4 a call from here warns of each method that ignores the block. One by __send__, in Ruby, never does. */
static bool rpc_batch_run_warns(void) {
    return warns_always || (may_warn && RTEST(ruby_verbose));
}

static VALUE rpc_batch_run_call_by_ruby(VALUE callable, VALUE token) {
    VALUE arguments = rb_ary_subseq(token, 1, RARRAY_LEN(token) - 1);
    return rb_block_call(callable, id_call, 1, &arguments, rpc_batch_run_answer_early, token);
}

static VALUE rpc_batch_run_call(const struct run *run, VALUE token) {
    VALUE object = RARRAY_AREF(run->plain, PLAIN_OBJECT);
    ID method = rb_sym2id(RARRAY_AREF(run->plain, PLAIN_METHOD));
    rb_thread_local_aset(rb_thread_current(), id_running, token);
    if (rpc_batch_run_warns()) return rpc_batch_run_call_by_ruby(run->callable, token);
    int count = (int)RARRAY_LEN(token) - 1;
    VALUE arguments[16];
    for (int i = 0; i < count; i++) arguments[i] = RARRAY_AREF(token, i + 1);
    return rb_block_call(object, method, count, arguments, rpc_batch_run_answer_early, token);
}

static bool rpc_batch_run_is_delayed(VALUE value) {
    return !RB_SPECIAL_CONST_P(value) && RB_BUILTIN_TYPE(value) == T_OBJECT && RTEST(rb_obj_is_kind_of(value, delayed_class));
}

static VALUE rpc_batch_run_conclude(VALUE argument) {
    const struct run *run = (const struct run *)argument;
    return rb_funcall(run->handler, id_conclude, 2, plait_rpc_batch_incoming_of(run->batch, run->number), run->value);
}

static void rpc_batch_run_answer(struct run *run, VALUE value) {
    struct request *request = &run->batch->requests[run->number];
    if (NIL_P(request->incoming) && NIL_P(request->id)) return;
    bool known = NIL_P(request->incoming) && !rpc_batch_run_is_delayed(value) &&
                 (plait_line_answer_small(run->line, request->id, value) || plait_line_answer_string(run->line, request->id, value));
    if (known) {
        request->answered = true;
        run->batch->answered++;
        if (plait_line_unsent(run->line) >= PORTION) plait_line_make_room(run->batch->line);
        return;
    }
    run->value = value;
    rpc_batch_run_undisturbed(rpc_batch_run_conclude, (VALUE)run);
    run->began = plait_now();
}

static void rpc_batch_run_finish_one(struct run *run) {
    if (!run->busy) return;

    run->busy = false;
    run->batch->finished++;
}

/* The next one sees nothing of what the method has left at the fiber and the thread. */
static void rpc_batch_run_forget(struct run *run) {
    rb_thread_local_aset(rb_thread_current(), id_running, Qnil);
    if (plait_state_left(run->own)) run->own = rb_funcall(run->handler, id_forget, 0);
}

/* Of the method: what it takes to send a large answer is no reason to take it for a slow one. */
static VALUE rpc_batch_run_timed_call(struct run *run, VALUE token) {
    VALUE value = rpc_batch_run_call(run, token);
    double now = plait_now();
    run->slow = now - run->began > SLOW;
    if (run->slow) rb_funcall(run->callable, id_took, 1, DBL2NUM(now - run->began));
    run->began = now;
    return value;
}

/* Returns whether another one may follow: after a slow one, and where others have sent, the answers are the worker pool's business. */
static bool rpc_batch_run_go_on(const struct run *run) {
    if (run->slow || run->line->sent != run->sent) return false;
    return plait_line_unsent(run->line) < PORTION && run->began - run->since < GATHER;
}

/* The connection is over: no peer reads the answer. */
static bool rpc_batch_run_in_vain(const struct run *run, const struct request *request) {
    return !NIL_P(run->line->over) && !NIL_P(request->id);
}

/* In a fork that came back from a method, the other requests are the parent's. */
static bool rpc_batch_run_any_left(const struct run *run) {
    return run->batch->next < run->batch->size && run->line->generation == plait_generation();
}

/*
 * Returns whether the next request is for Ruby to run. It is not taken: behind this function Ruby looks for what other threads
 * raise, and the request would be lost.
 */
static VALUE rpc_batch_run_some(VALUE argument) {
    struct run *run = (struct run *)argument;
    struct batch *batch = run->batch;
    bool more = true;
    while (more && rpc_batch_run_any_left(run)) {
        const struct request *request = &batch->requests[batch->next];
        if (rpc_batch_run_in_vain(run, request)) {
            batch->next++;
            batch->finished++;
            continue;
        }
        rpc_batch_run_find(run, request->name);
        if (!rpc_batch_run_plain(run, request)) return Qtrue;

        run->number = batch->next++;
        run->busy = true;
        rpc_batch_run_answer(run, rpc_batch_run_timed_call(run, request->params));
        rpc_batch_run_forget(run);
        rpc_batch_run_finish_one(run);
        more = rpc_batch_run_go_on(run);
    }
    return Qfalse;
}

static VALUE rpc_batch_run_tell(VALUE argument) {
    const struct run *run = (const struct run *)argument;
    return rb_funcall(run->handler, id_rescued, 2, plait_rpc_batch_incoming_of(run->batch, run->number), run->value);
}

/* The handler tells the caller; what it does not take ends the worker. */
static VALUE rpc_batch_run_rescued(VALUE argument, VALUE error) {
    struct run *run = (struct run *)argument;
    if (!run->busy) rb_exc_raise(error);

    run->value = error;
    if (!RTEST(rpc_batch_run_undisturbed(rpc_batch_run_tell, argument))) rb_exc_raise(error);
    rpc_batch_run_forget(run);
    rpc_batch_run_finish_one(run);
    if (!NIL_P(run->callable)) rb_funcall(run->callable, id_took, 1, DBL2NUM(plait_now() - run->began));
    return Qfalse;
}

static VALUE rpc_batch_run_run_rescued(VALUE argument) {
    return rb_rescue2(rpc_batch_run_some, argument, rpc_batch_run_rescued, argument, rb_eException, (VALUE)0);
}

static VALUE rpc_batch_run_refuse(VALUE argument) {
    struct run *run = (struct run *)argument;
    run->refused = true;
    VALUE incoming = plait_rpc_batch_incoming_of(run->batch, run->number);
    rpc_batch_run_finish_one(run);
    rpc_batch_run_forget(run);
    return rb_funcall(run->handler, id_abandon, 1, incoming);
}

static VALUE rpc_batch_run_refuse_undisturbed(VALUE argument) {
    return rpc_batch_run_undisturbed(rpc_batch_run_refuse, argument);
}

/*
 * The method did not return: its caller gets an error instead of a result. The next exception of another thread may come on
 * the way to the mask, before the function runs: then once more.
 */
static VALUE rpc_batch_run_abandon(VALUE argument) {
    const struct run *run = (const struct run *)argument;
    int state = 0;
    while (run->busy && !run->refused) rb_protect(rpc_batch_run_refuse_undisturbed, argument, &state);
    if (state != 0) rb_jump_tag(state);
    return Qnil;
}

/* run(handler) => whether the next one is for Ruby to run */
VALUE plait_rpc_batch_run(VALUE self, VALUE handler) {
    struct batch *batch = plait_rpc_batch_of(self);
    struct run run = {.batch = batch, .line = plait_line_of(batch->line), .handler = handler};
    run.name = run.callable = run.plain = Qnil;
    run.own = plait_state_own();
    run.began = run.since = plait_now();
    run.sent = run.line->sent;
    VALUE left = rb_ensure(rpc_batch_run_run_rescued, (VALUE)&run, rpc_batch_run_abandon, (VALUE)&run);
    RB_GC_GUARD(self);
    return left;
}

static VALUE rpc_batch_run_class_of_rpc(VALUE rpc, const char *name) {
    VALUE class = rb_const_get(rpc, rb_intern(name));
    rb_gc_register_mark_object(class);
    return class;
}

static void rpc_batch_run_define_warnings(void) {
#ifdef HAVE_CONST_RB_WARN_CATEGORY_STRICT_UNUSED_BLOCK
    VALUE category = ID2SYM(rb_intern("strict_unused_block"));
    may_warn = true;
    warns_always = RTEST(rb_funcall(rb_const_get(rb_cObject, rb_intern("Warning")), rb_intern("[]"), 1, category));
#endif
}

void plait_init_rpc_batch_run(VALUE rpc) {
    rpc_batch_run_define_warnings();
    id_respond = rb_intern("respond");
    id_methods = rb_intern("@methods");
    id_conclude = rb_intern("conclude");
    id_rescued = rb_intern("rescued?");
    id_abandon = rb_intern("abandon");
    id_took = rb_intern("took");
    id_running = rb_intern("plait_rpc_incoming");
    id_forget = rb_intern("forget");
    id_call = rb_intern("call");
    id_plain = rb_intern("@plain");
    id_doubt = rb_intern("@doubt");
    callable_class = rpc_batch_run_class_of_rpc(rpc, "Callable");
    delayed_class = rpc_batch_run_class_of_rpc(rpc, "Delayed");
    rb_define_method(plait_rpc_batch_class, "run", plait_rpc_batch_run, 1);
}
