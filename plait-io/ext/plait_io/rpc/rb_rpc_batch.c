/* See rb_rpc_batch.h. What Ruby calls is documented in plait-rpc/lib/plait/rpc/native_line.rb. */
#include "rb_rpc_batch.h"

#include <ruby/fiber/scheduler.h>

#include "../plait_io.h"
#include "../messagepack_rpc/rb_messagepack_rpc.h"
#include "rb_rpc_line.h"

enum {
    FIRST = 4,          /* requests for which there is room at first */
    PORTION = 64 * 1024 /* bytes of answers that do not wait for more: whether the peer takes them is to be known before */
};

/* Seconds from which on a run is slow, as in plait-rpc/lib/plait/rpc/exposure.rb; and that answers wait for others at most. */
static const double SLOW = 0.0002, GATHER = 0.0005;

struct request {
    VALUE id;       /* or nil: a notification */
    VALUE name;     /* of the method */
    VALUE params;   /* an Array of the batch and the arguments: its token; or what is packed */
    VALUE incoming; /* made when somebody wants to know it; or nil */
    bool small;     /* params is a token */
    bool answered;
};

struct batch {
    VALUE line;
    VALUE connection;
    struct request *requests;
    size_t size, room;
    size_t next;     /* the first that nobody has taken */
    size_t finished; /* that were run since `finished` was asked for */
    size_t answered; /* that were answered without an Incoming, since `answered` was asked for */
    size_t notifications;
};

static ID id_respond, id_answered, id_find, id_conclude, id_rescued, id_abandon, id_took, id_running, id_incoming;
static ID id_forget, id_object, id_method, id_least, id_most, id_named, id_doubt;
static ID id_session, id_telling;
static VALUE batch_class, callable_class, delayed_class;

/* ---- the object ---- */

static void batch_mark(void *data) {
    const struct batch *batch = data;
    rb_gc_mark(batch->line);
    rb_gc_mark(batch->connection);
    for (size_t i = 0; i < batch->size; i++) {
        rb_gc_mark(batch->requests[i].id);
        rb_gc_mark(batch->requests[i].name);
        rb_gc_mark(batch->requests[i].params);
        rb_gc_mark(batch->requests[i].incoming);
    }
}

static void batch_free(void *data) {
    struct batch *batch = data;
    xfree(batch->requests);
    xfree(batch);
}

static size_t batch_memory(const void *data) {
    const struct batch *batch = data;
    return sizeof(struct batch) + batch->room * sizeof(struct request);
}

