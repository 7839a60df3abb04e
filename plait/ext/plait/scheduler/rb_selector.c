/* Plait::NativeSelector: fibers in an epoll_set. Its interface in Ruby is that of io-event's selectors, as far as used. */
#include "rb_selector.h"

#include "../plait_bindings.h"

#ifdef HAVE_PLAIT_EPOLL

#include "epoll_set.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <ruby/io.h>
#include <ruby/thread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static ID id_transfer, id_wait, id_closed;
static VALUE key_state, state_marking;
static VALUE process_status;

struct selector {
    struct epoll_set set;
    VALUE loop;               /* the fiber that turns */
    VALUE pushed;             /* what other threads want transferred to */
    int asleep;               /* without the GVL, or about to be */
    double slice;             /* seconds of a turn after which no further fiber is resumed */
    double until;             /* monotonic seconds: when that of the current turn ends */
    unsigned long reopenings; /* of which it has heard */
    size_t collections;       /* of garbage, of which it has heard */
    bool marking;             /* the last of them was not past its marking then */
};

/* A fiber that waits; it lies on that fiber's stack. */
struct fiber_wait {
    struct interest interest; /* first: the set's pointers are ours */
    struct selector *selector;
    VALUE fiber;
    VALUE io;
};

/* ---- IO#reopen: the same IO and the same number, but another file ---- */

/* How often, in this process. */
static unsigned long reopenings;

struct reopening {
    int argc;
    VALUE *argv;
    int keywords;
};

static VALUE selector_reopen(VALUE argument) {
    const struct reopening *reopening = (const struct reopening *)argument;
    return rb_call_super_kw(reopening->argc, reopening->argv, reopening->keywords);
}

static VALUE selector_count_reopening(VALUE unused) {
    (void)unused;
    reopenings++;
    return Qnil;
}

static VALUE selector_io_reopen(int argc, VALUE *argv, VALUE self) {
    (void)self;
    struct reopening reopening = {.argc = argc, .argv = argv, .keywords = rb_keyword_given_p()};
    return rb_ensure(selector_reopen, (VALUE)&reopening, selector_count_reopening, Qnil);
}

/* watch_reopenings: of every IO of this process, from now on */
static VALUE selector_watch_reopenings(VALUE class) {
    static int watched;
    if (watched) return Qnil;

    watched = 1;
    VALUE reopening = rb_define_module_under(class, "Reopening");
    rb_define_method(reopening, "reopen", selector_io_reopen, -1);
    rb_prepend_module(rb_cIO, reopening);
    return Qnil;
}

static void selector_doubt_after_reopening(struct selector *selector) {
    if (selector->reopenings == reopenings) return;

    selector->reopenings = reopenings;
    epoll_set_doubt(&selector->set, NULL);
}

/* ---- garbage: another IO can come to lie at the same address, with the same number and another file ---- */

static bool selector_waited_for(const struct descriptor *descriptor) {
    const struct fiber_wait *newest = (const struct fiber_wait *)descriptor->first;
    return newest && newest->io == (VALUE)descriptor->owner;
}

/*
 * No mark keeps an IO that no fiber waits for, so that Ruby closes it when no other object has it: the next one with its
 * number asks the kernel. What was noted during marking is not sure either, but is in use until that is over.
 */
static void selector_doubt_after_collection(struct selector *selector) {
    size_t collections = rb_gc_count();
    bool new = collections != selector->collections;
    if (!new && !selector->marking) return;

    bool marking = rb_gc_latest_gc_info(key_state) == state_marking;
    if (!new && marking) return;

    selector->collections = collections;
    selector->marking = marking;
    epoll_set_doubt(&selector->set, selector_waited_for);
}

/* ---- the object ---- */

static void selector_mark_list(const struct interest *interest) {
    for (; interest; interest = interest->next) {
        const struct fiber_wait *wait = (const struct fiber_wait *)interest;
        rb_gc_mark(wait->fiber);
        rb_gc_mark(wait->io);
    }
}

