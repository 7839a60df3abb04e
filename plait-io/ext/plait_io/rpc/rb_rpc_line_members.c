/* The threads and fibers that stay on a line: the lists in which they stand, how they are woken, and whose answer is there. */
#include "rb_rpc_line_members.h"

#include <math.h>
#include <ruby/fiber/scheduler.h>

#include "../messagepack_rpc/rb_messagepack_rpc.h"
#include "../messagepack_rpc/rb_messagepack_rpc_small.h"
#include "../plait_io.h"
#include "rb_rpc_line_wait.h"

static ID id_state, id_followed, id_due, id_outcome;

/* ---- futures ---- */

bool plait_line_settled(VALUE future) {
    return !NIL_P(rb_attr_get(future, id_state));
}

/*
 * Threads that are woken together fight for the GVL, each by several system calls. So one is woken, and wakes the next one when
 * it leaves, as the reader does. Their frames leave together meanwhile, see plait_line_flush_soon.
 */
void plait_line_wake_next_due(struct line *line) {
    struct member *member = line->due;
    if (!member) return;

    plait_line_detach(line, member);
    line->stirring = member;
    line->stirred = plait_now();
    plait_line_wake(line, member);
}

/* A woken member does not leave: it has to run a finalizer that takes long, say. */
void plait_line_wake_held_up(struct line *line) {
    if (!line->due || plait_now() - line->stirred < LINE_PATIENCE) return;

    while (line->due) plait_line_wake_next_due(line);
}

void plait_line_wake_first(struct line *line) {
    if (!line->stirring) plait_line_wake_next_due(line);
}

static void rpc_line_members_wake_in_turn(struct line *line, struct member *member) {
    member->woken = true;
    member->next = NULL;
    member->back = line->due_end;
    *line->due_end = member;
    line->due_end = &member->next;
    if (!line->taking) plait_line_wake_first(line);
}

/* A fiber goes on when its loop lets it; the main thread may have a signal's handler to run first, which may take any time. */
static bool rpc_line_members_leaves_at_once(const struct member *member) {
    return NIL_P(member->scheduler) && member->thread != rb_thread_main();
}

/* The members that sleep for it go on. */
static void rpc_line_members_wake_for(struct line *line, VALUE future) {
    st_data_t first;
    while (line->awaited && st_lookup(line->awaited, (st_data_t)future, &first)) {
        struct member *member = (struct member *)first;
        plait_line_detach(line, member);
        line->woken = true;
        if (rpc_line_members_leaves_at_once(member)) rpc_line_members_wake_in_turn(line, member);
        else plait_line_wake(line, member);
    }
}

static bool rpc_line_members_followed(VALUE future) {
    return RTEST(rb_attr_get(future, id_followed));
}

struct news {
    struct line *line;
    VALUE future;
};

static VALUE rpc_line_members_tell(VALUE argument) {
    const struct news *news = (const struct news *)argument;
    if (news->line->sleeping) rpc_line_members_wake_for(news->line, news->future);
    if (rpc_line_members_followed(news->future)) rb_funcall(news->line->connection, id_due, 1, news->future);
    return Qnil;
}

/* Whether methods of Ruby are called for it: an interrupt of the current thread must not keep the next ones from their answer. */
static bool rpc_line_members_calls_ruby(const struct line *line, VALUE future) {
    st_data_t first = 0;
    if (rpc_line_members_followed(future)) return true;
    if (!line->sleeping || !line->awaited || !st_lookup(line->awaited, (st_data_t)future, &first)) return false;

    for (const struct member *member = (const struct member *)first; member; member = member->peer) {
        if (!NIL_P(member->scheduler) && !plait_native_of(member->scheduler)) return true;
    }
    return false;
}

static void rpc_line_members_tell_all(struct line *line, VALUE future) {
    struct news news = {.line = line, .future = future};
    if (rpc_line_members_calls_ruby(line, future)) plait_undisturbed_by(rb_cObject, rpc_line_members_tell, (VALUE)&news);
    else rpc_line_members_tell((VALUE)&news);
}

void plait_line_tell_followers(const struct line *line, VALUE future) {
    if (rpc_line_members_followed(future)) rb_funcall(line->connection, id_due, 1, future);
}

void plait_line_settle(struct line *line, VALUE future, VALUE state, VALUE outcome) {
    rb_ivar_set(future, id_outcome, outcome);
    rb_ivar_set(future, id_state, state);
    if (line->draining && line->drainer->future == future) plait_line_rouse_drainer(line);
    rpc_line_members_tell_all(line, future);
}

bool plait_line_follow(VALUE future) {
    if (plait_line_settled(future)) return false;

    rb_ivar_set(future, id_followed, Qtrue);
    return true;
}

