/* The functions of plait_core.h under their own names, for the extensions of the other gems. */
#ifndef PLAIT_CORE_USER_H
#define PLAIT_CORE_USER_H

#include "plait_core.h"

/* Each extension that includes this defines it, and calls plait_core_fetch in its Init. */
extern const struct plait_core *plait_core;

/* `user`: the name of the gem, for the message. Raises LoadError where the two were not compiled for each other. */
static inline void plait_core_fetch(VALUE plait, const char *user) {
    VALUE table = rb_ivar_get(plait, rb_intern(PLAIT_CORE_NAME));
    if (NIL_P(table)) rb_raise(rb_eLoadError, "%s needs the C extension of the gem plait, which was not loaded before it", user);

    const struct plait_core *core = RTYPEDDATA_DATA(table);
    if (core->magic != PLAIT_CORE_MAGIC || core->abi != PLAIT_CORE_ABI || core->size != sizeof *core) {
        rb_raise(rb_eLoadError, "%s was compiled for version %d of plait's C functions, and the plait that is loaded has version %u: "
                 "gem pristine %s", user, PLAIT_CORE_ABI, core->abi, user);
    }
    plait_core = core;
}

static inline unsigned plait_generation(void) {
    return plait_core->generation();
}

static inline bool plait_state_left(VALUE own) {
    return plait_core->state_left(own);
}

static inline VALUE plait_state_own(void) {
    return plait_core->state_own();
}

NORETURN(static inline void plait_raise_broken(VALUE rules, const char *name, uint64_t offset, VALUE limits));
static inline void plait_raise_broken(VALUE rules, const char *name, uint64_t offset, VALUE limits) {
    plait_core->raise_broken(rules, name, offset, limits);
    UNREACHABLE;
}

static inline VALUE plait_misuse(VALUE rules, const char *message) {
    return plait_core->misuse(rules, message);
}

NORETURN(static inline void plait_raise_misuse(VALUE rules, const char *message));
static inline void plait_raise_misuse(VALUE rules, const char *message) {
    rb_exc_raise(plait_misuse(rules, message));
}

static inline VALUE plait_limit_numbers(VALUE limits, long count) {
    return plait_core->limit_numbers(limits, count);
}

static inline VALUE plait_rule(const char *text, const char *place, const char *limit) {
    return plait_core->rule(text, place, limit);
}

static inline int plait_descriptor_of(VALUE io) {
    return plait_core->descriptor_of(io);
}

static inline void plait_deadline_remove(struct deadline *deadline) {
    plait_core->deadline_remove(deadline);
}

static inline int plait_poll(int descriptor, int events, double limit) {
    return plait_core->poll(descriptor, events, limit);
}

static inline struct native *plait_native_of(VALUE scheduler) {
    return plait_core->native_of(scheduler);
}

static inline void plait_native_deadline(VALUE scheduler, struct deadline *deadline) {
    plait_core->native_deadline(scheduler, deadline);
}

static inline VALUE plait_native_wait(struct native *native, VALUE scheduler, VALUE io, int events, struct deadline *deadline) {
    return plait_core->native_wait(native, scheduler, io, events, deadline);
}

static inline bool plait_native_unblock(VALUE scheduler, VALUE blocker, VALUE fiber) {
    return plait_core->native_unblock(scheduler, blocker, fiber);
}

static inline bool plait_native_ends_waits(const struct native *native) {
    return plait_core->native_ends_waits(native);
}

static inline bool plait_native_leaves(const struct native *native, VALUE scheduler) {
    return plait_core->native_leaves(native, scheduler);
}

static inline void plait_native_leave(const struct native *native) {
    plait_core->native_leave(native);
}

static inline unsigned long plait_native_ticks(const struct native *native, VALUE scheduler) {
    return plait_core->native_ticks(native, scheduler);
}

static inline VALUE plait_native_thread(const struct native *native) {
    return plait_core->native_thread(native);
}

static inline void plait_native_push(const struct native *native, VALUE object) {
    plait_core->native_push(native, object);
}

static inline void plait_native_end_wait(const struct native *native, int descriptor, VALUE fiber) {
    plait_core->native_end_wait(native, descriptor, fiber);
}

#endif
