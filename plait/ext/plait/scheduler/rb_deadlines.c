/* See rb_deadlines.h. */
#include "rb_deadlines.h"

#include "../plait_bindings.h"

/*
 * Seconds between two sweeps at least: thousands of waits that expire one after another would else each cost a walk
 * through all the others.
 */
static const double PAUSE = 0.002;

static ID id_after, id_cancel;

void plait_deadlines_mark(const struct deadlines *deadlines) {
    rb_gc_mark(deadlines->alarm);
}

void plait_deadline_remove(struct deadline *deadline) {
    if (!deadline->back) return;

    *deadline->back = deadline->next;
    if (deadline->next) deadline->next->back = deadline->back;
    deadline->back = NULL;
}

void plait_deadlines_drop(struct deadlines *deadlines) {
    while (deadlines->first) plait_deadline_remove(deadlines->first);
}

/* What a sweep needs; the alarm's block keeps it. */
struct sweep {
    struct deadlines *deadlines;
    VALUE self; /* keeps the list */
    VALUE scheduler;
};

static void deadlines_sweep_mark(void *data) {
    const struct sweep *sweep = data;
    rb_gc_mark(sweep->self);
    rb_gc_mark(sweep->scheduler);
}

static const rb_data_type_t sweep_type = {
    .wrap_struct_name = "Plait::Scheduler sweep",
    .function = {.dmark = deadlines_sweep_mark, .dfree = RUBY_DEFAULT_FREE},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static void deadlines_arm(struct sweep *sweep, VALUE data, double at, double now);

/* Returns when the first remaining deadline is due; 0: there are none. */
static double deadlines_expire_due(struct deadlines *deadlines, double now) {
    double first = 0;
    struct deadline *next;
    for (struct deadline *deadline = deadlines->first; deadline; deadline = next) {
        next = deadline->next;
        if (deadline->at <= now) {
            plait_deadline_remove(deadline);
            deadline->expire(deadline);
        } else if (first == 0 || deadline->at < first) {
            first = deadline->at;
        }
    }
    return first;
}

static VALUE deadlines_ring(RB_BLOCK_CALL_FUNC_ARGLIST(unused, data)) {
    (void)unused, (void)argc, (void)argv, (void)blockarg;
    struct sweep *sweep = rb_check_typeddata(data, &sweep_type);
    double now = plait_now();
    sweep->deadlines->armed = 0;
    sweep->deadlines->alarm = Qnil;
    double first = deadlines_expire_due(sweep->deadlines, now);
    if (first != 0) deadlines_arm(sweep, data, first > now + PAUSE ? first : now + PAUSE, now);
    return Qnil;
}

/* An interrupt in one of the calls leaves an alarm too many, which does no harm, and never none. */
static void deadlines_arm(struct sweep *sweep, VALUE data, double at, double now) {
    VALUE seconds = DBL2NUM(at > now ? at - now : 0), former = sweep->deadlines->alarm;
    sweep->deadlines->alarm = rb_block_call(sweep->scheduler, id_after, 1, &seconds, deadlines_ring, data);
    sweep->deadlines->armed = at;
    if (!NIL_P(former)) rb_funcall(former, id_cancel, 0);
}

static void deadlines_arm_for(struct deadlines *deadlines, VALUE self, VALUE scheduler, double at) {
    struct sweep *sweep;
    VALUE data = TypedData_Make_Struct(0, struct sweep, &sweep_type, sweep);
    *sweep = (struct sweep){.deadlines = deadlines, .self = self, .scheduler = scheduler};
    deadlines_arm(sweep, data, at, plait_now());
    RB_GC_GUARD(data);
}

void plait_deadlines_add(struct deadlines *deadlines, VALUE self, VALUE scheduler, struct deadline *deadline) {
    if (deadlines->armed == 0 || deadline->at < deadlines->armed) deadlines_arm_for(deadlines, self, scheduler, deadline->at);

    deadline->next = deadlines->first;
    deadline->back = &deadlines->first;
    if (deadline->next) deadline->next->back = &deadline->next;
    deadlines->first = deadline;
}

void plait_init_deadlines(void) {
    id_after = rb_intern("after");
    id_cancel = rb_intern("cancel");
}
