/*
 * How a line waits. On a fiber of a Plait::Scheduler: by its selector, without a call into Ruby, the deadline in a list that is
 * swept (rb_deadlines.h). On a fiber of another scheduler: by that one's io_wait. On a thread: by poll(2), without the GVL.
 */
#include "rb_rpc_line_wait.h"

#include <math.h>
#include <ruby/fiber/scheduler.h>
#include <ruby/io.h>
#include <sys/socket.h>

#include "../plait_io.h"

/* Seconds between two looks at what another member has read or sent, in a wait that none of them can end. */
static const double LOOK = 0.1;

/* ---- for the socket ---- */

static void rpc_line_wait_expire(struct deadline *deadline) {
    const struct line_wait *wait = (const struct line_wait *)deadline;
    plait_native_end_wait(wait->native, wait->descriptor, wait->fiber);
}

struct native_wait {
    struct line_wait *wait;
    VALUE scheduler;
    VALUE io;
    int events;
};

static VALUE rpc_line_wait_run(VALUE argument) {
    const struct native_wait *call = (const struct native_wait *)argument;
    struct line_wait *wait = call->wait;
    struct deadline *deadline = isinf(wait->deadline.at) ? NULL : &wait->deadline;
    return plait_native_wait(wait->native, call->scheduler, call->io, call->events, deadline);
}

static VALUE rpc_line_wait_end(VALUE argument) {
    struct line_wait *wait = ((struct native_wait *)argument)->wait;
    plait_deadline_remove(&wait->deadline);
    wait->fiber = Qnil;
    return Qnil;
}

static VALUE rpc_line_wait_seconds_until(double limit) {
    if (isinf(limit)) return Qnil;

    double left = limit - plait_now();
    return DBL2NUM(left > 0 ? left : 0);
}

static VALUE rpc_line_wait_on_scheduler(struct line *line, VALUE scheduler, int events, double limit) {
    struct native *native = plait_native_of(scheduler);
    struct line_wait *wait = &line->waits[events & PLAIT_READABLE ? LINE_READER : LINE_DRAINER];
    if (!native || !plait_native_ends_waits(native) || !NIL_P(wait->fiber)) {
        bool shared = line->unsent && events != (PLAIT_READABLE | PLAIT_WRITABLE);
        if (shared) limit = fmin(limit, plait_now() + LOOK);
        return rb_fiber_scheduler_io_wait(scheduler, line->io, INT2FIX(events), rpc_line_wait_seconds_until(limit));
    }
    wait->deadline.at = limit;
    wait->deadline.expire = rpc_line_wait_expire;
    wait->native = native;
    wait->fiber = rb_fiber_current();
    wait->descriptor = plait_descriptor_of(line->io);
    struct native_wait call = {.wait = wait, .scheduler = scheduler, .io = line->io, .events = events};
    return rb_ensure(rpc_line_wait_run, (VALUE)&call, rpc_line_wait_end, (VALUE)&call);
}

void plait_line_wait(struct line *line, int events, double limit) {
    VALUE scheduler = rb_fiber_scheduler_current();
    int came;
    if (NIL_P(scheduler)) {
        came = plait_poll(plait_descriptor_of(line->io), events, limit);
    } else {
        VALUE ready = rpc_line_wait_on_scheduler(line, scheduler, events, limit);
        came = RTEST(ready) ? NUM2INT(ready) : 0;
    }
    if (came & PLAIT_READABLE) line->drained = false;
}

static void rpc_line_wait_end_wait_of(const struct line_wait *wait, VALUE thread) {
    bool here = !NIL_P(wait->fiber) && plait_native_thread(wait->native) == thread;
    if (here) plait_native_end_wait(wait->native, wait->descriptor, wait->fiber);
}

void plait_line_end_waits(const struct line *line) {
    for (int i = 0; line->waits && i < LINE_WAITS; i++) rpc_line_wait_end_wait_of(&line->waits[i], rb_thread_current());
}

/* On a scheduler that isn't ours it goes on with the next bytes, or when its time is up. */
static bool rpc_line_wait_rouse(const struct line *line, const struct member *member, const struct line_wait *wait) {
    if (NIL_P(member->scheduler)) rb_thread_wakeup_alive(member->thread);
    else if (wait->fiber != member->fiber) return false;
    else if (plait_native_thread(wait->native) == rb_thread_current()) plait_line_end_waits(line);
    else plait_native_push(wait->native, line->self);
    return true;
}

