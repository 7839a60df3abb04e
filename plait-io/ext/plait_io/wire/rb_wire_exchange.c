/* The memory of a wire, its end, and what surrounds each exchange. What its errors say is in plait-http/lib/plait/http/native_wire.rb. */
#include "rb_wire_exchange.h"

#include <math.h>

#include "../plait_io.h"
#include "../tls/rb_tls.h"
#include "rb_response.h"
#include "rb_wire_batch_places.h"
#include "rb_wire_move.h"

static ID id_close, id_first_byte, id_read, id_write, id_total, id_misuse, id_closed_before, id_forked;

/* ---- the object ---- */

static void wire_exchange_mark(void *data) {
    const struct wire *wire = data;
    rb_gc_mark(wire->io);
    rb_gc_mark(wire->raw);
    rb_gc_mark(wire->endpoint);
    rb_gc_mark(wire->phases);
    rb_gc_mark(wire->limits_value);
    rb_gc_mark(wire->timeouts);
    rb_gc_mark(wire->pending);
    rb_gc_mark(wire->response);
    rb_gc_mark(wire->trailer);
    rb_gc_mark(wire->url);
    rb_gc_mark(wire->unsent);
    rb_gc_mark(wire->filling.body);
    rb_gc_mark(wire->prefix);
    rb_gc_mark(wire->block);
}

/* The fiber that was in the middle of an exchange may go with it, without having left. */
static void wire_exchange_free(void *data) {
    struct wire *wire = data;
    plait_wire_batch_leave(wire);
    plait_deadline_remove(&wire->deadline);
    plait_head_bytes_release(wire->last_head);
    xfree(wire);
}

static size_t wire_exchange_size(const void *data) {
    const struct head_bytes *head = ((const struct wire *)data)->last_head;
    return sizeof(struct wire) + (head ? sizeof *head + head->size : 0);
}

