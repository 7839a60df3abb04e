/* See rb_wire.h. What its errors say is in plait-http/lib/plait/http/native_wire.rb. */
#include "rb_wire.h"

#include <math.h>
#include <ruby/io.h>
#include <ruby/ractor.h>

#include "../http1/rb_http1.h"
#include "../plait_io.h"
#include "../tls/rb_tls.h"
#include "rb_response.h"
#include "rb_wire_batch.h"
#include "rb_wire_batch_places.h"
#include "rb_wire_body.h"
#include "rb_wire_exchange.h"
#include "rb_wire_head.h"
#include "rb_wire_launch.h"
#include "rb_wire_checkout.h"
#include "rb_wire_methods.h"
#include "rb_wire_move.h"
#include "rb_wire_receive.h"
#include "rb_wire_send.h"
#include "rb_wire_wait.h"

/* ---- the object ---- */

static VALUE wire_allocate(VALUE class) {
    struct wire *wire;
    VALUE self = TypedData_Make_Struct(class, struct wire, &plait_wire_type, wire);
    wire->io = wire->raw = wire->endpoint = wire->phases = wire->limits_value = wire->timeouts = Qnil;
    wire->pending = wire->response = wire->trailer = wire->url = wire->unsent = Qnil;
    wire->prefix = wire->block = wire->filling.body = Qnil;
    wire->limits = http1_default_limits;
    wire->first_byte = wire->read = wire->write = wire->total = wire->ends = wire->kept_for = wire->kept_until = INFINITY;
    wire->uses_left = HTTP1_UNSAID;
    wire->generation = plait_generation();
    wire->descriptor = -1;
    wire->state = WIRE_CLOSED;
    wire->prompt = true;
    return self;
}

/* new(io, endpoint: nil, phases: nil, limits: nil) */
static VALUE wire_initialize(int argc, VALUE *argv, VALUE self) {
    static ID names[3];
    if (!names[0]) {
        names[0] = rb_intern("endpoint");
        names[1] = rb_intern("phases");
        names[2] = rb_intern("limits");
    }
    struct wire *wire = plait_wire_of(self);
    VALUE io, keywords, values[3] = {Qundef, Qundef, Qundef};
    rb_scan_args(argc, argv, "1:", &io, &keywords);
    if (!NIL_P(keywords)) rb_get_kwargs(keywords, names, 0, 3, values);
    for (int i = 0; i < 3; i++) values[i] = values[i] == Qundef ? Qnil : values[i];

    RB_OBJ_WRITE(self, &wire->io, io);
    RB_OBJ_WRITE(self, &wire->raw, rb_io_get_io(io));
    RB_OBJ_WRITE(self, &wire->endpoint, values[0]);
    RB_OBJ_WRITE(self, &wire->phases, values[1]);
    RB_OBJ_WRITE(self, &wire->limits_value, values[2]);
    if (wire->raw != io) wire->ssl = plait_tls_of(io);
    if (!NIL_P(values[2])) wire->limits = plait_http1_limits(values[2]);
    wire->state = WIRE_IDLE;
    wire->persistent = true;
    return self;
}

/* The same, of the arguments in `exchange`. */
static void wire_begin(const struct exchange *exchange) {
    plait_wire_take_timeouts(exchange->self, exchange->timeouts);
    plait_wire_begin(exchange->wire, NIL_P(exchange->deadline) ? INFINITY : NUM2DBL(exchange->deadline));
}

/* A session ticket comes with the first answer, at the latest: the next handshake is a short one. */
static void wire_keep_session(struct wire *wire) {
    if (!wire->ssl || wire->session_kept || !wire->received) return;

    wire->session_kept = true;
    rb_funcall(wire->io, rb_intern("keep_session"), 0);
}

static VALUE wire_finished(struct exchange *exchange, VALUE value) {
    wire_keep_session(exchange->wire);
    exchange->finished = true;
    return value;
}

static void wire_send_by(struct exchange *exchange, void (*send)(struct exchange *)) {
    plait_wire_check_time(exchange, WAIT_TO_SEND);
    plait_wire_expect_head(exchange);
    send(exchange);
    exchange->sent_at = plait_now();
}

