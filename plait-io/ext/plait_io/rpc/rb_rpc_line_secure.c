/*
 * TLS, by OpenSSL's socket. Its methods may let others run, and OpenSSL must not be entered twice at once: `receiving` and
 * `sending` say that a member is inside.
 */
#include "rb_rpc_line_secure.h"

#include "../messagepack_rpc/rb_messagepack_rpc.h"

enum { SPARES = 16 };

static ID id_receive_now, id_send_now;
static VALUE no_exceptions; /* the keywords */
static VALUE sym_wait_readable, sym_wait_writable;

/* Unused Strings to receive into: 10,000 lines wait, and few receive. */
static VALUE spares;

struct call {
    VALUE socket;
    ID method;
    int count;
    VALUE arguments[3];
};

static VALUE rpc_line_secure_run(VALUE argument) {
    const struct call *call = (const struct call *)argument;
    return rb_funcallv_kw(call->socket, call->method, call->count, call->arguments, RB_PASS_KEYWORDS);
}

/* Qundef: it failed. */
static VALUE rpc_line_secure_protect(struct call *call, bool *inside, VALUE *failure) {
    int state = 0;
    *inside = true;
    VALUE result = rb_protect(rpc_line_secure_run, (VALUE)call, &state);
    *inside = false;
    if (!state) return result;

    VALUE error = rb_errinfo();
    if (!RB_TYPE_P(error, T_OBJECT) || !rb_obj_is_kind_of(error, rb_eStandardError)) rb_jump_tag(state);
    rb_set_errinfo(Qnil);
    *failure = error;
    return Qundef;
}

static struct secure_step rpc_line_secure_nothing(VALUE result, VALUE crossed, VALUE failure) {
    return (struct secure_step){.count = -1, .failure = failure, .crossed = result == crossed};
}

struct secure_step plait_line_secure_receive(struct line *line) {
    if (line->sending) return rpc_line_secure_nothing(Qnil, Qundef, Qnil);

    VALUE spare = rb_ary_pop(spares), failure = Qnil;
    VALUE buffer = NIL_P(spare) ? rb_str_buf_new(LINE_RECORD) : spare;
    struct call call = {line->secure, id_receive_now, 3, {INT2FIX(LINE_RECORD), buffer, no_exceptions}};
    VALUE result = rpc_line_secure_protect(&call, &line->receiving, &failure);
    struct secure_step step = rpc_line_secure_nothing(result, sym_wait_writable, failure);
    if (NIL_P(result)) step.count = 0;
    if (RB_TYPE_P(result, T_STRING)) {
        step.count = RSTRING_LEN(result);
        plait_messagepack_rpc_feed(line->parser, RSTRING_PTR(result), (size_t)step.count);
    }
    if (RARRAY_LEN(spares) < SPARES) rb_ary_push(spares, buffer);
    RB_GC_GUARD(result);
    return step;
}

struct secure_step plait_line_secure_send(struct line *line, VALUE bytes) {
    VALUE failure = Qnil;
    struct call call = {line->secure, id_send_now, 2, {bytes, no_exceptions}};
    VALUE result = rpc_line_secure_protect(&call, &line->sending, &failure);
    struct secure_step step = rpc_line_secure_nothing(result, sym_wait_readable, failure);
    if (FIXNUM_P(result)) step.count = FIX2LONG(result);
    RB_GC_GUARD(bytes);
    return step;
}

void plait_init_rpc_line_secure(void) {
    id_receive_now = rb_intern("receive_now");
    id_send_now = rb_intern("send_now");
    sym_wait_readable = ID2SYM(rb_intern("wait_readable"));
    sym_wait_writable = ID2SYM(rb_intern("wait_writable"));
    no_exceptions = rb_hash_new();
    rb_hash_aset(no_exceptions, ID2SYM(rb_intern("exception")), Qfalse);
    rb_gc_register_mark_object(rb_obj_freeze(no_exceptions));
    rb_gc_register_mark_object(spares = rb_ary_new_capa(SPARES));
}
