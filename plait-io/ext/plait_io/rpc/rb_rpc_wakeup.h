/*
 * A thread sleeps without the GVL until its wakeup is rung. Who rings needs no GVL either: he who goes to sleep rings for the next
 * one as soon as he has given it away, so that the next one finds it free, and is not put to sleep once more in the queue for it.
 *
 * What was rung is remembered, so none is lost; one too many wakes somebody who looks around and sleeps on.
 *
 * Where a processor is idle, waking a thread takes longer than what it has to do then. So the one after the next is called
 * before: he gets up, and looks for a moment whether it is rung for him. That is worth it only where it is.
 */
#ifndef PLAIT_RB_RPC_WAKEUP_H
#define PLAIT_RB_RPC_WAKEUP_H

#include <ruby.h>
#include <ruby/thread_native.h>
#include <stdatomic.h>
#include <stdbool.h>

struct wakeup {
    struct wakeup *next; /* of those that nobody needs now */
    rb_nativethread_lock_t lock;
    rb_nativethread_cond_t condition;
    atomic_int state;  /* enum wakeup_state */
    bool asleep;
    int worth;         /* called: how often it was worth it, since it was told; less than 0: it was not */
};

/* Whose wakeups are rung when the GVL is given away. */
struct wakeups {
    struct wakeup *next;  /* or NULL */
    struct wakeup *after; /* who is called before, or NULL */
};

struct wakeup *plait_wakeup_new(void);
void plait_wakeup_free(struct wakeup *wakeup);

/* What was rung before was for somebody else. */
void plait_wakeup_clear(struct wakeup *wakeup);

void plait_wakeup_signal(struct wakeup *wakeup);

/* Rings, and calls; once. */
void plait_wakeups_signal(struct wakeups *wakeups);

/*
 * Sleeps until it is rung, or the moment (monotonic seconds, or INFINITY), or an interrupt; the others are rung first, in any
 * case. Raises what another thread has raised in this one.
 */
void plait_wakeup_await(struct wakeup *wakeup, double limit, struct wakeups others);

#endif