VALUE plait_line_plain_result(const struct line *line) {
    if (!line->plain) return Qundef;

    VALUE small = plait_messagepack_rpc_small_result(line->parser);
    return small == Qundef ? plait_messagepack_rpc_large_result(line->parser) : small;
}

/* ---- sleeping members ---- */

struct member plait_line_member(enum want want, double limit) {
    VALUE scheduler = rb_fiber_scheduler_current();
    return (struct member){.want = want, .limit = limit, .future = Qnil, .scheduler = scheduler,
                           .thread = rb_thread_current(), .fiber = NIL_P(scheduler) ? Qnil : rb_fiber_current()};
}

/* A thread looks at its own time. */
static void rpc_line_members_watch(struct line *line, const struct member *member) {
    if (!NIL_P(member->scheduler) && member->limit < line->earliest) line->earliest = member->limit;
}

void plait_line_attach(struct line *line, struct member *member) {
    member->woken = false;
    member->next = line->sleeping;
    member->back = &line->sleeping;
    if (member->next) member->next->back = &member->next;
    line->sleeping = member;
    rpc_line_members_watch(line, member);
    if (NIL_P(member->future)) return;

    st_data_t first = 0;
    if (!line->awaited) line->awaited = st_init_numtable();
    st_lookup(line->awaited, (st_data_t)member->future, &first);
    member->peer = (struct member *)first;
    st_insert(line->awaited, (st_data_t)member->future, (st_data_t)member);
}

static void rpc_line_members_detach_from_future(struct line *line, struct member *member) {
    st_data_t future = (st_data_t)member->future, first;
    if (!st_lookup(line->awaited, future, &first)) return;

    if ((struct member *)first == member) {
        if (member->peer) st_insert(line->awaited, future, (st_data_t)member->peer);
        else st_delete(line->awaited, &future, NULL);
        return;
    }
    struct member *before = (struct member *)first;
    while (before && before->peer != member) before = before->peer;
    if (before) before->peer = member->peer;
}

void plait_line_detach(struct line *line, struct member *member) {
    if (!member->back) return;

    *member->back = member->next;
    if (member->next) member->next->back = member->back;
    else if (line->due_end == &member->next) line->due_end = member->back;
    member->back = NULL;
    if (!NIL_P(member->future)) rpc_line_members_detach_from_future(line, member);
}

void plait_line_rouse(struct line *line, struct member *member) {
    plait_line_detach(line, member);
    plait_line_wake(line, member);
}

void plait_line_wake_all(struct line *line) {
    while (line->sleeping) plait_line_rouse(line, line->sleeping);
}

/* Wakes members that have something to send. After each of them the list may be another one. */
void plait_line_wake_senders(struct line *line) {
    struct member *member = line->sleeping;
    while (member) {
        bool waits = member->want == WANT_ROOM || member->want == WANT_SENT || member->want == WANT_TURN;
        if (waits) plait_line_rouse(line, member);
        member = waits ? line->sleeping : member->next;
    }
}

/* It waits for an event of the socket, which does not come. */
void plait_line_rouse_satisfied_reader(const struct line *line, uint64_t unsent) {
    if (!line->reading) return;

    const struct member *reader = line->reader;
    bool room = reader->want == WANT_ROOM && unsent <= line->room;
    if (room || (reader->want == WANT_SENT && line->sent >= reader->until)) plait_line_rouse_reader(line);
}

/* Wakes members whose time is up. */
void plait_line_wake_late(struct line *line, double now) {
    struct member *member = line->sleeping;
    line->earliest = INFINITY;
    while (member) {
        if (member->limit <= now) {
            plait_line_rouse(line, member);
            line->earliest = INFINITY;
            member = line->sleeping;
            continue;
        }
        rpc_line_members_watch(line, member);
        member = member->next;
    }
}

static void rpc_line_members_mark_member(const struct member *member) {
    if (!member) return;

    rb_gc_mark(member->fiber);
    rb_gc_mark(member->future);
}

/* So that no fiber goes while one of its members is in a list: it lies on its stack. In a fork the stacks of others are gone. */
void plait_line_mark_members(const struct line *line) {
    if (line->generation != plait_generation()) return;

    rpc_line_members_mark_member(line->reader);
    rpc_line_members_mark_member(line->drainer);
    for (const struct member *member = line->sleeping; member; member = member->next) rpc_line_members_mark_member(member);
    for (const struct member *member = line->due; member; member = member->next) rpc_line_members_mark_member(member);
}

void plait_init_rpc_line_members(void) {
    id_state = rb_intern("@state");
    id_followed = rb_intern("@followed");
    id_due = rb_intern("due");
    id_outcome = rb_intern("@outcome");
}