static void selector_mark_descriptor(const struct descriptor *descriptor, void *unused) {
    (void)unused;
    selector_mark_list(descriptor->first);
}

static void selector_mark(void *data) {
    const struct selector *selector = data;
    rb_gc_mark(selector->loop);
    rb_gc_mark(selector->pushed);
    selector_mark_list(selector->set.ready);
    selector_mark_list(selector->set.always);
    epoll_set_each(&selector->set, selector_mark_descriptor, NULL);
}

static void selector_free(void *data) {
    struct selector *selector = data;
    epoll_set_free(&selector->set);
    xfree(selector);
}

static size_t selector_size(const void *data) {
    return sizeof(struct selector) + epoll_set_size(&((const struct selector *)data)->set);
}

static const rb_data_type_t selector_type = {
    .wrap_struct_name = "Plait::NativeSelector",
    .function = {.dmark = selector_mark, .dfree = selector_free, .dsize = selector_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static struct selector *selector_of(VALUE self) {
    return rb_check_typeddata(self, &selector_type);
}

struct selector *plait_selector_of(VALUE object) {
    return rb_typeddata_is_kind_of(object, &selector_type) ? selector_of(object) : NULL;
}

static VALUE selector_allocate(VALUE class) {
    struct selector *selector;
    VALUE self = TypedData_Make_Struct(class, struct selector, &selector_type, selector);
    selector->set.epoll = selector->set.wakeup = -1;
    selector->loop = selector->pushed = Qnil;
    return self;
}

/* new(loop, slice): the fiber that will turn, and as Scheduler::SLICE */
static VALUE selector_initialize(VALUE self, VALUE loop, VALUE slice) {
    struct selector *selector = selector_of(self);
    selector->loop = loop;
    selector->slice = NUM2DBL(slice);
    selector->pushed = rb_ary_new();
    int error = epoll_set_open(&selector->set);
    if (error != 0) rb_syserr_fail(error, "epoll");

    rb_update_max_fd(selector->set.epoll);
    rb_update_max_fd(selector->set.wakeup);
    return self;
}

/* close: frees the descriptors */
static VALUE selector_close(VALUE self) {
    epoll_set_close(&selector_of(self)->set);
    return Qnil;
}

/* ---- waiting ---- */

static VALUE selector_leave(VALUE argument) {
    const struct fiber_wait *wait = (const struct fiber_wait *)argument;
    rb_fiber_transfer(wait->selector->loop, 0, NULL);
    return wait->interest.ready != 0 ? INT2FIX(wait->interest.ready) : Qfalse;
}

/* Its fiber may have been resumed by a timer, or raised into. */
static VALUE selector_stop_waiting(VALUE argument) {
    epoll_set_remove(&((struct fiber_wait *)argument)->interest);
    return Qnil;
}

VALUE plait_selector_wait(struct selector *selector, VALUE io, int descriptor, int events) {
    struct fiber_wait wait = {.interest = {.descriptor = descriptor, .events = events},
                              .selector = selector, .fiber = rb_fiber_current(), .io = io};
    selector_doubt_after_reopening(selector);
    selector_doubt_after_collection(selector);
    int error = epoll_set_add(&selector->set, &wait.interest, (uintptr_t)io);
    if (error != 0) rb_syserr_fail(error, "epoll_ctl");
    return rb_ensure(selector_leave, (VALUE)&wait, selector_stop_waiting, (VALUE)&wait);
}

void plait_selector_leave(const struct selector *selector) {
    rb_fiber_transfer(selector->loop, 0, NULL);
}

void plait_selector_end_wait(struct selector *selector, int descriptor, VALUE fiber) {
    struct descriptor *known = epoll_set_find(&selector->set, descriptor);
    struct interest *interest = known ? known->first : NULL;
    while (interest && ((struct fiber_wait *)interest)->fiber != fiber) interest = interest->next;
    if (interest) epoll_set_expire(&selector->set, interest);
}

/* io_wait(fiber, io, events): the current fiber is meant */
static VALUE selector_io_wait(VALUE self, VALUE fiber, VALUE io, VALUE events) {
    (void)fiber;
    return plait_selector_wait(selector_of(self), io, plait_descriptor_of(io), NUM2INT(events));
}

/* The IO that `waiting_for` asks about, and its answer. */
struct question {
    VALUE io;
    VALUE fibers;
};

static void selector_add_waiting(const struct interest *interest, const struct question *question) {
    for (; interest; interest = interest->next) {
        const struct fiber_wait *wait = (const struct fiber_wait *)interest;
        if (wait->io == question->io) rb_ary_push(question->fibers, wait->fiber);
    }
}

static void selector_ask_descriptor(const struct descriptor *descriptor, void *question) {
    if (descriptor->first) selector_add_waiting(descriptor->first, question);
}

/* Once it is closed its number isn't known. */
VALUE plait_selector_waiting_for(struct selector *selector, VALUE io) {
    struct question question = {.io = io, .fibers = rb_ary_new()};
    if (RTEST(rb_funcall(io, id_closed, 0))) {
        epoll_set_each(&selector->set, selector_ask_descriptor, &question);
    } else {
        struct descriptor *descriptor = epoll_set_find(&selector->set, plait_descriptor_of(io));
        if (descriptor) selector_ask_descriptor(descriptor, &question);
    }
    selector_add_waiting(selector->set.ready, &question);
    selector_add_waiting(selector->set.always, &question);
    return question.fibers;
}

void plait_selector_forget(struct selector *selector, int descriptor) {
    epoll_set_forget(&selector->set, descriptor);
}

/* ---- waiting for a process ---- */

struct process_wait {
    struct selector *selector;
    VALUE pid;
    VALUE flags;
    int descriptor; /* of pidfd_open(2) */
};

static VALUE selector_status_now(const struct process_wait *wait) {
    return rb_funcall(process_status, id_wait, 2, wait->pid, INT2FIX(NUM2INT(wait->flags) | WNOHANG));
}

static VALUE selector_wait_for_process(VALUE argument) {
    const struct process_wait *wait = (const struct process_wait *)argument;
    VALUE status = selector_status_now(wait);
    if (!NIL_P(status)) return status;

    VALUE ready = plait_selector_wait(wait->selector, Qnil, wait->descriptor, EPOLL_SET_READABLE);
    return RTEST(ready) ? selector_status_now(wait) : Qfalse;
}

static VALUE selector_close_process(VALUE argument) {
    const struct process_wait *wait = (const struct process_wait *)argument;
    epoll_set_forget(&wait->selector->set, wait->descriptor);
    close(wait->descriptor);
    return Qnil;
}

/* process_wait(fiber, pid, flags): the current fiber is meant. Returns a Process::Status */
static VALUE selector_process_wait(VALUE self, VALUE fiber, VALUE pid, VALUE flags) {
    (void)fiber;
    struct process_wait wait = {.selector = selector_of(self), .pid = pid, .flags = flags};
    wait.descriptor = (int)syscall(SYS_pidfd_open, NUM2PIDT(pid), 0);
    if (wait.descriptor == -1) rb_sys_fail("pidfd_open");

    rb_update_max_fd(wait.descriptor);
    return rb_ensure(selector_wait_for_process, (VALUE)&wait, selector_close_process, (VALUE)&wait);
}

/* ---- turning ---- */

bool plait_selector_slice_left(const struct selector *selector) {
    return plait_now() < selector->until;
}

/* A sleep without the GVL. */
struct sleep {
    struct selector *selector;
    struct epoll_event *events;
    const struct timespec *timeout;
    int count; /* of events; -1 with error */
    int error;
};

static void *selector_sleep_deeply(void *argument) {
    struct sleep *sleep = argument;
    sleep->count = epoll_set_sleep(&sleep->selector->set, sleep->events, sleep->timeout);
    sleep->error = errno;
    return NULL;
}

static void selector_wake(void *set) {
    epoll_set_wake(set);
}

static struct timespec *selector_timespec_of(double seconds, struct timespec *time) {
    if (seconds < 0) return NULL;

    double whole = floor(seconds);
    time->tv_sec = (time_t)whole;
    time->tv_nsec = (long)ceil((seconds - whole) * 1e9);
    if (time->tv_nsec > 999999999) *time = (struct timespec){.tv_sec = time->tv_sec + 1};
    return time;
}

/*
 * `asleep` is set before the last look at what was pushed, with the GVL and no chance to be preempted in between: a thread that
 * pushes later finds it set, and signals. With an interrupt at hand rb_nogvl does not sleep (its handler may ready a fiber
 * by a method of the scheduler, which does not signal on the loop's own thread), and the wakeup ends a sleep that has
 * not started yet.
 */
static int selector_sleep_without_gvl(struct selector *selector, struct epoll_event *events, double seconds) {
    struct timespec time;
    struct sleep sleep = {.selector = selector, .events = events, .timeout = selector_timespec_of(seconds, &time),
                          .error = EINTR,
                          .count = -1};
    selector->asleep = 1;
    if (RARRAY_LEN(selector->pushed) == 0) {
        rb_nogvl(selector_sleep_deeply, &sleep, selector_wake, &selector->set, RB_NOGVL_INTR_FAIL | RB_NOGVL_UBF_ASYNC_SAFE);
    }
    selector->asleep = 0;
    rb_thread_check_ints();
    if (sleep.count == -1 && sleep.error != EINTR) rb_syserr_fail(sleep.error, "epoll_wait");
    return sleep.count;
}

static int selector_look(const struct selector *selector, struct epoll_event *events) {
    static const struct timespec at_once;
    int count = epoll_set_sleep(&selector->set, events, &at_once);
    if (count == -1 && errno != EINTR) rb_sys_fail("epoll_wait");
    return count;
}

/* Returns how many. What it runs may push again: that is for the next turn. */
static long selector_run_pushed(const struct selector *selector) {
    long count = RARRAY_LEN(selector->pushed);
    for (long left = count; left > 0 && RARRAY_LEN(selector->pushed) > 0; left--) {
        rb_funcall(rb_ary_shift(selector->pushed), id_transfer, 0);
    }
    return count;
}

/*
 * Returns how many. What time does not allow is for the next turn: when many have got their answers at once and each has
 * much to do with it, timers and others come in between.
 */
static int selector_run_ready(struct selector *selector) {
    int count = 0;
    struct interest *interest;
    while ((interest = selector->set.ready) && (count == 0 || plait_selector_slice_left(selector))) {
        epoll_set_remove(interest);
        rb_fiber_transfer(((struct fiber_wait *)interest)->fiber, 0, NULL);
        count++;
    }
    return count;
}

/*
 * With thousands of fibers nothing of the next one is in the processor's caches. What it returns through (its stack, the
 * contents of its Fiber, its IO) is fetched while the ones before it run, so that the misses overlap: an eighth of all
 * CPU time of an echo server with 10,000 connections. A prefetch of what isn't there does nothing.
 */
enum { LINE = 64, STACK_BELOW = 512, STACK_LINES = 40, FIBER_LINES = 16, IO_LINES = 4 };

static void selector_fetch(const void *from, int lines) {
    for (int line = 0; line < lines; line++) __builtin_prefetch((const char *)from + line * LINE);
}

static void selector_fetch_objects(const struct fiber_wait *wait) {
    selector_fetch((const void *)wait->fiber, 1);
    selector_fetch((const void *)wait->io, 1);
}

static void selector_fetch_contents(const struct fiber_wait *wait) {
    selector_fetch(RTYPEDDATA_DATA(wait->fiber), FIBER_LINES);
    if (RB_TYPE_P(wait->io, T_FILE)) selector_fetch(RFILE(wait->io)->fptr, IO_LINES);
}

/* Each step needs what the one before it has fetched. */
static void selector_fetch_ahead(const struct selector *selector, const struct epoll_event *events, int count, int distance) {
    if (distance >= count) return;

    const struct descriptor *descriptor = epoll_set_concerned(&selector->set, &events[distance]);
    if (!descriptor || !descriptor->first) return;

    const struct fiber_wait *wait = (const struct fiber_wait *)descriptor->first;
    switch (distance) {
    case 3: return selector_fetch((const char *)wait - STACK_BELOW, STACK_LINES);
    case 2: return selector_fetch_objects(wait);
    default: return selector_fetch_contents(wait);
    }
}

static void selector_fetch_descriptors(const struct selector *selector, const struct epoll_event *events, int count) {
    for (int at = 0; at < count; at++) selector_fetch(epoll_set_concerned(&selector->set, &events[at]), 1);
}

static void selector_run_events(struct selector *selector, const struct epoll_event *events, int count) {
    selector_fetch_descriptors(selector, events, count);
    for (; count > 0; events++, count--) {
        for (int distance = 3; distance > 0; distance--) selector_fetch_ahead(selector, events, count, distance);
        epoll_set_take(&selector->set, events);
        if (plait_selector_slice_left(selector)) selector_run_ready(selector);
    }
    epoll_set_end_batch(&selector->set);
}

void plait_selector_turn(struct selector *selector, double seconds) {
    struct epoll_event events[EPOLL_SET_BATCH];
    selector->until = plait_now() + selector->slice;
    epoll_set_serve(&selector->set);
    long busy = selector_run_pushed(selector) + selector_run_ready(selector);
    int count = selector_look(selector, events);
    if (count == 0 && busy == 0 && seconds != 0) {
        count = selector_sleep_without_gvl(selector, events, seconds);
        selector->until = plait_now() + selector->slice;
    }
    if (count > 0) selector_run_events(selector, events, count);
}

/* select(seconds): nil is without an end */
static VALUE selector_select(VALUE self, VALUE seconds) {
    plait_selector_turn(selector_of(self), NIL_P(seconds) ? -1 : NUM2DBL(seconds));
    return Qnil;
}

/* ---- other threads ---- */

static void selector_wake_up(const struct selector *selector) {
    if (selector->asleep) epoll_set_wake(&selector->set);
}

void plait_selector_push(struct selector *selector, VALUE object) {
    rb_ary_push(selector->pushed, object);
    selector_wake_up(selector);
}

/* push(object): to be transferred to */
static VALUE selector_push(VALUE self, VALUE object) {
    rb_ary_push(selector_of(self)->pushed, object);
    return Qnil;
}

/* wakeup: ends a sleep */
static VALUE selector_wakeup(VALUE self) {
    selector_wake_up(selector_of(self));
    return Qnil;
}

void plait_init_selector(VALUE plait) {
    id_transfer = rb_intern("transfer");
    id_wait = rb_intern("wait");
    id_closed = rb_intern("closed?");
    key_state = ID2SYM(rb_intern("state"));
    state_marking = ID2SYM(rb_intern("marking"));
    process_status = rb_path2class("Process::Status");
    rb_gc_register_mark_object(process_status);

    VALUE selector = rb_define_class_under(plait, "NativeSelector", rb_cObject);
    rb_define_alloc_func(selector, selector_allocate);
    rb_define_singleton_method(selector, "watch_reopenings", selector_watch_reopenings, 0);
    rb_define_method(selector, "initialize", selector_initialize, 2);
    rb_define_method(selector, "close", selector_close, 0);
    rb_define_method(selector, "select", selector_select, 1);
    rb_define_method(selector, "io_wait", selector_io_wait, 3);
    rb_define_method(selector, "process_wait", selector_process_wait, 3);
    rb_define_method(selector, "push", selector_push, 1);
    rb_define_method(selector, "wakeup", selector_wakeup, 0);
}

#endif
