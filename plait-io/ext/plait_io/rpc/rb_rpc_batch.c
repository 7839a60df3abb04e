/* See rb_rpc_batch.h. What Ruby calls is documented in plait-rpc/lib/plait/rpc/server/backlog.rb. */
#include "rb_rpc_batch.h"

#include "../messagepack_rpc/rb_messagepack_rpc.h"
#include "../plait_io.h"

/* Requests for which there is room at first. */
enum { FIRST = 4 };

static ID id_answered, id_incoming;

VALUE plait_rpc_batch_class;

/* ---- the object ---- */

static void rpc_batch_mark(void *data) {
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

static void rpc_batch_free(void *data) {
    struct batch *batch = data;
    xfree(batch->requests);
    xfree(batch);
}

static size_t rpc_batch_memory(const void *data) {
    const struct batch *batch = data;
    return sizeof(struct batch) + batch->room * sizeof(struct request);
}

const rb_data_type_t plait_rpc_batch_type = {
    .wrap_struct_name = "Plait::RPC::NativeBatch",
    .function = {.dmark = rpc_batch_mark, .dfree = rpc_batch_free, .dsize = rpc_batch_memory},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

VALUE plait_rpc_batch_new(VALUE line, VALUE connection) {
    struct batch *batch;
    VALUE self = TypedData_Make_Struct(plait_rpc_batch_class, struct batch, &plait_rpc_batch_type, batch);
    batch->line = line;
    batch->connection = connection;
    return self;
}

static struct request *rpc_batch_place(struct batch *batch) {
    if (batch->size == batch->room) {
        size_t room = batch->room ? batch->room * 2 : FIRST;
        REALLOC_N(batch->requests, struct request, room);
        batch->room = room;
    }
    return &batch->requests[batch->size];
}

static void rpc_batch_add(struct batch *batch, struct request request) {
    *rpc_batch_place(batch) = request;
    batch->size++;
    if (NIL_P(request.id)) batch->notifications++;
}

void plait_rpc_batch_add(VALUE self, VALUE parser) {
    VALUE params = plait_messagepack_rpc_small_params(parser, self);
    struct request request = {.params = params, .incoming = Qnil, .small = params != Qundef};
    if (!request.small) request.params = plait_messagepack_rpc_params(parser);
    request.id = plait_messagepack_rpc_id(parser);
    request.name = plait_messagepack_rpc_method_name(parser);
    rpc_batch_add(plait_rpc_batch_of(self), request);
}

void plait_rpc_batch_add_other(VALUE self, VALUE id, VALUE name, VALUE params) {
    rpc_batch_add(plait_rpc_batch_of(self), (struct request){.id = id, .name = name, .params = params, .incoming = Qnil});
}

/* ---- requests as Ruby knows them ---- */

static VALUE rpc_batch_arguments_of(const struct request *request) {
    return rb_ary_subseq(request->params, 1, RARRAY_LEN(request->params) - 1);
}

VALUE plait_rpc_batch_incoming_of(struct batch *batch, size_t number) {
    struct request *request = &batch->requests[number];
    if (!NIL_P(request->incoming)) return request->incoming;

    VALUE params = request->small ? Qnil : request->params;
    VALUE arguments = request->small ? rpc_batch_arguments_of(request) : Qnil;
    VALUE incoming = rb_funcall(batch->connection, id_incoming, 4, request->id, request->name, params, arguments);
    if (request->answered) rb_funcall(incoming, id_answered, 0);
    return request->incoming = incoming;
}

/* NativeBatch.incoming(token) */
VALUE plait_rpc_batch_incoming(VALUE class, VALUE token) {
    struct batch *batch = plait_rpc_batch_of(rb_ary_entry(token, 0));
    (void)class;
    for (size_t i = 0; i < batch->size; i++) {
        if (batch->requests[i].params == token) return plait_rpc_batch_incoming_of(batch, i);
    }
    return Qnil;
}

bool plait_rpc_batch_left(VALUE self) {
    const struct batch *batch = plait_rpc_batch_of(self);
    return batch->next < batch->size;
}

bool plait_rpc_batch_done(VALUE self) {
    const struct batch *batch = plait_rpc_batch_of(self);
    return batch->finished == batch->size;
}

size_t plait_rpc_batch_unanswered(VALUE self) {
    const struct batch *batch = plait_rpc_batch_of(self);
    return batch->size - batch->notifications - batch->answered;
}

size_t plait_rpc_batch_requests(VALUE self) {
    const struct batch *batch = plait_rpc_batch_of(self);
    return batch->size - batch->notifications;
}

size_t plait_rpc_batch_notifications(VALUE self) {
    return plait_rpc_batch_of(self)->notifications;
}

/* ---- what the worker pool asks ---- */

static VALUE rpc_batch_size(VALUE self) {
    const struct batch *batch = plait_rpc_batch_of(self);
    return SIZET2NUM(batch->size - batch->next);
}

static VALUE rpc_batch_requests(VALUE self) {
    return SIZET2NUM(plait_rpc_batch_requests(self));
}

static VALUE rpc_batch_notifications(VALUE self) {
    return SIZET2NUM(plait_rpc_batch_of(self)->notifications);
}

static VALUE rpc_batch_connection(VALUE self) {
    return plait_rpc_batch_of(self)->connection;
}

/* shift: the next one as an Incoming, or nil */
static VALUE rpc_batch_shift(VALUE self) {
    struct batch *batch = plait_rpc_batch_of(self);
    return batch->next < batch->size ? plait_rpc_batch_incoming_of(batch, batch->next++) : Qnil;
}

static VALUE rpc_batch_told(size_t *count) {
    size_t number = *count;
    *count = 0;
    return SIZET2NUM(number);
}

static VALUE rpc_batch_finished(VALUE self) {
    return rpc_batch_told(&plait_rpc_batch_of(self)->finished);
}

static VALUE rpc_batch_answered(VALUE self) {
    return rpc_batch_told(&plait_rpc_batch_of(self)->answered);
}

/* finish: what `run` has left is run */
static VALUE rpc_batch_finish(VALUE self) {
    plait_rpc_batch_of(self)->finished++;
    return Qnil;
}

void plait_init_rpc_batch(VALUE rpc) {
    id_incoming = rb_intern("incoming");
    id_answered = rb_intern("answered!");
    plait_rpc_batch_class = rb_define_class_under(rpc, "NativeBatch", rb_cObject);
    rb_undef_alloc_func(plait_rpc_batch_class);
    rb_define_singleton_method(plait_rpc_batch_class, "incoming", plait_rpc_batch_incoming, 1);
    rb_define_method(plait_rpc_batch_class, "size", rpc_batch_size, 0);
    rb_define_method(plait_rpc_batch_class, "requests", rpc_batch_requests, 0);
    rb_define_method(plait_rpc_batch_class, "notifications", rpc_batch_notifications, 0);
    rb_define_method(plait_rpc_batch_class, "connection", rpc_batch_connection, 0);
    rb_define_method(plait_rpc_batch_class, "shift", rpc_batch_shift, 0);
    rb_define_method(plait_rpc_batch_class, "finished", rpc_batch_finished, 0);
    rb_define_method(plait_rpc_batch_class, "answered", rpc_batch_answered, 0);
    rb_define_method(plait_rpc_batch_class, "finish", rpc_batch_finish, 0);
}
