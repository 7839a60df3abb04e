/* The loop between two events: a fiber that waits for a descriptor, or sleeps, goes on without a method of Ruby in between. */
#include "rb_scheduler_native.h"

#include "../plait_bindings.h"

static ID id_at, id_changed, id_fiber, id_select;

/* How long select may wait, or Qundef when a timer is due, or dead and in the way. */
static VALUE scheduler_spin_interval(VALUE heap, VALUE bound) {
    if (RARRAY_LEN(heap) == 0) return bound;

    VALUE first = RARRAY_AREF(heap, 0);
    if (NIL_P(rb_ivar_get(first, id_fiber))) return Qundef;

    double left = NUM2DBL(rb_ivar_get(first, id_at)) - plait_now();
    if (left <= 0) return Qundef;
    if (left > PLAIT_LONGEST_POLL) left = PLAIT_LONGEST_POLL;
    return NIL_P(bound) || left < NUM2DBL(bound) ? DBL2NUM(left) : bound;
}

/* How long the selector may sleep; below 0: without an end. */
static double scheduler_spin_rest(const struct native *native, VALUE bound) {
    double seconds = NIL_P(bound) ? -1 : NUM2DBL(bound);
    const struct sleeper *first = sleepers_first(&native->sleepers);
    if (!first) return seconds;

    double left = first->at - plait_now();
    if (left <= 0) return 0;
    if (left > PLAIT_LONGEST_POLL) left = PLAIT_LONGEST_POLL;
    return seconds < 0 || left < seconds ? left : seconds;
}

static void scheduler_spin_turn(struct native *native, VALUE seconds) {
    if (native->own) {
        plait_selector_turn(native->own, scheduler_spin_rest(native, seconds));
        plait_native_wake_sleepers(native);
    } else {
        rb_funcall(native->selector, id_select, 1, seconds);
    }
}

/*
 * spin(ready, jobs, heap, bound): lets events resume their fibers until the Ruby part of the loop has something to do:
 * an entry in one of the arrays, a timer that is due, a fiber that has finished (@changed), the bound.
 */
static VALUE scheduler_spin_spin(VALUE self, VALUE ready, VALUE jobs, VALUE heap, VALUE bound) {
    struct native *native = plait_native_in(self);
    rb_ivar_set(self, id_changed, Qfalse);
    do {
        VALUE seconds = scheduler_spin_interval(heap, bound);
        if (seconds == Qundef) seconds = INT2FIX(0);
        scheduler_spin_turn(native, seconds);
        if (seconds == INT2FIX(0)) break;
    } while (NIL_P(bound) && RARRAY_LEN(ready) == 0 && RARRAY_LEN(jobs) == 0 && !RTEST(rb_ivar_get(self, id_changed)));
    return Qnil;
}

/* slice_left?: also where an event has resumed the fiber */
static VALUE scheduler_spin_slice_left(VALUE self) {
    const struct native *native = plait_native_in(self);
    return native->own && plait_selector_slice_left(native->own) ? Qtrue : rb_call_super(0, NULL);
}

void plait_scheduler_define_spin(VALUE native) {
    id_at = rb_intern("@at");
    id_changed = rb_intern("@changed");
    id_fiber = rb_intern("@fiber");
    id_select = rb_intern("select");
    rb_define_private_method(native, "spin", scheduler_spin_spin, 4);
    rb_define_method(native, "slice_left?", scheduler_spin_slice_left, 0);
}
