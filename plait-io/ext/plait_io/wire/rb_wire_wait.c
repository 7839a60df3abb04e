/*
 * How a wire waits. On a fiber of a Plait::Scheduler: by its selector, without a call into Ruby, the deadline in a list that
 * is swept (rb_deadlines.h). On a fiber of another scheduler: by that one's io_wait, with the time that is left. On a thread:
 * by poll(2), without the GVL.
 */
#include "rb_wire_wait.h"

#include <math.h>
#include <ruby/fiber/scheduler.h>
#include <sys/socket.h>

#include "../plait_io.h"

/* Seconds for a peer to say that the body may follow; then it follows (RFC 9110 §10.1.1). */
static const double CONTINUE_SECONDS = 1;

/* In a row, of 64 KiB or of a record of TLS: some tenths of a millisecond. */
enum { MOVES = 16 };

static ID id_late, id_closed_here;

/* ---- deadlines ---- */

static double wire_wait_earlier(double one, double other) {
    return one < other ? one : other;
}

static double wire_wait_piece_limit(const struct wire *wire, double seconds) {
    return isinf(seconds) ? wire->ends : wire_wait_earlier(wire->ends, plait_now() + seconds);
}

/* When the wait has to end, in monotonic seconds, or INFINITY. */
static double wire_wait_limit_of(const struct exchange *exchange, enum wire_wait why) {
    const struct wire *wire = exchange->wire;
    switch (why) {
    case WAIT_FOR_ANSWER:
        return wire_wait_earlier(wire->ends, exchange->sent_at + wire->first_byte);
    case WAIT_TO_CONTINUE:
        return wire_wait_earlier(wire->ends, exchange->sent_at + CONTINUE_SECONDS);
    default:
        return wire_wait_piece_limit(wire, why == WAIT_TO_SEND ? wire->write : wire->read);
    }
}

/*
 * A loop that was busy with something else for long may find an answer and its deadline at once: then it is in time. By TLS what
 * has come may be less than a record, which no answer is.
 */
static bool wire_wait_has_come(const struct wire *wire) {
    char byte;
    if (!(wire->batch || wire->awaits) || wire->ssl || plait_now() >= wire->ends) return false;
    return recv(wire->descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

void plait_wire_expire(struct deadline *deadline) {
    struct wire *wire = (struct wire *)deadline;
    if (wire_wait_has_come(wire)) return;

    wire->expired = true;
    plait_wire_shut_down(wire);
}

void plait_wire_shut_down(const struct wire *wire) {
    if (wire->descriptor >= 0) shutdown(wire->descriptor, SHUT_RDWR);
}

void plait_wire_raise_closed(const struct exchange *exchange) {
    rb_exc_raise(rb_funcall(exchange->self, id_closed_here, 0));
}

void plait_wire_raise_late(const struct exchange *exchange, enum wire_wait why) {
    const char *phase = why == WAIT_TO_SEND ? "send" : why == WAIT_FOR_MORE ? "read" : "first_byte";
    rb_exc_raise(rb_funcall(exchange->self, id_late, 2, ID2SYM(rb_intern(phase)), DBL2NUM(exchange->started)));
}

/* ---- a fiber ---- */

static VALUE wire_wait_seconds_until(double limit) {
    if (isinf(limit)) return Qnil;

    double left = limit - plait_now();
    return DBL2NUM(left > 0 ? left : 0);
}

/* A deadline of ours that expires ends the connection. */
static VALUE wire_wait_on_scheduler(struct wire *wire, VALUE scheduler, int events, double limit, enum wire_wait why) {
    struct native *native = why == WAIT_TO_CONTINUE ? NULL : plait_native_of(scheduler);
    if (!native) return rb_fiber_scheduler_io_wait(scheduler, wire->raw, INT2FIX(events), wire_wait_seconds_until(limit));

    wire->awaits = (events & PLAIT_READABLE) && why != WAIT_TO_SEND;
    wire->deadline.at = limit;
    wire->deadline.expire = plait_wire_expire;
    return plait_native_wait(native, scheduler, wire->raw, events, isinf(limit) ? NULL : &wire->deadline);
}

static int wire_wait_once(struct wire *wire, int events, double limit, enum wire_wait why) {
    VALUE scheduler = rb_fiber_scheduler_current();
    wire->descriptor = plait_descriptor_of(wire->raw);
    if (NIL_P(scheduler)) return plait_poll(wire->descriptor, events, limit);

    VALUE came = wire_wait_on_scheduler(wire, scheduler, events, limit, why);
    return RTEST(came) ? NUM2INT(came) & events : 0;
}

void plait_wire_check_time(const struct exchange *exchange, enum wire_wait why) {
    double ends = exchange->wire->ends;
    if (!isinf(ends) && plait_now() >= ends) plait_wire_raise_late(exchange, why);
}

int plait_wire_wait(struct exchange *exchange, int events, enum wire_wait why) {
    struct wire *wire = exchange->wire;
    double limit = wire_wait_limit_of(exchange, why);
    for (;;) {
        int came = wire_wait_once(wire, events, limit, why);
        if (wire->state == WIRE_CLOSED) plait_wire_raise_closed(exchange);
        if (came && !wire->expired) return came;
        if (!wire->expired && (isinf(limit) || plait_now() < limit)) continue;
        if (why == WAIT_TO_CONTINUE && limit < wire->ends) return 0;
        plait_wire_raise_late(exchange, why);
    }
}

static void wire_wait_let_others_run(void) {
    VALUE scheduler = rb_fiber_scheduler_current();
    if (NIL_P(scheduler)) rb_thread_check_ints();
    else rb_fiber_scheduler_kernel_sleep(scheduler, INT2FIX(0));
}

void plait_wire_keep_pace(const struct exchange *exchange, enum wire_wait why) {
    struct wire *wire = exchange->wire;
    if (++wire->moves % MOVES == 0) wire_wait_let_others_run();
    if (wire->state == WIRE_CLOSED) plait_wire_raise_closed(exchange);
    plait_wire_check_time(exchange, why);
}

void plait_init_wire_wait(void) {
    id_late = rb_intern("late");
    id_closed_here = rb_intern("closed_here");
}
