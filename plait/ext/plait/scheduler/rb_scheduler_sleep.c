/* The hook kernel_sleep: sleeping fibers lie in a heap, and the loop wakes each one whose time has come. */
#include "rb_scheduler_native.h"

#include <math.h>

#include "../plait_bindings.h"

static ID id_watchdog;

static VALUE scheduler_sleep_doze(VALUE argument) {
    plait_selector_leave(((const struct nap *)argument)->native->own);
    return Qtrue;
}

/* It may have been raised into. */
static VALUE scheduler_sleep_rise(VALUE argument) {
    struct nap *nap = (struct nap *)argument;
    sleepers_remove(&nap->native->sleepers, &nap->sleeper);
    return Qnil;
}

/* Seconds of what is a number and surely a time to sleep; 0: Ruby looks at it. */
static double scheduler_sleep_seconds_of(int argc, const VALUE *argv) {
    if (argc != 1 || (!RB_FLOAT_TYPE_P(argv[0]) && !RB_FIXNUM_P(argv[0]))) return 0;

    double seconds = NUM2DBL(argv[0]);
    return seconds > 0 && isfinite(seconds) ? seconds : 0;
}

/*
 * kernel_sleep(duration). The twin in Ruby costs 5 µs of CPU more, most of it for its heap and for the loop that goes
 * through Ruby each time. A watchdog wants the calls of the twin.
 */
static VALUE scheduler_sleep_kernel(int argc, VALUE *argv, VALUE self) {
    struct native *native = plait_native_in(self);
    double seconds = scheduler_sleep_seconds_of(argc, argv);
    bool here = native->own && native->sleeps && !RTEST(rb_attr_get(self, id_watchdog));
    if (seconds == 0 || !here) return rb_call_super(argc, argv);

    struct nap nap = {.sleeper = {.at = plait_now() + seconds}, .native = native, .fiber = rb_fiber_current()};
    if (sleepers_add(&native->sleepers, &nap.sleeper) != 0) rb_memerror();
    native->waits++;
    return rb_ensure(scheduler_sleep_doze, (VALUE)&nap, scheduler_sleep_rise, (VALUE)&nap);
}

/* Wakes the fibers that were due at its start: a fiber that sleeps again meanwhile has to wait for the others. */
void plait_native_wake_sleepers(struct native *native) {
    const struct sleeper *first = sleepers_first(&native->sleepers);
    if (!first) return;

    double now = plait_now(), until = now + native->slice;
    while ((first = sleepers_first(&native->sleepers)) && first->at <= now) {
        struct nap *nap = (struct nap *)first;
        sleepers_remove(&native->sleepers, &nap->sleeper);
        rb_fiber_transfer(nap->fiber, 0, NULL);
        if (plait_now() >= until) return;
    }
}

void plait_scheduler_define_sleep(VALUE native) {
    id_watchdog = rb_intern("@watchdog");
    rb_define_method(native, "kernel_sleep", scheduler_sleep_kernel, -1);
}