/* After what may call into Ruby, and let the URL change. What is wrong with it is nothing to the connection. */
static void wire_check_get(struct exchange *exchange) {
    exchange->finished = true;
    if (exchange->offset > (size_t)RSTRING_LEN(exchange->first)) rb_raise(rb_eArgError, "the target can't begin behind the URL");
    plait_wire_check_target(exchange->self, exchange->first, exchange->offset);
    exchange->finished = false;
}

static VALUE wire_run_get(VALUE argument) {
    struct exchange *exchange = (struct exchange *)argument;
    wire_begin(exchange);
    wire_check_get(exchange);
    wire_send_by(exchange, plait_wire_send_get);
    return wire_finished(exchange, plait_wire_receive_whole(exchange));
}

static VALUE wire_run_call(VALUE argument) {
    struct exchange *exchange = (struct exchange *)argument;
    exchange->whole = true;
    wire_begin(exchange);
    wire_send_by(exchange, plait_wire_send);
    return wire_finished(exchange, plait_wire_receive_whole(exchange));
}

static VALUE wire_run_open(VALUE argument) {
    struct exchange *exchange = (struct exchange *)argument;
    wire_begin(exchange);
    wire_send_by(exchange, plait_wire_send);
    return wire_finished(exchange, plait_wire_receive_head(exchange));
}

static VALUE wire_run_read_piece(VALUE argument) {
    struct exchange *exchange = (struct exchange *)argument;
    return wire_finished(exchange, plait_wire_receive_piece(exchange, exchange->first));
}

/* The body is not sent any more when the answer is there: the peer may still wait for it. */
static VALUE wire_run_expect_continue(VALUE argument) {
    struct exchange *exchange = (struct exchange *)argument;
    wire_begin(exchange);
    wire_send_by(exchange, plait_wire_send);
    if (!plait_wire_await_continue(exchange)) {
        exchange->wire->state = WIRE_EXPECTING;
        return wire_finished(exchange, Qnil);
    }
    exchange->stopped = true;
    return wire_finished(exchange, plait_wire_receive_whole(exchange));
}

static VALUE wire_run_resume(VALUE argument) {
    struct exchange *exchange = (struct exchange *)argument;
    exchange->whole = true;
    exchange->wire->state = WIRE_IDLE;
    wire_send_by(exchange, plait_wire_send);
    return wire_finished(exchange, plait_wire_receive_whole(exchange));
}

/* ---- in Ruby ---- */

VALUE plait_wire_get(struct exchange *exchange) {
    plait_wire_enter(exchange, WIRE_IDLE);
    exchange->wire->kind = HTTP1_TO_ANY;
    return plait_wire_guarded(exchange, wire_run_get);
}

/* get(url, offset, block, timeouts, deadline) */
static VALUE wire_get(VALUE self, VALUE url, VALUE offset, VALUE block, VALUE timeouts, VALUE deadline) {
    Check_Type(url, T_STRING);
    Check_Type(block, T_STRING);
    size_t at = NUM2SIZET(offset);
    struct exchange exchange;
    plait_wire_init_exchange(&exchange, self);
    exchange.first = exchange.url = url;
    exchange.second = block;
    exchange.offset = at;
    exchange.timeouts = timeouts;
    exchange.deadline = deadline;
    return plait_wire_get(&exchange);
}

/* The last arguments of the methods below. */
struct terms {
    VALUE kind;
    VALUE timeouts;
    VALUE deadline;
};

static VALUE wire_request(VALUE self, VALUE head, VALUE body, struct terms terms, VALUE (*run)(VALUE)) {
    Check_Type(head, T_STRING);
    unsigned kind = NUM2UINT(terms.kind);
    struct exchange exchange;
    plait_wire_init_exchange(&exchange, self);
    plait_wire_enter(&exchange, WIRE_IDLE);
    exchange.wire->kind = (uint8_t)kind;
    exchange.first = head;
    exchange.second = body;
    exchange.timeouts = terms.timeouts;
    exchange.deadline = terms.deadline;
    return plait_wire_guarded(&exchange, run);
}

