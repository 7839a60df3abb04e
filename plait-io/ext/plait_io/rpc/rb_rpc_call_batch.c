/* See rb_rpc_call_batch.h. What Ruby calls is documented in plait-rpc/lib/plait/rpc/future.rb. */
#include "rb_rpc_call_batch.h"

#include "../messagepack_rpc/rb_messagepack_rpc.h"
#include "rb_rpc_line.h"
#include "rb_rpc_line_members.h"

struct call_batch {
    struct call_batch *next;
    struct call_batch **back; /* what points at this one; NULL: it is in no list */
    VALUE self;
    VALUE results;        /* Array; what is not there yet: nil; what Ruby has to look at: a Future */
    bool *here;           /* which results are there */
    uint32_t first;       /* id */
    uint32_t count;
    uint32_t missing;
    uint32_t futures;     /* among the results */
};

/* What its calls have in common. */
enum { TERMS = 3 };

static ID terms[TERMS], id_state, id_outcome, id_followed;
static VALUE future_class;
static VALUE sym_answered, sym_refused, sym_complete;

/* ---- the object ---- */

static void rpc_call_batch_mark(void *data) {
    const struct call_batch *batch = data;
    rb_gc_mark(batch->self); /* so that it does not move */
    rb_gc_mark(batch->results);
}

static void rpc_call_batch_free(void *data) {
    struct call_batch *batch = data;
    xfree(batch->here);
    xfree(batch);
}

static size_t rpc_call_batch_memory(const void *data) {
    return sizeof(struct call_batch) + ((const struct call_batch *)data)->count;
}

static const rb_data_type_t call_batch_type = {
    .wrap_struct_name = "Plait::RPC::NativeCallBatch",
    .function = {.dmark = rpc_call_batch_mark, .dfree = rpc_call_batch_free, .dsize = rpc_call_batch_memory},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE rpc_call_batch_allocate(VALUE class) {
    struct call_batch *batch;
    VALUE self = TypedData_Make_Struct(class, struct call_batch, &call_batch_type, batch);
    batch->self = self;
    batch->results = Qnil;
    return self;
}

static struct call_batch *rpc_call_batch_of(VALUE self) {
    return rb_check_typeddata(self, &call_batch_type);
}

struct call_batch *plait_call_batch_next(const struct call_batch *batch) {
    return batch->next;
}

VALUE plait_call_batch_self(const struct call_batch *batch) {
    return batch->self;
}

/* ---- the line's list ---- */

void plait_call_batch_open(struct line *line, VALUE object, uint32_t first, long count) {
    struct call_batch *batch = rpc_call_batch_of(object);
    batch->results = rb_ary_new_capa(count);
    batch->here = ZALLOC_N(bool, (size_t)count);
    batch->first = first;
    batch->count = batch->missing = (uint32_t)count;
    rb_ary_store(batch->results, count - 1, Qnil);
    batch->next = line->call_batches;
    batch->back = &line->call_batches;
    if (batch->next) batch->next->back = &batch->next;
    line->call_batches = batch;
}

static void rpc_call_batch_unlink_one(struct call_batch *batch) {
    if (!batch->back) return;

    *batch->back = batch->next;
    if (batch->next) batch->next->back = batch->back;
    batch->back = NULL;
    batch->next = NULL;
}

void plait_call_batch_unlink(struct line *line, VALUE object) {
    (void)line;
    if (rb_typeddata_is_kind_of(object, &call_batch_type)) rpc_call_batch_unlink_one(rpc_call_batch_of(object));
}

/* Ids wrap, and so does the difference. */
bool plait_call_batch_waits_for(const struct call_batch *batch, uint64_t id) {
    uint32_t number = (uint32_t)id - batch->first;
    return id <= UINT32_MAX && number < batch->count && !batch->here[number];
}

struct call_batch *plait_call_batches_find(const struct line *line, uint64_t id) {
    struct call_batch *batch = line->call_batches;
    while (batch && !plait_call_batch_waits_for(batch, id)) batch = batch->next;
    return batch;
}

size_t plait_call_batches_pending(const struct line *line) {
    size_t pending = 0;
    for (const struct call_batch *batch = line->call_batches; batch; batch = batch->next) pending += batch->missing;
    return pending;
}

/* ---- answers ---- */

/*
 * A large result or an error becomes a Future, as for a single call. (No method of Ruby makes it: an interrupt could come
 * at that method's end, and the answer would be lost.)
 */
static VALUE rpc_call_batch_future_for(const struct call_batch *batch, VALUE parser, VALUE error) {
    VALUE future = rb_obj_alloc(future_class);
    VALUE result = plait_messagepack_rpc_result(parser);
    for (int i = 0; i < TERMS; i++) rb_ivar_set(future, terms[i], rb_attr_get(batch->self, terms[i]));
    rb_ivar_set(future, id_followed, Qnil);
    rb_ivar_set(future, id_outcome, NIL_P(error) ? result : rb_assoc_new(error, result));
    rb_ivar_set(future, id_state, NIL_P(error) ? sym_answered : sym_refused);
    return future;
}

/* One that is refused ends the waiting for the others: its error is what all together come to. */
static void rpc_call_batch_take(struct line *line, struct call_batch *batch, uint32_t number) {
    VALUE self = batch->self;
    VALUE error = plait_messagepack_rpc_error(line->parser);
    VALUE result = NIL_P(error) ? plait_line_plain_result(line) : Qundef;
    if (result == Qundef) {
        result = rpc_call_batch_future_for(batch, line->parser, error);
        batch->futures++;
        if (!batch->back) return; /* it was given up meanwhile */
    }
    rb_ary_store(batch->results, number, result);
    batch->here[number] = true;
    batch->missing--;
    if (batch->missing > 0 && NIL_P(error)) return;

    rpc_call_batch_unlink_one(batch);
    plait_line_settle(line, self, sym_complete, Qnil);
    RB_GC_GUARD(self);
}

bool plait_call_batches_take(struct line *line) {
    uint64_t id = plait_messagepack_rpc_number(line->parser);
    struct call_batch *batch = plait_call_batches_find(line, id);
    if (batch) rpc_call_batch_take(line, batch, (uint32_t)id - batch->first);
    return batch != NULL;
}

static VALUE rpc_call_batch_results(VALUE self) {
    return rpc_call_batch_of(self)->results;
}

static VALUE rpc_call_batch_futures(VALUE self) {
    return rpc_call_batch_of(self)->futures > 0 ? Qtrue : Qfalse;
}

static VALUE rpc_call_batch_size(VALUE self) {
    return UINT2NUM(rpc_call_batch_of(self)->count);
}

void plait_init_rpc_call_batch(VALUE rpc) {
    id_state = rb_intern("@state");
    id_outcome = rb_intern("@outcome");
    id_followed = rb_intern("@followed");
    terms[0] = rb_intern("@connection");
    terms[1] = rb_intern("@method_name");
    terms[2] = rb_intern("@limit");
    sym_answered = ID2SYM(rb_intern("answered"));
    sym_refused = ID2SYM(rb_intern("refused"));
    sym_complete = ID2SYM(rb_intern("complete"));
    rb_gc_register_mark_object(future_class = rb_const_get(rpc, rb_intern("Future")));
    VALUE batch = rb_define_class_under(rpc, "NativeCallBatch", future_class);
    rb_define_alloc_func(batch, rpc_call_batch_allocate);
    rb_define_method(batch, "results", rpc_call_batch_results, 0);
    rb_define_method(batch, "futures?", rpc_call_batch_futures, 0);
    rb_define_method(batch, "size", rpc_call_batch_size, 0);
}
