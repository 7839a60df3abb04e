/*
 * What the extensions of the other gems use of this one: a table of functions, fetched once when they are loaded. By symbol
 * they would need this library's file at link time, and a library of another version would crash instead of raising.
 *
 * A call through the table costs an indirect jump. It is for what happens once an exchange or a wait, not once a byte.
 */
#ifndef PLAIT_CORE_H
#define PLAIT_CORE_H

#include <ruby.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

/* "PLAI". */
#define PLAIT_CORE_MAGIC UINT32_C(0x504c4149)

/* Raised by each change of the table or of a struct in this file. */
#define PLAIT_CORE_ABI 1

/* As IO::READABLE and IO::WRITABLE. */
enum { PLAIT_READABLE = 1, PLAIT_WRITABLE = 4 };

struct native;

/* The deadline of one wait. Its memory is its owner's; it is in one list at most, and out of it before its memory goes. */
struct deadline {
    struct deadline *next;
    struct deadline **back;                    /* what points at this one; NULL: it is in no list */
    double at;                                 /* monotonic seconds */
    void (*expire)(struct deadline *deadline); /* called on the loop, between two fibers: must not switch, raise or allocate */
};

/* The headers named here describe the functions. */
struct plait_core {
    uint32_t magic;
    uint32_t abi;
    size_t size; /* of this struct */

    /* plait.h */
    unsigned (*generation)(void);
    bool (*state_left)(VALUE own);
    VALUE (*state_own)(void);

    /* rb_rulebook.h */
    void (*raise_broken)(VALUE rules, const char *name, uint64_t offset, VALUE limits);
    VALUE (*misuse)(VALUE rules, const char *message);
    VALUE (*limit_numbers)(VALUE limits, long count);
    VALUE (*rule)(const char *text, const char *place, const char *limit);

    /* scheduler/rb_selector.h, rb_deadlines.h, rb_poll.h */
    int (*descriptor_of)(VALUE io);
    void (*deadline_remove)(struct deadline *deadline);
    int (*poll)(int descriptor, int events, double limit);

    /* scheduler/rb_scheduler.h */
    struct native *(*native_of)(VALUE scheduler);
    void (*native_deadline)(VALUE scheduler, struct deadline *deadline);
    VALUE (*native_wait)(struct native *native, VALUE scheduler, VALUE io, int events, struct deadline *deadline);
    bool (*native_unblock)(VALUE scheduler, VALUE blocker, VALUE fiber);
    bool (*native_ends_waits)(const struct native *native);
    bool (*native_leaves)(const struct native *native, VALUE scheduler);
    void (*native_leave)(const struct native *native);
    unsigned long (*native_ticks)(const struct native *native, VALUE scheduler);
    VALUE (*native_thread)(const struct native *native);
    void (*native_push)(const struct native *native, VALUE object);
    void (*native_end_wait)(const struct native *native, int descriptor, VALUE fiber);
};

/* The module Plait holds the table under this name, which Ruby code can't write. */
#define PLAIT_CORE_NAME "__plait_core"

/* Monotonic seconds. */
static inline double plait_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

#endif
