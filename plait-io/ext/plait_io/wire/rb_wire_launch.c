/*
 * Requests that are on their way while no fiber waits for the answer: a batch does (rb_wire_batch.h). An answer that is
 * plain, and whole when it comes, is taken in on the spot. Whatever else comes, or does not come (long answers, redirects,
 * errors, timeouts), is for `conclude`, on a fiber, which goes on as if it had waited from the start.
 */
#include "rb_wire_launch.h"

#include <math.h>

#include "../plait_io.h"
#include "rb_wire_batch_places.h"
#include "rb_wire_body.h"
#include "rb_wire_exchange.h"
#include "rb_wire_move.h"
#include "rb_wire_receive.h"
#include "rb_wire_send.h"
#include "rb_wire_wait.h"

/* Whether the body is on its way. */
static bool wire_launch_is_filling(const struct wire *wire) {
    return !NIL_P(wire->filling.body);
}

/* What is known of an exchange that a launch has started. */
static void wire_launch_recall(struct exchange *exchange) {
    const struct wire *wire = exchange->wire;
    exchange->url = wire->url;
    exchange->started = wire->started;
    exchange->sent_at = wire->sent_at;
    exchange->first_at = wire->first_at;
    exchange->answer_began = wire->first_at != 0;
    exchange->drained = false;
    exchange->consumed = wire_launch_is_filling(wire) ? wire->consumed : 0;
}

/* ---- launching ---- */

/* Whether it is an URL that begins so, and there its authority ends: then its target begins there. */
static bool wire_launch_has_prefix(VALUE url, VALUE prefix) {
    if (!RB_TYPE_P(url, T_STRING) || NIL_P(prefix)) return false;

    size_t size = (size_t)RSTRING_LEN(prefix);
    if ((size_t)RSTRING_LEN(url) < size || memcmp(RSTRING_PTR(url), RSTRING_PTR(prefix), size) != 0) return false;
    return (size_t)RSTRING_LEN(url) == size || memchr("/?#", RSTRING_PTR(url)[size], 3);
}

static double wire_launch_limit_of(const struct wire *wire) {
    double first_byte = wire->sent_at + wire->first_byte;
    return first_byte < wire->ends ? first_byte : wire->ends;
}

static void wire_launch_limit(struct wire *wire, double at) {
    if (isinf(at)) return;

    wire->deadline.at = at;
    wire->deadline.expire = plait_wire_expire;
    plait_wire_batch_limit(wire);
}

/* Whether there is time left to do it in. */
static bool wire_launch_begin(struct wire *wire) {
    wire->started = plait_now();
    wire->kind = HTTP1_TO_ANY;
    wire->expired = false;
    plait_wire_begin(wire, wire->until);
    return wire->started < wire->ends;
}

static bool wire_launch_send(struct exchange *exchange) {
    struct wire *wire = exchange->wire;
    wire->state = WIRE_LAUNCHED;
    wire->launched = true;
    RB_OBJ_WRITE(exchange->self, &wire->url, exchange->first);
    RB_OBJ_WRITE(exchange->self, &wire->unsent, plait_wire_send_small_get(exchange));
    wire->sent_at = plait_now();
    wire->first_at = 0;
    if (NIL_P(wire->unsent)) wire_launch_limit(wire, wire_launch_limit_of(wire));
    else plait_wire_batch_leave(wire);
    return NIL_P(wire->unsent);
}

/*
 * relaunch(url, batch, passenger): launch, with all else as it was the last time. A connection on which something has come
 * meanwhile is closed: its next answer could be to another question.
 */
static VALUE wire_launch_relaunch(VALUE self, VALUE url, VALUE batch, VALUE passenger) {
    struct wire *wire = plait_wire_of(self);
    if (!plait_wire_reusable(wire) || !wire_launch_has_prefix(url, wire->prefix)) return Qfalse;

    struct exchange exchange;
    plait_wire_init_exchange(&exchange, self);
    exchange.first = url;
    exchange.second = wire->block;
    exchange.offset = (size_t)RSTRING_LEN(wire->prefix);
    if (!plait_wire_small_get(&exchange) || !wire_launch_begin(wire)) return Qfalse;
    if (plait_wire_batch_stirred(batch, wire, plait_descriptor_of(wire->raw)) && plait_wire_unasked(wire)) {
        plait_wire_release(wire);
        return Qfalse;
    }
    return plait_wire_batch_board(batch, self, passenger) && wire_launch_send(&exchange) ? Qtrue : Qfalse;
}

/*
 * launch(url, prefix, block, timeouts, deadline, batch, passenger): as get, but does not wait. Returns true when the batch
 * will have the answer. Else it is to be waited for: by `conclude`, when `launched?` says that the request has started, and by
 * `get`, which will also say what is wrong, when it was not.
 */
