/* The hook unblock: a fiber that waits for a thread, a mutex or a queue shall go on, be it by word of another thread. */
#include "rb_scheduler_native.h"

/* Of a thread: it makes its time slices eight times as long. */
enum { HIGHEST_PRIORITY = 3 };

static ID id_alive, id_blocker, id_fiber, id_priority, id_priority_before, id_push, id_raised, id_selector, id_set_priority;
static ID id_wakeup, id_woken;
static VALUE mutex_class;

/* Twin of Blocked#answers?. */
static int scheduler_unblock_answers(VALUE wait, VALUE blocker) {
    VALUE own = rb_ivar_get(wait, id_blocker);
    if (own == blocker || NIL_P(own)) return 1;
    if (!RTEST(rb_obj_is_kind_of(own, rb_cThread)) || !RTEST(rb_obj_is_kind_of(blocker, rb_cThread))) return 0;
    return !RTEST(rb_funcall(own, id_alive, 0));
}

static int scheduler_unblock_wake_here(const struct native *native, VALUE blocker, VALUE fiber) {
    VALUE wait = rb_hash_lookup(native->blocked, fiber);
    if (NIL_P(wait) || !scheduler_unblock_answers(wait, blocker)) return 0;

    if (!RTEST(rb_ivar_get(wait, id_woken))) {
        rb_ivar_set(wait, id_woken, Qtrue);
        rb_ary_push(native->ready, wait);
    }
    return 1;
}

static VALUE scheduler_unblock_new(const struct native *native, VALUE blocker, VALUE fiber) {
    VALUE unblock = rb_obj_alloc(native->unblock);
    rb_ivar_set(unblock, id_blocker, blocker);
    rb_ivar_set(unblock, id_fiber, fiber);
    return unblock;
}

/* Puts the entry where the loop finds it. */
static void scheduler_unblock_hand_over(VALUE self, const struct native *native, VALUE blocker, VALUE fiber) {
    if (rb_thread_current() == native->thread) {
        if (!scheduler_unblock_wake_here(native, blocker, fiber)) {
            rb_ary_push(native->ready, scheduler_unblock_new(native, blocker, fiber));
        }
    } else if (fiber == native->loop) { /* it sleeps in IO#close, outside of the fibers: Ruby 4.0 */
        rb_thread_wakeup_alive(native->thread);
    } else if (!NIL_P(rb_ivar_get(self, id_selector))) { /* not closed */
        rb_ary_push(native->entries, scheduler_unblock_new(native, blocker, fiber));
        if (RARRAY_LEN(native->entries) > 1) return;
        if (native->own) {
            plait_selector_push(native->own, native->inbox);
        } else {
            rb_funcall(native->selector, id_push, 1, native->inbox);
            rb_funcall(native->selector, id_wakeup, 0);
        }
    }
}

bool plait_native_unblock(VALUE scheduler, VALUE blocker, VALUE fiber) {
    const struct native *native = plait_native_of(scheduler);
    if (!native || !native->own) return false;

    scheduler_unblock_hand_over(scheduler, native, blocker, fiber);
    return true;
}

/* Once; the loop sees to it that `settle` ends it. */
static void scheduler_unblock_raise_priority(const struct native *native) {
    VALUE thread = rb_thread_current();
    if (RTEST(rb_ivar_get(thread, id_raised))) return;

    VALUE before = rb_ivar_get(thread, id_priority_before);
    if (NIL_P(before)) {
        before = rb_funcall(thread, id_priority, 0);
        rb_ivar_set(thread, id_priority_before, before);
    }
    rb_funcall(thread, id_set_priority, 1, INT2FIX(HIGHEST_PRIORITY));
    rb_ivar_set(thread, id_raised, Qtrue);
    rb_ary_push(native->raised, thread);
}

/* settle: gives threads the priority back that they had. */
static VALUE scheduler_unblock_settle(VALUE self) {
    VALUE thread;
    while (!NIL_P(thread = rb_ary_shift(plait_native_in(self)->raised))) {
        rb_ivar_set(thread, id_raised, Qfalse);
        VALUE before = rb_ivar_get(thread, id_priority_before);
        if (!NIL_P(before)) rb_funcall(thread, id_set_priority, 1, before);
    }
    return Qnil;
}

/*
 * unblock(blocker, fiber). Before Ruby 3.3 Mutex#unlock calls it when the mutex is free already but still in its thread's
 * list of mutexes. A thread that takes over here and locks the same mutex ties the two threads' lists together,
 * and Ruby aborts when one of them ends. So nothing here is a Ruby method, and the thread keeps the GVL through all time
 * slices that end here: it gets longer ones until the loop's next turn. Of 20 runs of the stress test 14 aborted with
 * the hook in Ruby, 9 with it in C alone; with slices twice as long 4 of 40, eight times as long 0 of 40.
 */
static VALUE scheduler_unblock_unblock(VALUE self, VALUE blocker, VALUE fiber) {
    const struct native *native = plait_native_in(self);
    if (native->exposed && rb_obj_class(blocker) == mutex_class) scheduler_unblock_raise_priority(native);
    scheduler_unblock_hand_over(self, native, blocker, fiber);
    return Qnil;
}

void plait_scheduler_define_unblock(VALUE native) {
    id_alive = rb_intern("alive?");
    id_blocker = rb_intern("@blocker");
    id_fiber = rb_intern("@fiber");
    id_priority = rb_intern("priority");
    id_priority_before = rb_intern("@plait_priority");
    id_push = rb_intern("push");
    id_raised = rb_intern("@plait_raised");
    id_selector = rb_intern("@selector");
    id_set_priority = rb_intern("plait_priority=");
    id_wakeup = rb_intern("wakeup");
    id_woken = rb_intern("@woken");
    mutex_class = rb_path2class("Thread::Mutex");
    rb_define_method(native, "unblock", scheduler_unblock_unblock, 2);
    rb_define_private_method(native, "settle", scheduler_unblock_settle, 0);
}
