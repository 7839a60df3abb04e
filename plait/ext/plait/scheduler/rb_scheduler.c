/*
 * The hot part of Plait::Scheduler: the hooks that touch descriptors (here and in rb_scheduler_move.c) and threads
 * (rb_scheduler_unblock.c), sleep (rb_scheduler_sleep.c), and the loop between two events (rb_scheduler_spin.c). The Ruby
 * twins are in lib/plait/mechanisms/scheduler/io_hooks.rb and scheduler.rb (`poll`); by `super` a wait with a timeout goes
 * there, and all that has to do with descriptors when the selector isn't ours.
 *
 * 60,000 switches over pipes cost 0.30 s with the twins alone and 0.15 s with this (Ruby 3.1.2): three fcntl(2) a
 * read saved, no IO::Buffer through a block, and no Ruby method between two events.
 */
#include "rb_scheduler_native.h"

#include <poll.h>
#include <ruby/fiber/scheduler.h>

#include "../plait_bindings.h"

static ID id_selector, id_ticks, id_watchdog;

/* ---- waiting for descriptors ---- */

/* waiting_for(io): the fibers that wait for it now */
static VALUE scheduler_waiting_for(VALUE self, VALUE io) {
    struct selector *own = plait_native_in(self)->own;
    return own ? plait_selector_waiting_for(own, io) : rb_call_super(1, &io);
}

/* io_close(descriptor): Ruby closes it after this */
static VALUE scheduler_io_close(VALUE self, VALUE descriptor) {
    const struct native *native = plait_native_in(self);
    if (native->own && rb_thread_current() == native->thread) plait_selector_forget(native->own, NUM2INT(descriptor));
    return Qfalse;
}

/*
 * Of what is printed in parts (`puts`: the line and its end) Ruby gives io_write the first one only, and waits before it goes on,
 * although that one has been taken as a whole. Were others to run meanwhile, their lines would be in the middle of this one.
 */
static bool scheduler_goes_on_at_once(struct native *native, VALUE io, int events) {
    if (native->written == 0 || events != PLAIT_WRITABLE) return false;

    struct pollfd asked = {.fd = plait_descriptor_of(io), .events = POLLOUT};
    bool same = native->written == asked.fd + 1;
    native->written = 0;
    return same && poll(&asked, 1, 0) == 1 && asked.revents == POLLOUT;
}

/* io_wait(io, events, timeout = nil) */
static VALUE scheduler_io_wait(int argc, VALUE *argv, VALUE self) {
    rb_check_arity(argc, 2, 3);
    struct native *native = plait_native_in(self);
    int limited = (argc == 3 && !NIL_P(argv[2])) || !RB_TYPE_P(argv[0], T_FILE) || plait_has_timeout(argv[0]);
    if (limited || !native->own) return rb_call_super(argc, argv);
    int events = NUM2INT(argv[1]);
    return scheduler_goes_on_at_once(native, argv[0], events) ? INT2FIX(events) : plait_native_await(native, argv[0], events);
}

/* ---- for other bindings ---- */

/* The twins in Ruby tell a watchdog when control passes from one fiber to another. */
static VALUE scheduler_wait_somehow(struct native *native, VALUE scheduler, VALUE io, int events) {
    if (native->own && !RTEST(rb_attr_get(scheduler, id_watchdog))) return plait_native_await(native, io, events);
    return rb_fiber_scheduler_io_wait(scheduler, io, INT2FIX(events), Qnil);
}

void plait_native_deadline(VALUE scheduler, struct deadline *deadline) {
    VALUE data = rb_attr_get(scheduler, plait_native_id);
    struct native *native = rb_check_typeddata(data, &plait_native_type);
    plait_deadlines_add(&native->deadlines, data, scheduler, deadline);
}

VALUE plait_native_wait(struct native *native, VALUE scheduler, VALUE io, int events, struct deadline *deadline) {
    if (!deadline) return scheduler_wait_somehow(native, scheduler, io, events);

    plait_deadlines_add(&native->deadlines, rb_attr_get(scheduler, plait_native_id), scheduler, deadline);
    VALUE came = scheduler_wait_somehow(native, scheduler, io, events);
    plait_deadline_remove(deadline);
    return came;
}

bool plait_native_ends_waits(const struct native *native) {
    return native->own;
}

bool plait_native_leaves(const struct native *native, VALUE scheduler) {
    return native->own && !RTEST(rb_attr_get(scheduler, id_watchdog));
}

void plait_native_leave(const struct native *native) {
    plait_selector_leave(native->own);
}

unsigned long plait_native_ticks(const struct native *native, VALUE scheduler) {
    return native->waits + NUM2ULONG(rb_attr_get(scheduler, id_ticks));
}

VALUE plait_native_thread(const struct native *native) {
    return native->thread;
}

void plait_native_push(const struct native *native, VALUE object) {
    plait_selector_push(native->own, object);
}

void plait_native_end_wait(const struct native *native, int descriptor, VALUE fiber) {
    plait_selector_end_wait(native->own, descriptor, fiber);
}

/* ---- wiring ---- */

/* attach: once all that the loop works with is there. */
static VALUE scheduler_attach(VALUE self) {
    struct native *native;
    VALUE data = TypedData_Make_Struct(0, struct native, &plait_native_type, native);
    native->selector = rb_ivar_get(self, id_selector);
    native->own = plait_selector_of(native->selector);
    native->thread = rb_thread_current();
    native->loop = rb_iv_get(self, "@loop");
    native->ready = rb_iv_get(self, "@ready");
    native->blocked = rb_iv_get(self, "@blocked");
    native->inbox = rb_iv_get(self, "@inbox");
    native->entries = rb_iv_get(native->inbox, "@entries");
    native->raised = rb_iv_get(self, "@raised");
    native->slice = NUM2DBL(rb_iv_get(self, "@slice"));
    native->unblock = rb_path2class("Plait::Scheduler::Unblock");
    native->deadlines.alarm = Qnil;
    native->exposed = rb_method_boundp(rb_cThread, rb_intern("plait_priority="), 0);
    native->sleeps = RTEST(rb_funcall(rb_path2class("Plait::Patches"), rb_intern("mutex_sleep?"), 0));
    rb_ivar_set(self, plait_native_id, data);
    return self;
}

/* The waits that went through the native hooks. */
static VALUE scheduler_waits(VALUE self) {
    return ULONG2NUM(plait_native_in(self)->waits);
}

void plait_init_scheduler(VALUE plait) {
    plait_init_native();
    id_selector = rb_intern("@selector");
    id_ticks = rb_intern("@ticks");
    id_watchdog = rb_intern("@watchdog");

    VALUE native = rb_define_module_under(plait, "NativeScheduler");
    rb_define_method(native, "io_wait", scheduler_io_wait, -1);
    rb_define_method(native, "io_close", scheduler_io_close, 1);
    rb_define_method(native, "waiting_for", scheduler_waiting_for, 1);
    rb_define_private_method(native, "attach", scheduler_attach, 0);
    rb_define_private_method(native, "waits", scheduler_waits, 0);
    plait_scheduler_define_moves(native);
    plait_scheduler_define_sleep(native);
    plait_scheduler_define_spin(native);
    plait_scheduler_define_unblock(native);
}