/* call(head, body, kind, timeouts, deadline) */
static VALUE wire_call(VALUE self, VALUE head, VALUE body, VALUE kind, VALUE timeouts, VALUE deadline) {
    return wire_request(self, head, body, (struct terms){kind, timeouts, deadline}, wire_run_call);
}

/* open(head, body, kind, timeouts, deadline) */
static VALUE wire_open(VALUE self, VALUE head, VALUE body, VALUE kind, VALUE timeouts, VALUE deadline) {
    return wire_request(self, head, body, (struct terms){kind, timeouts, deadline}, wire_run_open);
}

/* expect_continue(head, kind, timeouts, deadline) */
static VALUE wire_expect_continue(VALUE self, VALUE head, VALUE kind, VALUE timeouts, VALUE deadline) {
    return wire_request(self, head, Qnil, (struct terms){kind, timeouts, deadline}, wire_run_expect_continue);
}

/* resume(body) */
static VALUE wire_resume(VALUE self, VALUE body) {
    struct exchange exchange;
    plait_wire_init_exchange(&exchange, self);
    plait_wire_enter(&exchange, WIRE_EXPECTING);
    exchange.drained = false;
    exchange.second = body;
    return plait_wire_guarded(&exchange, wire_run_resume);
}

/* read_piece(buffer = nil): with one, the piece is in it */
static VALUE wire_read_piece(int argc, VALUE *argv, VALUE self) {
    rb_check_arity(argc, 0, 1);
    VALUE buffer = argc == 1 ? argv[0] : Qnil;
    if (!NIL_P(buffer)) rb_str_modify(StringValue(buffer));
    struct wire *wire = plait_wire_of(self);
    if (wire->read_out) return Qnil;
    if (wire->state == WIRE_IDLE && !wire->busy) plait_wire_misuse(self, "nothing_to_read");

    struct exchange exchange;
    plait_wire_init_exchange(&exchange, self);
    exchange.first = buffer;
    plait_wire_enter(&exchange, WIRE_STREAMING);
    exchange.drained = false;
    VALUE piece = plait_wire_guarded(&exchange, wire_run_read_piece);
    RB_GC_GUARD(buffer);
    return piece;
}

static VALUE wire_reusable(VALUE self) {
    return plait_wire_reusable(plait_wire_of(self)) ? Qtrue : Qfalse;
}

static VALUE wire_look(VALUE self) {
    return plait_wire_unasked(plait_wire_of(self)) ? Qtrue : Qfalse;
}

static VALUE wire_is_stale(VALUE unused, VALUE error) {
    (void)unused, (void)error;
    return Qtrue;
}

/* Once bytes have come that were not asked for it stays so. */
static VALUE wire_stale(VALUE self) {
    struct wire *wire = plait_wire_of(self);
    if (wire_reusable(self) == Qfalse) return Qtrue;

    VALUE stale = plait_wire_quietly(wire, wire_look, self, wire_is_stale);
    if (stale == Qtrue && !wire->busy) plait_wire_release(wire);
    return stale;
}

static VALUE wire_received(VALUE self) {
    return plait_wire_of(self)->received ? Qtrue : Qfalse;
}

static VALUE wire_sent(VALUE self) {
    return plait_wire_of(self)->sent ? Qtrue : Qfalse;
}

/* close: a fiber that is in an exchange, or concludes it, gets ConnectionClosed, and closes the descriptor. */
static VALUE wire_close(VALUE self) {
    struct wire *wire = plait_wire_of(self);
    if (wire->state == WIRE_CLOSED || wire->state == WIRE_DETACHED) return Qnil;
    if ((wire->busy || wire->batch) && wire->generation == plait_generation()) {
        wire->state = WIRE_CLOSED;
        plait_wire_shut_down(wire);
    } else {
        plait_wire_release(wire);
    }
    return Qnil;
}

/* abandon: closes our descriptor of a connection that other code goes on using. */
static VALUE wire_abandon(VALUE self) {
    struct wire *wire = plait_wire_of(self);
    if (wire->state == WIRE_CLOSED || wire->state == WIRE_DETACHED) return Qnil;

    plait_wire_batch_leave(wire);
    wire->state = WIRE_CLOSED;
    plait_wire_close_raw(wire);
    return Qnil;
}