const rb_data_type_t plait_wire_type = {
    .wrap_struct_name = "Plait::HTTP::NativeWire",
    .function = {.dmark = wire_exchange_mark, .dfree = wire_exchange_free, .dsize = wire_exchange_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

/* ---- the end ---- */

static VALUE wire_exchange_close_io(VALUE io) {
    return rb_funcall(io, id_close, 0);
}

static VALUE wire_exchange_ignore(VALUE unused, VALUE error) {
    (void)unused, (void)error;
    return Qnil;
}

/*
 * A socket that is broken already, or closed by another fiber meanwhile, may complain. Anything else comes from outside, as by
 * Thread#raise, and is for our caller.
 */
VALUE plait_wire_quietly(const struct wire *wire, VALUE (*run)(VALUE), VALUE argument, VALUE (*recover)(VALUE, VALUE)) {
    VALUE tls_error = wire->ssl ? plait_tls_error_class() : rb_eIOError;
    return rb_rescue2(run, argument, recover, Qnil, rb_eSystemCallError, rb_eIOError, tls_error, (VALUE)0);
}

static VALUE wire_exchange_close_upper(VALUE argument) {
    const struct wire *wire = (const struct wire *)argument;
    return plait_wire_quietly(wire, wire_exchange_close_io, wire->io, wire_exchange_ignore);
}

static VALUE wire_exchange_close_raw(VALUE argument) {
    const struct wire *wire = (const struct wire *)argument;
    return plait_wire_quietly(wire, wire_exchange_close_io, wire->raw, wire_exchange_ignore);
}

void plait_wire_close_raw(struct wire *wire) {
    wire_exchange_close_raw((VALUE)wire);
}

/* In the child of a fork the socket is the parent's too: a close_notify would end the connection for both. */
void plait_wire_release(struct wire *wire) {
    bool ours = wire->generation == plait_generation();
    plait_wire_batch_leave(wire);
    wire->state = WIRE_CLOSED;
    wire->pending = wire->response = wire->trailer = wire->unsent = wire->filling.body = Qnil;
    if (ours && wire->ssl) rb_ensure(wire_exchange_close_upper, (VALUE)wire, wire_exchange_close_raw, (VALUE)wire);
    else wire_exchange_close_raw((VALUE)wire);
}

void plait_wire_misuse(VALUE self, const char *what) {
    rb_exc_raise(rb_funcall(self, id_misuse, 1, ID2SYM(rb_intern(what))));
}

/* ---- an exchange ---- */

static double wire_exchange_seconds_of(VALUE timeouts, ID name) {
    VALUE seconds = rb_funcall(timeouts, name, 0);
    return NIL_P(seconds) ? INFINITY : NUM2DBL(seconds);
}

/* They are frozen: the object of the last time is known. */
void plait_wire_take_timeouts(VALUE self, VALUE timeouts) {
    struct wire *wire = plait_wire_of(self);
    if (wire->timeouts == timeouts) return;

    bool any = !NIL_P(timeouts);
    wire->timeouts = Qnil;
    wire->first_byte = any ? wire_exchange_seconds_of(timeouts, id_first_byte) : INFINITY;
    wire->read = any ? wire_exchange_seconds_of(timeouts, id_read) : INFINITY;
    wire->write = any ? wire_exchange_seconds_of(timeouts, id_write) : INFINITY;
    wire->total = any ? wire_exchange_seconds_of(timeouts, id_total) : INFINITY;
    RB_OBJ_WRITE(self, &wire->timeouts, timeouts);
}

static const char *wire_exchange_misuse_in(const struct wire *wire) {
    if (wire->busy || wire->state == WIRE_LAUNCHED) return "in_use";
    if (wire->state == WIRE_STREAMING) return "streaming";
    if (wire->state == WIRE_EXPECTING) return "expecting";
    if (wire->state == WIRE_TUNNEL) return "tunnel";
    return NULL;
}

void plait_wire_init_exchange(struct exchange *exchange, VALUE self) {
    *exchange = (struct exchange){.self = self, .wire = plait_wire_of(self), .first = Qnil, .second = Qnil, .url = Qnil,
                                  .timeouts = Qnil, .deadline = Qnil, .failure = Qnil, .drained = true};
}

void plait_wire_enter(struct exchange *exchange, enum wire_state state) {
    struct wire *wire = exchange->wire;
    VALUE self = exchange->self;
    if (wire->state != state || wire->busy) {
        const char *what = wire_exchange_misuse_in(wire);
        if (what) plait_wire_misuse(self, what);
        rb_exc_raise(rb_funcall(self, id_closed_before, 0));
    }
    if (wire->generation != plait_generation()) rb_exc_raise(rb_funcall(self, id_forked, 0));
    if (state == WIRE_IDLE) wire->started = plait_now();
    exchange->started = wire->started;
    wire->busy = true;
    wire->expired = false;
}

void plait_wire_begin(struct wire *wire, double deadline) {
    double ends = wire->started + wire->total;
    wire->sent = wire->received = wire->read_out = false;
    wire->ends = ends < deadline ? ends : deadline;
}

/* Whatever ends an exchange early (an error, a timeout, a kill, a cancellation) ends the connection. */
static VALUE wire_exchange_leave(VALUE argument) {
    const struct exchange *exchange = (const struct exchange *)argument;
    struct wire *wire = exchange->wire;
    plait_deadline_remove(&wire->deadline);
    wire->descriptor = -1;
    wire->busy = false;
    if (!exchange->finished || wire->state == WIRE_CLOSED) plait_wire_release(wire);
    return Qnil;
}

VALUE plait_wire_guarded(struct exchange *exchange, VALUE (*run)(VALUE)) {
    VALUE value = rb_ensure(run, (VALUE)exchange, wire_exchange_leave, (VALUE)exchange);
    RB_GC_GUARD(exchange->self);
    return value;
}

bool plait_wire_reusable(const struct wire *wire) {
    if (wire->state != WIRE_IDLE || wire->busy || wire->generation != plait_generation()) return false;
    return isinf(wire->kept_until) || plait_now() < wire->kept_until;
}

void plait_init_wire_exchange(void) {
    id_close = rb_intern("close");
    id_first_byte = rb_intern("first_byte");
    id_read = rb_intern("read");
    id_write = rb_intern("write");
    id_total = rb_intern("total");
    id_misuse = rb_intern("misuse!");
    id_closed_before = rb_intern("closed_before");
    id_forked = rb_intern("forked");
}