static const rb_data_type_t batch_type = {
    .wrap_struct_name = "Plait::RPC::NativeBatch",
    .function = {.dmark = batch_mark, .dfree = batch_free, .dsize = batch_memory},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static struct batch *batch_of(VALUE self) {
    return rb_check_typeddata(self, &batch_type);
}

VALUE plait_rpc_batch_new(VALUE line, VALUE connection) {
    struct batch *batch;
    VALUE self = TypedData_Make_Struct(batch_class, struct batch, &batch_type, batch);
    batch->line = line;
    batch->connection = connection;
    return self;
}

static struct request *place(struct batch *batch) {
    if (batch->size == batch->room) {
        size_t room = batch->room ? batch->room * 2 : FIRST;
        REALLOC_N(batch->requests, struct request, room);
        batch->room = room;
    }
    return &batch->requests[batch->size];
}

static void add(struct batch *batch, struct request request) {
    *place(batch) = request;
    batch->size++;
    if (NIL_P(request.id)) batch->notifications++;
}

void plait_rpc_batch_add(VALUE self, VALUE parser) {
    VALUE params = plait_messagepack_rpc_small_params(parser, self);
    struct request request = {.params = params, .incoming = Qnil, .small = params != Qundef};
    if (!request.small) request.params = plait_messagepack_rpc_params(parser);
    request.id = plait_messagepack_rpc_id(parser);
    request.name = plait_messagepack_rpc_method_name(parser);
    add(batch_of(self), request);
}

void plait_rpc_batch_add_other(VALUE self, VALUE id, VALUE name, VALUE params) {
    add(batch_of(self), (struct request){.id = id, .name = name, .params = params, .incoming = Qnil});
}

/* ---- requests as Ruby knows them ---- */

static VALUE arguments_of(const struct request *request) {
    return rb_ary_subseq(request->params, 1, RARRAY_LEN(request->params) - 1);
}

static VALUE incoming_of(struct batch *batch, size_t number) {
    struct request *request = &batch->requests[number];
    if (!NIL_P(request->incoming)) return request->incoming;

    VALUE params = request->small ? Qnil : request->params;
    VALUE arguments = request->small ? arguments_of(request) : Qnil;
    VALUE incoming = rb_funcall(batch->connection, id_incoming, 4, request->id, request->name, params, arguments);
    if (request->answered) rb_funcall(incoming, id_answered, 0);
    return request->incoming = incoming;
}

/* NativeBatch.incoming(token) */
static VALUE batch_incoming(VALUE class, VALUE token) {
    struct batch *batch = batch_of(rb_ary_entry(token, 0));
    (void)class;
    for (size_t i = 0; i < batch->size; i++) {
        if (batch->requests[i].params == token) return incoming_of(batch, i);
    }
    return Qnil;
}

/* What a method yields is the answer, before it is over or after that. */
static VALUE answer_early(RB_BLOCK_CALL_FUNC_ARGLIST(value, token)) {
    (void)argc, (void)argv, (void)blockarg;
    return rb_funcall(batch_incoming(batch_class, token), id_respond, 1, value);
}

/* ---- without interrupts ---- */

/*
 * What another thread raises must not come between a request and its answer. A thread of fibers gets nothing raised, and must
 * not have a mask, which all its fibers would share.
 */
static VALUE undisturbed(VALUE (*function)(VALUE), VALUE argument) {
    if (!NIL_P(rb_fiber_scheduler_current())) return function(argument);
    return plait_undisturbed_by(rb_eException, function, argument);
}

/* ---- a run ---- */

struct run {
    struct batch *batch;
    struct line *line;
    VALUE handler;
    VALUE name;     /* the method that was looked up last, */
    VALUE callable; /* and what was found, or nil */
    VALUE own;      /* of the fiber, see plait_state_left */
    VALUE value;    /* that it has returned */
    size_t number;  /* of the request that is run */
    bool busy;      /* it is */
    bool slow;      /* the last one was */
    double began;
    double since;   /* answers wait */
    uint64_t sent;  /* by the line before */
};

static VALUE find(struct run *run, VALUE name) {
    if (run->name == name) return run->callable;

    run->callable = rb_funcall(run->handler, id_find, 1, name);
    run->name = name;
    return run->callable;
}

static bool fits(VALUE callable, long count) {
    VALUE most = rb_attr_get(callable, id_most);
    return count >= FIX2LONG(rb_attr_get(callable, id_least)) && (NIL_P(most) || count <= FIX2LONG(most));
}

/* Whether it can be run here. */
static bool plain(const struct request *request, VALUE callable) {
    if (!request->small || NIL_P(callable) || rb_obj_class(callable) != callable_class) return false;
    if (rb_attr_get(callable, id_doubt) != INT2FIX(0) || RTEST(rb_attr_get(callable, id_named))) return false;
    return fits(callable, RARRAY_LEN(request->params) - 1);
}

static VALUE call(VALUE callable, VALUE token) {
    VALUE object = rb_attr_get(callable, id_object);
    ID method = rb_sym2id(rb_attr_get(callable, id_method));
    rb_thread_local_aset(rb_thread_current(), id_running, token);
    int count = (int)RARRAY_LEN(token) - 1;
    VALUE arguments[16];
    for (int i = 0; i < count; i++) arguments[i] = RARRAY_AREF(token, i + 1);
    return rb_block_call(object, method, count, arguments, answer_early, token);
}

static bool is_delayed(VALUE value) {
    return !RB_SPECIAL_CONST_P(value) && RB_BUILTIN_TYPE(value) == T_OBJECT && RTEST(rb_obj_is_kind_of(value, delayed_class));
}

static VALUE conclude(VALUE argument) {
    const struct run *run = (const struct run *)argument;
    return rb_funcall(run->handler, id_conclude, 2, incoming_of(run->batch, run->number), run->value);
}

static void answer(struct run *run, VALUE value) {
    struct request *request = &run->batch->requests[run->number];
    if (NIL_P(request->incoming) && NIL_P(request->id)) return;
    bool known = NIL_P(request->incoming) && !is_delayed(value) &&
                 (plait_line_answer_small(run->line, request->id, value) || plait_line_answer_string(run->line, request->id, value));
    if (known) {
        request->answered = true;
        run->batch->answered++;
        if (plait_line_unsent(run->line) >= PORTION) plait_line_make_room(run->batch->line);
        return;
    }
    run->value = value;
    undisturbed(conclude, (VALUE)run);
    run->began = plait_now();
}

static void finish_one(struct run *run) {
    if (!run->busy) return;

    run->busy = false;
    run->batch->finished++;
}

/* The next one sees nothing of what the method has left at the fiber and the thread. */
static void forget(struct run *run) {
    rb_thread_local_aset(rb_thread_current(), id_running, Qnil);
    if (plait_state_left(run->own)) run->own = rb_funcall(run->handler, id_forget, 0);
}

/* Of the method: what it takes to send a large answer is no reason to take it for a slow one. */
static VALUE timed_call(struct run *run, VALUE token) {
    VALUE value = call(run->callable, token);
    double now = plait_now();
    run->slow = now - run->began > SLOW;
    if (run->slow) rb_funcall(run->callable, id_took, 1, DBL2NUM(now - run->began));
    run->began = now;
    return value;
}

/* Returns whether another one may follow: after a slow one, and where others have sent, the answers are the worker pool's business. */
static bool go_on(const struct run *run) {
    if (run->slow || run->line->sent != run->sent) return false;
    return plait_line_unsent(run->line) < PORTION && run->began - run->since < GATHER;
}

/* Returns nil, or a request that is for Ruby to run. */
static VALUE run_some(VALUE argument) {
    struct run *run = (struct run *)argument;
    struct batch *batch = run->batch;
    bool more = true;
    while (more && batch->next < batch->size) {
        run->number = batch->next++;
        run->busy = true;
        const struct request *request = &batch->requests[run->number];
        if (!NIL_P(run->line->over) && !NIL_P(request->id)) { /* nobody is left to read the answer */
            finish_one(run);
            continue;
        }
        VALUE callable = find(run, request->name);
        if (!plain(request, callable)) {
            VALUE incoming = incoming_of(batch, run->number);
            run->busy = false;
            return incoming;
        }
        answer(run, timed_call(run, request->params));
        forget(run);
        finish_one(run);
        more = go_on(run);
    }
    return Qnil;
}

static VALUE tell(VALUE argument) {
    const struct run *run = (const struct run *)argument;
    return rb_funcall(run->handler, id_rescued, 2, incoming_of(run->batch, run->number), run->value);
}

/* The handler tells the caller; what it does not take ends the worker. */
static VALUE rescued(VALUE argument, VALUE error) {
    struct run *run = (struct run *)argument;
    if (!run->busy) rb_exc_raise(error);

    run->value = error;
    if (!RTEST(undisturbed(tell, argument))) rb_exc_raise(error);
    forget(run);
    finish_one(run);
    if (!NIL_P(run->callable)) rb_funcall(run->callable, id_took, 1, DBL2NUM(plait_now() - run->began));
    return Qnil;
}

static VALUE run_rescued(VALUE argument) {
    return rb_rescue2(run_some, argument, rescued, argument, rb_eException, (VALUE)0);
}

static VALUE refuse(VALUE argument) {
    struct run *run = (struct run *)argument;
    VALUE incoming = incoming_of(run->batch, run->number);
    finish_one(run);
    return rb_funcall(run->handler, id_abandon, 1, incoming);
}

/* It was left in the middle: its caller is told that there will be no result. */
static VALUE abandon(VALUE argument) {
    return ((struct run *)argument)->busy ? undisturbed(refuse, argument) : Qnil;
}

/* run(handler) => nil, or an Incoming: the next one, which is taken and not run */
VALUE plait_rpc_batch_run(VALUE self, VALUE handler) {
    struct batch *batch = batch_of(self);
    struct run run = {.batch = batch, .line = plait_line_of(batch->line), .handler = handler, .name = Qnil, .callable = Qnil};
    run.own = plait_state_own();
    run.began = run.since = plait_now();
    run.sent = run.line->sent;
    VALUE left = rb_ensure(run_rescued, (VALUE)&run, abandon, (VALUE)&run);
    RB_GC_GUARD(self);
    return left;
}

bool plait_rpc_batch_over(VALUE self) {
    const struct batch *batch = batch_of(self);
    return batch->finished == batch->size && batch->answered == batch->size - batch->notifications;
}

bool plait_rpc_batch_waits(VALUE self) {
    const struct batch *batch = batch_of(self);
    return batch->notifications > 0 && !NIL_P(rb_attr_get(rb_attr_get(batch->connection, id_session), id_telling));
}

size_t plait_rpc_batch_requests(VALUE self) {
    const struct batch *batch = batch_of(self);
    return batch->size - batch->notifications;
}

size_t plait_rpc_batch_notifications(VALUE self) {
    return batch_of(self)->notifications;
}

/* ---- what the worker pool asks ---- */

static VALUE batch_size(VALUE self) {
    const struct batch *batch = batch_of(self);
    return SIZET2NUM(batch->size - batch->next);
}

static VALUE batch_requests(VALUE self) {
    return SIZET2NUM(plait_rpc_batch_requests(self));
}

static VALUE batch_notifications(VALUE self) {
    return SIZET2NUM(batch_of(self)->notifications);
}

static VALUE batch_connection(VALUE self) {
    return batch_of(self)->connection;
}

/* shift: the next one as an Incoming, or nil */
static VALUE batch_shift(VALUE self) {
    struct batch *batch = batch_of(self);
    return batch->next < batch->size ? incoming_of(batch, batch->next++) : Qnil;
}

static VALUE told(size_t *count) {
    size_t number = *count;
    *count = 0;
    return SIZET2NUM(number);
}

static VALUE batch_finished(VALUE self) {
    return told(&batch_of(self)->finished);
}

static VALUE batch_answered(VALUE self) {
    return told(&batch_of(self)->answered);
}

/* finish: what `run` has left is run */
static VALUE batch_finish(VALUE self) {
    batch_of(self)->finished++;
    return Qnil;
}

static void load_names(void) {
    id_incoming = rb_intern("incoming");
    id_respond = rb_intern("respond");
    id_answered = rb_intern("answered!");
    id_find = rb_intern("find");
    id_conclude = rb_intern("conclude");
    id_rescued = rb_intern("rescued?");
    id_abandon = rb_intern("abandon");
    id_took = rb_intern("took");
    id_running = rb_intern("plait_rpc_incoming");
    id_forget = rb_intern("forget");
    id_object = rb_intern("@object");
    id_method = rb_intern("@method");
    id_least = rb_intern("@least");
    id_most = rb_intern("@most");
    id_named = rb_intern("@named");
    id_doubt = rb_intern("@doubt");
    id_session = rb_intern("@session");
    id_telling = rb_intern("@telling");
}

static VALUE class_of_rpc(VALUE rpc, const char *name) {
    VALUE class = rb_const_get(rpc, rb_intern(name));
    rb_gc_register_mark_object(class);
    return class;
}

void plait_init_rpc_batch(VALUE rpc) {
    load_names();
    callable_class = class_of_rpc(rpc, "Callable");
    delayed_class = class_of_rpc(rpc, "Delayed");
    batch_class = rb_define_class_under(rpc, "NativeBatch", rb_cObject);
    rb_undef_alloc_func(batch_class);
    rb_define_singleton_method(batch_class, "incoming", batch_incoming, 1);
    rb_define_method(batch_class, "run", plait_rpc_batch_run, 1);
    rb_define_method(batch_class, "size", batch_size, 0);
    rb_define_method(batch_class, "requests", batch_requests, 0);
    rb_define_method(batch_class, "notifications", batch_notifications, 0);
    rb_define_method(batch_class, "connection", batch_connection, 0);
    rb_define_method(batch_class, "shift", batch_shift, 0);
    rb_define_method(batch_class, "finished", batch_finished, 0);
    rb_define_method(batch_class, "answered", batch_answered, 0);
    rb_define_method(batch_class, "finish", batch_finish, 0);
}