static VALUE wire_closed(VALUE self) {
    return plait_wire_of(self)->state >= WIRE_DETACHED ? Qtrue : Qfalse;
}

/* detach => [io, bytes that were received and belong to what follows] */
static VALUE wire_detach(VALUE self) {
    struct wire *wire = plait_wire_of(self);
    if (wire->busy || wire->state == WIRE_LAUNCHED) plait_wire_misuse(self, "in_use");
    if (wire->state != WIRE_TUNNEL && wire->state != WIRE_IDLE) plait_wire_misuse(self, "detach");

    VALUE rest = NIL_P(wire->pending) ? rb_str_new(NULL, 0) : wire->pending;
    wire->pending = Qnil;
    wire->state = WIRE_DETACHED;
    return rb_assoc_new(wire->io, rest);
}

static VALUE wire_io(VALUE self) {
    return plait_wire_of(self)->io;
}

static VALUE wire_endpoint(VALUE self) {
    return plait_wire_of(self)->endpoint;
}

static VALUE wire_phases(VALUE self) {
    return plait_wire_of(self)->phases;
}

static VALUE wire_limits(VALUE self) {
    return plait_wire_of(self)->limits_value;
}

static VALUE wire_timeouts(VALUE self) {
    return plait_wire_of(self)->timeouts;
}

static void wire_define(VALUE http) {
    VALUE wire = rb_define_class_under(http, "NativeWire", rb_cObject);
    rb_define_alloc_func(wire, wire_allocate);
    rb_define_method(wire, "initialize", wire_initialize, -1);
    rb_define_method(wire, "get", wire_get, 5);
    rb_define_method(wire, "call", wire_call, 5);
    rb_define_method(wire, "open", wire_open, 5);
    rb_define_method(wire, "read_piece", wire_read_piece, -1);
    rb_define_method(wire, "expect_continue", wire_expect_continue, 4);
    rb_define_method(wire, "resume", wire_resume, 1);
    rb_define_method(wire, "reusable?", wire_reusable, 0);
    rb_define_method(wire, "stale?", wire_stale, 0);
    rb_define_method(wire, "received?", wire_received, 0);
    rb_define_method(wire, "sent?", wire_sent, 0);
    rb_define_method(wire, "close", wire_close, 0);
    rb_define_method(wire, "abandon", wire_abandon, 0);
    rb_define_method(wire, "closed?", wire_closed, 0);
    rb_define_method(wire, "detach", wire_detach, 0);
    rb_define_method(wire, "io", wire_io, 0);
    rb_define_method(wire, "endpoint", wire_endpoint, 0);
    rb_define_method(wire, "phases", wire_phases, 0);
    rb_define_private_method(wire, "limits", wire_limits, 0);
    rb_define_private_method(wire, "timeouts", wire_timeouts, 0);
    plait_define_wire_launch(wire);
    plait_define_wire_batch(http);
    plait_define_wire_checkout(http);
}

/* Methods that are defined while no extension is loaded count as safe for ractors; these are for the main one. */
static VALUE wire_define_for_main_ractor(VALUE self, VALUE http, void (*define)(VALUE http)) {
    rb_ext_ractor_safe(false);
    define(http);
    rb_ext_ractor_safe(true);
    return self;
}

/*
 * define_wire(http), define_response(http): the class, in that module. Init_plait can't: Plait::HTTP is loaded by its name, and
 * all of it.
 */
static VALUE wire_native_http_define(VALUE self, VALUE http) {
    return wire_define_for_main_ractor(self, http, wire_define);
}

static VALUE wire_native_http_define_response(VALUE self, VALUE http) {
    return wire_define_for_main_ractor(self, http, plait_define_response);
}

void plait_init_wire(VALUE plait) {
    plait_init_wire_exchange();
    plait_init_wire_wait();
    plait_init_wire_send();
    plait_init_wire_receive();
    VALUE native = rb_define_module_under(plait, "NativeHTTP");
    rb_define_singleton_method(native, "define_wire", wire_native_http_define, 1);
    rb_define_singleton_method(native, "define_response", wire_native_http_define_response, 1);
    plait_init_wire_head(native);
}
