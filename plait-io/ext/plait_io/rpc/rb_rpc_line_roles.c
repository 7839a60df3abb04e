/*
 * Those who stay on a line. One reads for all, and one waits until more can be sent; the others sleep. Whoever leaves, however
 * he does (an answer, a timeout, a kill, a cancellation), wakes one who takes over.
 *
 * While the reader is at work, what others have to send is left to him: it goes out by one write before he waits again. While
 * he waits, they send for themselves.
 */
#include "rb_rpc_line.h"

#include <math.h>
#include <ruby/fiber/scheduler.h>

#include "../plait_io.h"

/* Seconds for which one who was woken may keep the others waiting. */
static const double PATIENCE = 0.001;

/* Seconds in which who has his answer has to call again to be taken for one who does so at once. */
static const double AT_ONCE = 0.0002;

/* How often he has to have done so; how many times are remembered; and for how many one counts that he did not. */
enum { SURE = 8, SUREST = 16, DOUBT = 4 };

/* Those who sleep besides; a few are quicker when none of them waits for what the others say. */
enum { CROWD = 5 };

/* Of those who are called before their turn: for how many one counts who was called in vain; how many then are not. */
enum { WASTE = 3, EAGEREST = 16, PAUSE = 512 };

static const struct bells nobody;

static ID id_state, id_followed, id_due, id_outcome, id_id, id_frame_end, id_complaint, id_reads_here, id_find_drainer, id_close, id_ended;
static VALUE sym_lost, sym_unsent, sym_late, sym_cancelled;

/* ---- futures ---- */

static bool settled(VALUE future) {
    return !NIL_P(rb_attr_get(future, id_state));
}

static void detach(struct line *line, struct member *member);

/*
 * Threads that are woken together fight for the GVL, each by several system calls. So one is woken, and wakes the next one when
 * he leaves, as the reader does. What they say meanwhile leaves together, see plait_line_flush_soon. The first one is woken
 * when who has his answer is about to give the GVL away: before that he would only wait for it.
 *
 * Where those who leave call again at once, again and again, they are in step: then the next one is woken only when the one
 * before has said that and sleeps again, in the moment in which he gives the GVL away. It costs half of the switches, and all
 * that they say leaves together. The reader sees to it that nobody waits for long for one who does not come back.
 */
static struct member *take_next_due(struct line *line) {
    struct member *member = line->due;
    if (!member) return NULL;

    detach(line, member);
    line->stirring = member;
    line->stirred = plait_now();
    line->expected = false;
    return member;
}

static void wake_next_due(struct line *line) {
    struct member *member = take_next_due(line);
    if (member) plait_line_wake(line, member);
}

bool plait_line_in_step(const struct line *line) {
    return line->habit >= SURE && line->crowd >= CROWD && !line->served;
}

/* He is called before, unless that was not worth it lately: after so many times it is tried again. */
static struct bell *one_after_next(struct line *line) {
    if (!line->due || !plait_line_in_step(line)) return NULL;
    if (line->eager >= 0) return line->due->bell;

    line->eager++;
    return NULL;
}

static void note_worth(struct line *line, struct bell *bell) {
    if (bell->worth == 0) return;

    if (bell->worth > 0 && line->eager < EAGEREST) line->eager += 1;
    if (bell->worth < 0) line->eager = line->eager >= WASTE ? line->eager - WASTE : -PAUSE;
    bell->worth = 0;
}

/* Who is to be woken by who gives the GVL away. */
static struct bells next_in_turn(struct line *line) {
    struct member *next = line->stirring ? NULL : take_next_due(line);
    if (!next) return nobody;

    return (struct bells){.next = next->bell, .after = one_after_next(line)};
}

/* One who was woken does not leave: a finalizer that he has to run takes long, say. Or one who left does not come back. */
static void wake_those_held_up(struct line *line) {
    bool waits = line->due || line->stirring || line->expected;
    if (!waits || plait_now() - line->stirred < PATIENCE) return;

    line->habit = 0;
    line->expected = false;
    while (line->due) wake_next_due(line);
}