bool plait_line_rouse_reader(const struct line *line) {
    return rpc_line_wait_rouse(line, line->reader, &line->waits[LINE_READER]);
}

bool plait_line_rouse_drainer(const struct line *line) {
    return rpc_line_wait_rouse(line, line->drainer, &line->waits[LINE_DRAINER]);
}

void plait_line_shut(const struct line *line) {
    if (!line->released) shutdown(plait_descriptor_of(line->io), SHUT_RDWR);
}

/* ---- for one another ---- */

/* The reader looks at the time of the sleeping members: a timer for each costs more than the rest of a call. */
static bool rpc_line_wait_reader_watches(const struct line *line, const struct member *member) {
    return line->reader && line->reader != member && (!line->reading || member->limit >= line->armed);
}

void plait_line_give_wakeup(struct line *line, struct member *member) {
    if (!NIL_P(member->scheduler)) return;

    if (!member->wakeup) {
        struct wakeup *wakeup = line->wakeups;
        if (wakeup) line->wakeups = wakeup->next;
        else wakeup = plait_wakeup_new();
        member->wakeup = wakeup;
    }
    plait_wakeup_clear(member->wakeup);
}

/* A thread may signal a little later, without the GVL: so the wakeup is kept, for the next member that needs one. */
void plait_line_take_wakeup(struct line *line, struct member *member) {
    if (!member->wakeup) return;

    member->wakeup->next = line->wakeups;
    line->wakeups = member->wakeup;
    member->wakeup = NULL;
}

/* Of a fiber nothing runs between the look at `woken` and the sleep; a wakeup remembers. */
void plait_line_sleep(struct line *line, struct member *member) {
    if (NIL_P(member->scheduler)) {
        plait_wakeup_await(member->wakeup, member->limit);
        return;
    }
    if (member->woken) return;
    VALUE seconds = rpc_line_wait_reader_watches(line, member) ? Qnil : rpc_line_wait_seconds_until(member->limit);
    rb_fiber_scheduler_block(member->scheduler, line->connection, seconds);
}

struct undisturbed {
    VALUE (*run)(VALUE);
    VALUE argument;
};

static VALUE rpc_line_wait_run_undisturbed(RB_BLOCK_CALL_FUNC_ARGLIST(unused, argument)) {
    (void)unused, (void)argc, (void)argv, (void)blockarg;
    const struct undisturbed *call = (const struct undisturbed *)argument;
    return call->run(call->argument);
}

/* Ruby copies no frozen Hash that compares by identity. */
static VALUE rpc_line_wait_never(VALUE class) {
    VALUE never = rb_funcall(rb_hash_new(), rb_intern("compare_by_identity"), 0);
    rb_hash_aset(never, class, ID2SYM(rb_intern("never")));
    rb_gc_register_mark_object(rb_obj_freeze(never));
    return never;
}

VALUE plait_undisturbed_by(VALUE class, VALUE (*run)(VALUE), VALUE argument) {
    static VALUE never_any, never_error;
    VALUE *kept = class == rb_cObject ? &never_any : &never_error;
    if (!*kept) *kept = rpc_line_wait_never(class);
    VALUE never = *kept;
    struct undisturbed call = {.run = run, .argument = argument};
    return rb_block_call(rb_cThread, rb_intern("handle_interrupt"), 1, &never, rpc_line_wait_run_undisturbed, (VALUE)&call);
}

struct word {
    const struct line *line;
    const struct member *member;
};

static VALUE rpc_line_wait_unblock(VALUE argument) {
    const struct word *word = (const struct word *)argument;
    return rb_fiber_scheduler_unblock(word->member->scheduler, word->line->connection, word->member->fiber);
}

/* A fiber of another kind of scheduler is woken by a method of Ruby. */
void plait_line_wake(const struct line *line, struct member *member) {
    member->woken = true;
    if (NIL_P(member->scheduler)) {
        plait_wakeup_signal(member->wakeup);
    } else if (!plait_native_unblock(member->scheduler, line->connection, member->fiber)) {
        struct word word = {.line = line, .member = member};
        plait_undisturbed_by(rb_cObject, rpc_line_wait_unblock, (VALUE)&word);
    }
}

void plait_line_let_others_run(const struct member *member) {
    if (NIL_P(member->scheduler)) rb_thread_schedule();
    else rb_fiber_scheduler_kernel_sleep(member->scheduler, INT2FIX(0));
}
