/*
 * The members of a line. One reads for all, and one waits until more can be sent; the others sleep. A member that leaves, in
 * any way (an answer, a timeout, a kill, a cancellation), wakes another one that takes over.
 *
 * While the reader is at work, it sends the frames of the others too: by one write before it waits again. While the reader
 * waits, the others send for themselves.
 */
#include "rb_rpc_line_roles.h"

#include <math.h>
#include <ruby/fiber/scheduler.h>

#include "../plait_io.h"
#include "rb_rpc_line_end.h"
#include "rb_rpc_line_members.h"
#include "rb_rpc_line_receive.h"
#include "rb_rpc_line_send.h"
#include "rb_rpc_line_wait.h"

static ID id_complaint, id_reads_here, id_find_drainer;

/* ---- roles ---- */

static bool rpc_line_roles_satisfied(const struct line *line, const struct member *member) {
    switch (member->want) {
    case WANT_ANSWER: return plait_line_settled(member->future);
    case WANT_ROOM: return plait_line_unsent(line) <= line->room;
    case WANT_TURN: return !line->sending || !NIL_P(line->over);
    case WANT_SENT: return line->sent >= member->until;
    default: return false;
    }
}

/* A member that waits for the end of another's sending is woken by that one, which would not end a wait at the socket. */
static bool rpc_line_roles_may_read(const struct line *line, const struct member *member) {
    if (line->reader) return line->reader == member;
    return !line->served && member->want != WANT_TURN;
}

static void rpc_line_roles_lie_down(struct line *line, struct member *member) {
    plait_line_give_wakeup(line, member);
    plait_line_attach(line, member);
    plait_line_wake_first(line);
    plait_line_sleep(line, member);
    plait_line_detach(line, member);
}

/* Becomes the member that waits until more can be sent, if there is none and there is need to. */
static bool rpc_line_roles_drains(struct line *line, struct member *member) {
    if (!line->drainer && line->unsent && !line->served) line->drainer = member;
    if (line->drainer != member) return false;
    if (!line->unsent) line->drainer = NULL;
    return line->unsent;
}

static void rpc_line_roles_wait_as_reader(struct line *line, const struct member *member, int events) {
    double limit = member->limit < line->earliest ? member->limit : line->earliest;
    double soon = line->due ? plait_now() + LINE_PATIENCE : INFINITY;
    line->reading = true;
    line->armed = limit;
    plait_line_wake_first(line);
    plait_line_wait(line, events, soon < limit ? soon : limit);
    line->reading = false;
    plait_line_wake_held_up(line);
    if (!isinf(line->earliest)) {
        double now = plait_now();
        if (now >= line->earliest) plait_line_wake_late(line, now);
    }
}

static void rpc_line_roles_wait_as_drainer(struct line *line, const struct member *member) {
    line->draining = true;
    plait_line_wait(line, PLAIT_WRITABLE, member->limit);
    line->draining = false;
}

/* Does the member's part until something may have changed. */
static void rpc_line_roles_work(struct line *line, struct member *member) {
    if (rpc_line_roles_may_read(line, member)) line->reader = member;
    bool reads = line->reader == member;
    if (reads && line->woken) {
        line->woken = false;
        plait_line_let_others_run(member);
        return;
    }
    if (reads || line->drainer == member) plait_line_flush(line);
    if (!NIL_P(line->over) ||
        rpc_line_roles_satisfied(line, member)) return; /* no other member would wake it for what it has done itself */
    if (reads && plait_line_buffered(line)) {
        plait_line_let_others_run(member);
        return;
    }
    bool writes = rpc_line_roles_drains(line, member);
    if (reads) rpc_line_roles_wait_as_reader(line, member, PLAIT_READABLE | (writes ? PLAIT_WRITABLE : 0));
    else if (writes) rpc_line_roles_wait_as_drainer(line, member);
    else rpc_line_roles_lie_down(line, member);
}

NORETURN(static void rpc_line_roles_raise_over(const struct line *line));
static void rpc_line_roles_raise_over(const struct line *line) {
    rb_exc_raise(rb_funcall(line->connection, id_complaint, 1, line->over));
}

