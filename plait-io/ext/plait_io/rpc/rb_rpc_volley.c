/* See rb_rpc_volley.h. What Ruby calls is documented in plait-rpc/lib/plait/rpc/future.rb. */
#include "rb_rpc_volley.h"

#include "../messagepack_rpc/rb_messagepack_rpc.h"
#include "rb_rpc_line.h"
#include "rb_rpc_line_members.h"

struct volley {
    struct volley *next;
    struct volley **back; /* what points at this one; NULL: it is in no list */
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

static void rpc_volley_mark(void *data) {
    const struct volley *volley = data;
    rb_gc_mark(volley->self); /* so that it does not move */
    rb_gc_mark(volley->results);
}

static void rpc_volley_free(void *data) {
    struct volley *volley = data;
    xfree(volley->here);
    xfree(volley);
}

static size_t rpc_volley_memory(const void *data) {
    return sizeof(struct volley) + ((const struct volley *)data)->count;
}

static const rb_data_type_t volley_type = {
    .wrap_struct_name = "Plait::RPC::NativeVolley",
    .function = {.dmark = rpc_volley_mark, .dfree = rpc_volley_free, .dsize = rpc_volley_memory},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE rpc_volley_allocate(VALUE class) {
    struct volley *volley;
    VALUE self = TypedData_Make_Struct(class, struct volley, &volley_type, volley);
    volley->self = self;
    volley->results = Qnil;
    return self;
}

static struct volley *rpc_volley_of(VALUE self) {
    return rb_check_typeddata(self, &volley_type);
}

struct volley *plait_volley_next(const struct volley *volley) {
    return volley->next;
}

VALUE plait_volley_self(const struct volley *volley) {
    return volley->self;
}

/* ---- the line's list ---- */

void plait_volley_open(struct line *line, VALUE object, uint32_t first, long count) {
    struct volley *volley = rpc_volley_of(object);
    volley->results = rb_ary_new_capa(count);
    volley->here = ZALLOC_N(bool, (size_t)count);
    volley->first = first;
    volley->count = volley->missing = (uint32_t)count;
    rb_ary_store(volley->results, count - 1, Qnil);
    volley->next = line->volleys;
    volley->back = &line->volleys;
    if (volley->next) volley->next->back = &volley->next;
    line->volleys = volley;
}

static void rpc_volley_unlink_one(struct volley *volley) {
    if (!volley->back) return;

    *volley->back = volley->next;
    if (volley->next) volley->next->back = volley->back;
    volley->back = NULL;
    volley->next = NULL;
}

void plait_volley_unlink(struct line *line, VALUE object) {
    (void)line;
    if (rb_typeddata_is_kind_of(object, &volley_type)) rpc_volley_unlink_one(rpc_volley_of(object));
}

/* Ids wrap, and so does the difference. */
bool plait_volley_waits_for(const struct volley *volley, uint64_t id) {
    uint32_t number = (uint32_t)id - volley->first;
    return id <= UINT32_MAX && number < volley->count && !volley->here[number];
}

struct volley *plait_volleys_find(const struct line *line, uint64_t id) {
    struct volley *volley = line->volleys;
    while (volley && !plait_volley_waits_for(volley, id)) volley = volley->next;
    return volley;
}

size_t plait_volleys_pending(const struct line *line) {
    size_t pending = 0;
    for (const struct volley *volley = line->volleys; volley; volley = volley->next) pending += volley->missing;
    return pending;
}

/* ---- answers ---- */

/*
 * What is large or an error becomes what a call for itself has. (No method of Ruby's makes it: whoever reads could be interrupted
 * at its end, and the answer would be lost.)
 */
static VALUE rpc_volley_future_for(const struct volley *volley, VALUE parser, VALUE error) {
    VALUE future = rb_obj_alloc(future_class);
    VALUE result = plait_messagepack_rpc_result(parser);
    for (int i = 0; i < TERMS; i++) rb_ivar_set(future, terms[i], rb_attr_get(volley->self, terms[i]));
    rb_ivar_set(future, id_followed, Qnil);
    rb_ivar_set(future, id_outcome, NIL_P(error) ? result : rb_assoc_new(error, result));
    rb_ivar_set(future, id_state, NIL_P(error) ? sym_answered : sym_refused);
    return future;
}

/* One that is refused ends the waiting for the others: its error is what all together come to. */
static void rpc_volley_take(struct line *line, struct volley *volley, uint32_t number) {
    VALUE self = volley->self;
    VALUE error = plait_messagepack_rpc_error(line->parser);
    VALUE result = NIL_P(error) ? plait_line_plain_result(line) : Qundef;
    if (result == Qundef) {
        result = rpc_volley_future_for(volley, line->parser, error);
        volley->futures++;
        if (!volley->back) return; /* it was given up meanwhile */
    }
    rb_ary_store(volley->results, number, result);
    volley->here[number] = true;
    volley->missing--;
    if (volley->missing > 0 && NIL_P(error)) return;

    rpc_volley_unlink_one(volley);
    plait_line_settle(line, self, sym_complete, Qnil);
    RB_GC_GUARD(self);
}

bool plait_volleys_take(struct line *line) {
    uint64_t id = plait_messagepack_rpc_number(line->parser);
    struct volley *volley = plait_volleys_find(line, id);
    if (volley) rpc_volley_take(line, volley, (uint32_t)id - volley->first);
    return volley != NULL;
}

static VALUE rpc_volley_results(VALUE self) {
    return rpc_volley_of(self)->results;
}

static VALUE rpc_volley_futures(VALUE self) {
    return rpc_volley_of(self)->futures > 0 ? Qtrue : Qfalse;
}

static VALUE rpc_volley_size(VALUE self) {
    return UINT2NUM(rpc_volley_of(self)->count);
}

void plait_init_rpc_volley(VALUE rpc) {
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
    VALUE volley = rb_define_class_under(rpc, "NativeVolley", future_class);
    rb_define_alloc_func(volley, rpc_volley_allocate);
    rb_define_method(volley, "results", rpc_volley_results, 0);
    rb_define_method(volley, "futures?", rpc_volley_futures, 0);
    rb_define_method(volley, "size", rpc_volley_size, 0);
}