/* What is said now leaves with what others say who are on their way. */
static bool others_speak(const struct line *line) {
    return plait_line_in_step(line) && (line->due || line->stirring || line->expected);
}

static void note_return(struct line *line, const struct member *member) {
    if (line->gone == member->thread && plait_now() - line->went < AT_ONCE) {
        if (line->habit < SUREST) line->habit++;
    } else {
        line->habit = line->habit > DOUBT ? line->habit - DOUBT : 0;
    }
    line->gone = Qnil;
    line->expected = false;
}

bool plait_line_return(struct line *line, const struct member *member) {
    if (!NIL_P(member->scheduler) || line->served) return false;

    note_return(line, member);
    return plait_line_in_step(line) && line->due && !line->stirring;
}

/* Returns whether he will call again at once, and see to the others then; if he doesn't, the reader will. */
static bool goes_for_a_moment(struct line *line, const struct member *member) {
    if (!NIL_P(member->scheduler) || member->want != WANT_ANSWER || !settled(member->future)) return false;

    line->gone = member->thread;
    line->went = plait_now();
    if (!plait_line_in_step(line) || !line->watched || !line->reading || line->unsent) return false;

    line->stirred = line->went;
    return line->expected = true;
}

void plait_line_wake_first(struct line *line) {
    if (!line->stirring) wake_next_due(line);
}

static void wake_in_turn(struct line *line, struct member *member) {
    member->woken = true;
    member->next = NULL;
    member->back = line->due_end;
    *line->due_end = member;
    line->due_end = &member->next;
    line->crowd++;
    if (!line->taking) plait_line_wake_first(line);
}

/* A fiber goes on when its loop lets it; the main thread may have a signal's handler to run first, which may take any time. */
static bool leaves_at_once(const struct member *member) {
    return NIL_P(member->scheduler) && member->thread != rb_thread_main();
}

/* Those who sleep for it go on. */
static void wake_for(struct line *line, VALUE future) {
    st_data_t first;
    while (line->awaited && st_lookup(line->awaited, (st_data_t)future, &first)) {
        struct member *member = (struct member *)first;
        detach(line, member);
        bool in_turn = leaves_at_once(member);
        if (!in_turn || !plait_line_in_step(line)) line->woken = true;
        if (in_turn) wake_in_turn(line, member);
        else plait_line_wake(line, member);
    }
}

static void tell_followers(const struct line *line, VALUE future) {
    if (RTEST(rb_attr_get(future, id_followed))) rb_funcall(line->connection, id_due, 1, future);
}

void plait_line_settle(struct line *line, VALUE future, VALUE state, VALUE outcome) {
    rb_ivar_set(future, id_outcome, outcome);
    rb_ivar_set(future, id_state, state);
    if (line->sleeping) wake_for(line, future);
    tell_followers(line, future);
}

bool plait_line_follow(VALUE future) {
    if (settled(future)) return false;

    rb_ivar_set(future, id_followed, Qtrue);
    return true;
}

bool plait_line_drop(struct line *line, VALUE future, const char *state) {
    if (settled(future)) return false;
    plait_volley_unlink(line, future);
    if (!NIL_P(line->calls)) rb_hash_delete(line->calls, rb_attr_get(future, id_id));
    plait_line_settle(line, future, ID2SYM(rb_intern(state)), Qnil);
    if (line->reading && line->reader->future == future) plait_line_rouse_reader(line);
    return true;
}

/* ---- those who sleep ---- */

struct member plait_line_member(enum want want, double limit) {
    VALUE scheduler = rb_fiber_scheduler_current();
    return (struct member){.want = want, .limit = limit, .future = Qnil, .scheduler = scheduler,
                           .thread = rb_thread_current(), .fiber = NIL_P(scheduler) ? Qnil : rb_fiber_current()};
}