/*
 * Whether the reader goes on only when this member has left: it is on the same thread, below a signal handler, or in a fiber
 * whose loop this member keeps from running.
 */
static bool rpc_line_roles_reader_waits_for(const struct line *line, const struct member *member) {
    const struct member *reader = line->reader;
    if (!reader || reader == member || reader->thread != member->thread) return false;
    return NIL_P(member->scheduler) || reader->fiber == member->fiber;
}

/* ---- a stay ---- */

struct stay {
    struct line *line;
    struct member *member;
    void (*begin)(struct line *line, void *argument);
    void *argument;
    bool done; /* it has what it wanted, or its time is up */
};

static bool rpc_line_roles_late(const struct member *member) {
    return !isinf(member->limit) && plait_now() >= member->limit;
}

static VALUE rpc_line_roles_run_stay(VALUE argument) {
    struct stay *stay = (struct stay *)argument;
    struct line *line = stay->line;
    struct member *member = stay->member;
    if (member->want != WANT_LOOK && rpc_line_roles_reader_waits_for(line, member)) {
        rb_exc_raise(rb_funcall(line->connection, id_reads_here, 0));
    }
    if (stay->begin) stay->begin(line, stay->argument);
    for (;;) {
        if (rpc_line_roles_satisfied(line, member)) break;
        if (NIL_P(line->over) && rpc_line_roles_may_read(line, member)) {
            line->reader = member;
            plait_line_take_in(line);
            if (rpc_line_roles_satisfied(line, member)) break;
        }
        if (member->want == WANT_LOOK) return Qtrue;
        if (!NIL_P(line->over)) {
            if (member->want == WANT_SENT) return Qfalse;
            rpc_line_roles_raise_over(line);
        }
        if (rpc_line_roles_late(member)) return Qfalse;
        rpc_line_roles_work(line, member);
    }
    return Qtrue;
}

/* Whether the reader sends what is left. It waits for the socket to be writable only where it knows of that. */
static bool rpc_line_roles_reader_drains(const struct line *line) {
    return line->reader && (!line->reading || plait_line_rouse_reader(line));
}

/* Promised frames have to be sent, and another member has to read for the waiting ones. */
static void rpc_line_roles_hand_over(struct line *line) {
    plait_line_wake_next_due(line);
    if (line->served) return;
    if (!line->reader || (line->reading && !line->due && !line->unsent)) plait_line_flush(line);
    if (!NIL_P(line->over) || (line->reader && (line->drainer || !line->unsent))) return;
    if (line->sleeping) plait_line_rouse(line, line->sleeping);
    else if (line->unsent && !line->drainer && !rpc_line_roles_reader_drains(line)) {
        rb_funcall(line->connection, id_find_drainer, 0);
    }
}

static VALUE rpc_line_roles_leave(VALUE argument) {
    const struct stay *stay = (const struct stay *)argument;
    struct line *line = stay->line;
    struct member *member = stay->member;
    plait_line_detach(line, member);
    if (line->drainer == member) {
        line->drainer = NULL;
        line->draining = false;
    }
    if (line->stirring == member) line->stirring = NULL;
    if (line->reader == member) {
        line->reader = NULL;
        line->reading = line->taking = false;
    }
    plait_line_take_wakeup(line, member);
    if (member->sole) plait_line_drop(line, member->future, rpc_line_roles_late(member) ? "late" : "cancelled");
    if (NIL_P(line->over)) rpc_line_roles_hand_over(line);
    else plait_line_wake_next_due(line);
    plait_line_release(line);
    return Qnil;
}

bool plait_line_stay(VALUE self, struct member *member, void (*begin)(struct line *line, void *argument), void *argument) {
    struct stay stay = {.line = plait_line_of(self), .member = member, .begin = begin, .argument = argument};
    VALUE done = rb_ensure(rpc_line_roles_run_stay, (VALUE)&stay, rpc_line_roles_leave, (VALUE)&stay);
    RB_GC_GUARD(self);
    return RTEST(done);
}

void plait_init_rpc_line_roles(void) {
    id_complaint = rb_intern("complaint");
    id_reads_here = rb_intern("reads_here");
    id_find_drainer = rb_intern("find_drainer");
}