static VALUE wire_launch_launch(int argc, VALUE *argv, VALUE self) {
    rb_check_arity(argc, 7, 7);
    struct wire *wire = plait_wire_of(self);
    if (wire->state != WIRE_IDLE) return Qfalse;

    Check_Type(argv[1], T_STRING);
    Check_Type(argv[2], T_STRING);
    plait_wire_take_timeouts(self, argv[3]);
    wire->until = NIL_P(argv[4]) ? INFINITY : NUM2DBL(argv[4]);
    RB_OBJ_WRITE(self, &wire->prefix, rb_str_new_frozen(argv[1]));
    RB_OBJ_WRITE(self, &wire->block, rb_str_new_frozen(argv[2]));
    return wire_launch_relaunch(self, argv[0], argv[5], argv[6]);
}

/* ---- landing ---- */

static enum wire_arrival wire_launch_look(struct exchange *exchange) {
    const struct wire *wire = exchange->wire;
    wire_launch_recall(exchange);
    if (wire_launch_is_filling(wire)) return plait_wire_fill(exchange);

    enum wire_arrival arrival = plait_wire_take_in(exchange);
    if (arrival != ARRIVED_PART) return arrival;

    plait_wire_begin_filling(exchange);
    return exchange->drained ? ARRIVED_NOTHING : plait_wire_fill(exchange);
}

/* Between two parts of a body there may be as much time as `read` says. */
static void wire_launch_wait_on(struct wire *wire) {
    if (!wire_launch_is_filling(wire)) return;

    double read = plait_now() + wire->read;
    plait_deadline_remove(&wire->deadline);
    wire_launch_limit(wire, read < wire->ends ? read : wire->ends);
}

static VALUE wire_launch_take_response(struct exchange *exchange) {
    return wire_launch_is_filling(exchange->wire) ? plait_wire_end_filling(exchange) : plait_wire_receive_rest(exchange);
}

VALUE plait_wire_land(VALUE self, enum wire_news news) {
    struct exchange exchange;
    plait_wire_init_exchange(&exchange, self);
    exchange.ended = news == NEWS_END;
    struct wire *wire = exchange.wire;
    enum wire_arrival arrival = news == NEWS_BREAK || wire->expired ? ARRIVED_OTHERWISE : wire_launch_look(&exchange);
    if (arrival == ARRIVED_NOTHING) {
        wire_launch_wait_on(wire);
        return Qundef;
    }
    VALUE response = arrival == ARRIVED_WHOLE ? wire_launch_take_response(&exchange) : Qnil;
    plait_wire_batch_leave(wire);
    wire->launched = NIL_P(response);
    if (!wire->launched && wire->state == WIRE_CLOSED) plait_wire_release(wire);
    RB_GC_GUARD(self);
    return response;
}

static VALUE wire_launch_run_conclude(VALUE argument) {
    struct exchange *exchange = (struct exchange *)argument;
    struct wire *wire = exchange->wire;
    VALUE unsent = wire->unsent;
    wire->launched = false;
    if (wire->state == WIRE_CLOSED) plait_wire_raise_closed(exchange);
    wire->state = WIRE_IDLE;
    wire->unsent = Qnil;
    if (wire->expired) plait_wire_raise_late(exchange, exchange->answer_began ? WAIT_FOR_MORE : WAIT_FOR_ANSWER);
    plait_wire_expect_head(exchange);
    if (!NIL_P(unsent)) {
        exchange->second = unsent;
        plait_wire_send(exchange);
        exchange->sent_at = plait_now();
    }
    VALUE response = wire_launch_is_filling(wire) ? plait_wire_conclude_filling(exchange) : plait_wire_receive_whole(exchange);
    exchange->finished = true;
    return response;
}

/* conclude: the answer to what was launched; waits for it, if need be */
static VALUE wire_launch_conclude(VALUE self) {
    struct wire *wire = plait_wire_of(self);
    bool expired = wire->expired;
    bool closed = wire->launched && wire->state == WIRE_CLOSED;
    plait_wire_batch_leave(wire);
    struct exchange exchange;
    plait_wire_init_exchange(&exchange, self);
    plait_wire_enter(&exchange, closed ? WIRE_CLOSED : WIRE_LAUNCHED);
    wire_launch_recall(&exchange);
    wire->expired = expired;
    return plait_wire_guarded(&exchange, wire_launch_run_conclude);
}

/* ends: when the exchange must be over, in monotonic seconds; nil: never */
static VALUE wire_launch_ends(VALUE self) {
    double ends = plait_wire_of(self)->ends;
    return isinf(ends) ? Qnil : DBL2NUM(ends);
}

static VALUE wire_launch_launched(VALUE self) {
    return plait_wire_of(self)->launched ? Qtrue : Qfalse;
}

static VALUE wire_launch_prompt(VALUE self) {
    return plait_wire_of(self)->prompt ? Qtrue : Qfalse;
}

void plait_define_wire_launch(VALUE wire) {
    rb_define_method(wire, "launch", wire_launch_launch, -1);
    rb_define_method(wire, "relaunch", wire_launch_relaunch, 3);
    rb_define_method(wire, "launched?", wire_launch_launched, 0);
    rb_define_method(wire, "conclude", wire_launch_conclude, 0);
    rb_define_method(wire, "ends", wire_launch_ends, 0);
    rb_define_method(wire, "prompt?", wire_launch_prompt, 0);
}