/* A thread looks at its own time. */
static void watch(struct line *line, const struct member *member) {
    if (!NIL_P(member->scheduler) && member->limit < line->earliest) line->earliest = member->limit;
}

static void attach(struct line *line, struct member *member) {
    member->woken = false;
    member->next = line->sleeping;
    member->back = &line->sleeping;
    if (member->next) member->next->back = &member->next;
    line->sleeping = member;
    line->crowd++;
    watch(line, member);
    if (NIL_P(member->future)) return;

    st_data_t first = 0;
    if (!line->awaited) line->awaited = st_init_numtable();
    st_lookup(line->awaited, (st_data_t)member->future, &first);
    member->peer = (struct member *)first;
    st_insert(line->awaited, (st_data_t)member->future, (st_data_t)member);
}

static void detach_from_future(struct line *line, struct member *member) {
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

static void detach(struct line *line, struct member *member) {
    if (!member->back) return;

    *member->back = member->next;
    if (member->next) member->next->back = member->back;
    else if (line->due_end == &member->next) line->due_end = member->back;
    member->back = NULL;
    line->crowd--;
    if (!NIL_P(member->future)) detach_from_future(line, member);
}

static void rouse(struct line *line, struct member *member) {
    detach(line, member);
    plait_line_wake(line, member);
}

void plait_line_wake_all(struct line *line) {
    while (line->sleeping) rouse(line, line->sleeping);
}

/* Those who have something to say. After each of them the list may be another one. */
void plait_line_wake_senders(struct line *line) {
    struct member *member = line->sleeping;
    while (member) {
        bool waits = member->want == WANT_ROOM || member->want == WANT_SENT || member->want == WANT_TURN;
        if (waits) rouse(line, member);
        member = waits ? line->sleeping : member->next;
    }
}

/* Those whose time is up. */
static void wake_late(struct line *line, double now) {
    struct member *member = line->sleeping;
    line->earliest = INFINITY;
    while (member) {
        if (member->limit <= now) {
            rouse(line, member);
            line->earliest = INFINITY;
            member = line->sleeping;
            continue;
        }
        watch(line, member);
        member = member->next;
    }
}

/* ---- roles ---- */

static bool satisfied(const struct line *line, const struct member *member) {
    switch (member->want) {
    case WANT_ANSWER: return settled(member->future);
    case WANT_ROOM: return plait_line_unsent(line) <= line->room;
    case WANT_TURN: return !line->sending || !NIL_P(line->over);
    case WANT_SENT: return line->sent >= member->until;
    default: return false;
    }
}

/* Who waits for another to be done with sending is called by him, which would not end a wait at the socket. */
static bool may_read(const struct line *line, const struct member *member) {
    if (line->reader) return line->reader == member;
    return !line->served && member->want != WANT_TURN;
}

static void lie_down(struct line *line, struct member *member) {
    plait_line_give_bell(line, member);
    attach(line, member);
    if (!NIL_P(member->scheduler)) plait_line_wake_first(line);
    plait_line_sleep(line, member, next_in_turn(line));
    if (member->bell) note_worth(line, member->bell);
    detach(line, member);
}

/* Becomes who waits until more can be sent, if nobody is and there is need to. */
static bool drains(struct line *line, struct member *member) {
    if (!line->drainer && line->unsent && !line->served) line->drainer = member;
    if (line->drainer != member) return false;
    if (!line->unsent) line->drainer = NULL;
    return line->unsent;
}

static void wait_as_reader(struct line *line, const struct member *member, int events) {
    double limit = member->limit < line->earliest ? member->limit : line->earliest;
    line->watched = line->due || others_speak(line);
    double soon = line->watched ? plait_now() + PATIENCE : INFINITY;
    line->reading = true;
    line->armed = limit;
    plait_line_wait(line, events, soon < limit ? soon : limit, NIL_P(member->scheduler) ? next_in_turn(line) : nobody);
    line->reading = line->watched = false;
    wake_those_held_up(line);
    if (!isinf(line->earliest)) {
        double now = plait_now();
        if (now >= line->earliest) wake_late(line, now);
    }
}

/* Does what is his to do until something may have changed. */
static void work(struct line *line, struct member *member) {
    if (may_read(line, member)) line->reader = member;
    bool reads = line->reader == member;
    if (reads && !NIL_P(member->scheduler)) plait_line_wake_first(line);
    if (reads && line->woken) {
        line->woken = false;
        plait_line_let_others_run(member);
        return;
    }
    if ((reads && !others_speak(line)) || line->drainer == member) plait_line_flush(line);
    if (!NIL_P(line->over) || satisfied(line, member)) return; /* nobody would wake it for what it has done itself */
    bool writes = drains(line, member);
    if (reads) wait_as_reader(line, member, PLAIT_READABLE | (writes ? PLAIT_WRITABLE : 0));
    else if (writes) plait_line_wait(line, PLAIT_WRITABLE, member->limit, nobody);
    else lie_down(line, member);
}

NORETURN(static void raise_over(const struct line *line));
static void raise_over(const struct line *line) {
    rb_exc_raise(rb_funcall(line->connection, id_complaint, 1, line->over));
}

/*
 * Whether the reader goes on only when this member has left: it is on the same thread, below a signal handler, or in a fiber
 * whose loop this member keeps from running.
 */
static bool reader_waits_for(const struct line *line, const struct member *member) {
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

static bool late(const struct member *member) {
    return !isinf(member->limit) && plait_now() >= member->limit;
}

static VALUE run_stay(VALUE argument) {
    struct stay *stay = (struct stay *)argument;
    struct line *line = stay->line;
    struct member *member = stay->member;
    if (member->want != WANT_LOOK && reader_waits_for(line, member)) {
        rb_exc_raise(rb_funcall(line->connection, id_reads_here, 0));
    }
    if (stay->begin) stay->begin(line, stay->argument);
    for (;;) {
        if (satisfied(line, member)) break;
        if (NIL_P(line->over) && may_read(line, member)) {
            line->reader = member;
            plait_line_take_in(line);
            if (satisfied(line, member)) break;
        }
        if (member->want == WANT_LOOK) return Qtrue;
        if (!NIL_P(line->over)) raise_over(line);
        if (late(member)) return Qfalse;
        work(line, member);
    }
    return Qtrue;
}

static VALUE close_io(VALUE io) {
    return rb_funcall(io, id_close, 0);
}

static VALUE ignore(VALUE unused, VALUE error) {
    (void)unused, (void)error;
    return Qnil;
}

static VALUE tell_end(VALUE argument) {
    const struct line *line = (const struct line *)argument;
    return rb_funcall(line->connection, id_ended, 1, line->over);
}

static VALUE close_quietly(VALUE argument) {
    return rb_rescue2(close_io, ((const struct line *)argument)->io, ignore, Qnil, rb_eStandardError, (VALUE)0);
}

/* The last one who is at the socket closes it; that of a server its reactor has to let go first. */
void plait_line_release(struct line *line) {
    if (NIL_P(line->over) || line->released) return;
    if (line->reader || line->drainer || line->sending || line->receiving) return;

    line->released = true;
    rb_ensure(tell_end, (VALUE)line, close_quietly, (VALUE)line);
}

/* What was promised to be sent has to be, and somebody has to read for those who wait. */
static void hand_over(struct line *line, const struct member *member) {
    if (goes_for_a_moment(line, member)) return;

    wake_next_due(line);
    if (line->served) return;
    if (!line->reader || (line->reading && !line->due && !line->unsent)) plait_line_flush(line);
    if (!NIL_P(line->over) || (line->reader && (line->drainer || !line->unsent))) return;
    if (line->sleeping) rouse(line, line->sleeping);
    else if (line->unsent && !line->drainer && !line->reader) rb_funcall(line->connection, id_find_drainer, 0);
}

static VALUE leave(VALUE argument) {
    const struct stay *stay = (const struct stay *)argument;
    struct line *line = stay->line;
    struct member *member = stay->member;
    detach(line, member);
    if (line->drainer == member) line->drainer = NULL;
    if (line->stirring == member) line->stirring = NULL;
    if (line->reader == member) {
        line->reader = NULL;
        line->reading = line->watched = line->taking = false;
    }
    plait_line_take_bell(line, member);
    if (member->sole) plait_line_drop(line, member->future, late(member) ? "late" : "cancelled");
    if (NIL_P(line->over)) hand_over(line, member);
    else wake_next_due(line);
    plait_line_release(line);
    return Qnil;
}

bool plait_line_stay(VALUE self, struct member *member, void (*begin)(struct line *line, void *argument), void *argument) {
    struct stay stay = {.line = plait_line_of(self), .member = member, .begin = begin, .argument = argument};
    VALUE done = rb_ensure(run_stay, (VALUE)&stay, leave, (VALUE)&stay);
    RB_GC_GUARD(self);
    return RTEST(done);
}

/* ---- the end ---- */

struct end {
    struct line *line;
    VALUE reason;
};

static void fail(const struct end *end, VALUE future) {
    bool sent = end->line->sent >= NUM2ULL(rb_attr_get(future, id_frame_end));
    rb_ivar_set(future, id_outcome, end->reason);
    rb_ivar_set(future, id_state, sent ? sym_lost : sym_unsent);
    tell_followers(end->line, future);
}

static int fail_call(VALUE id, VALUE future, VALUE argument) {
    (void)id;
    fail((const struct end *)argument, future);
    return ST_CONTINUE;
}

static void fail_volleys(const struct end *end) {
    while (end->line->volleys) {
        VALUE volley = plait_volley_self(end->line->volleys);
        plait_volley_unlink(end->line, volley);
        fail(end, volley);
        RB_GC_GUARD(volley);
    }
}

static VALUE finish(VALUE argument) {
    const struct end *end = (const struct end *)argument;
    struct line *line = end->line;
    if (!NIL_P(line->over)) return Qnil;

    VALUE calls = line->calls;
    line->over = end->reason;
    line->calls = line->writer = line->parts = Qnil;
    line->unsent = false;
    if (!NIL_P(calls)) rb_hash_foreach(calls, fail_call, argument);
    fail_volleys(end);
    plait_line_shut(line);
    plait_line_wake_all(line);
    plait_line_release(line);
    return Qnil;
}

void plait_line_finish(struct line *line, VALUE reason) {
    struct end end = {.line = line, .reason = reason};
    if (NIL_P(line->over)) plait_undisturbed_by(rb_cObject, finish, (VALUE)&end);
}

static void mark_member(const struct member *member) {
    if (!member) return;

    rb_gc_mark(member->fiber);
    rb_gc_mark(member->future);
}

/* So that no fiber goes while one of its members is in a list: it lies on its stack. In a fork the stacks of others are gone. */
void plait_line_mark_members(const struct line *line) {
    if (line->generation != plait_generation()) return;

    mark_member(line->reader);
    mark_member(line->drainer);
    for (const struct member *member = line->sleeping; member; member = member->next) mark_member(member);
    for (const struct member *member = line->due; member; member = member->next) mark_member(member);
}

void plait_init_rpc_line_roles(void) {
    id_state = rb_intern("@state");
    id_followed = rb_intern("@followed");
    id_due = rb_intern("due");
    id_outcome = rb_intern("@outcome");
    id_id = rb_intern("@id");
    id_frame_end = rb_intern("@frame_end");
    id_complaint = rb_intern("complaint");
    id_reads_here = rb_intern("reads_here");
    id_find_drainer = rb_intern("find_drainer");
    id_close = rb_intern("close");
    id_ended = rb_intern("ended");
    sym_lost = ID2SYM(rb_intern("lost"));
    sym_unsent = ID2SYM(rb_intern("unsent"));
    sym_late = ID2SYM(rb_intern("late"));
    sym_cancelled = ID2SYM(rb_intern("cancelled"));
}
