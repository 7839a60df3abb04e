/*
 * A thread sleeps without the GVL until its wakeup is signaled. A signal is remembered, so none is lost; one too many wakes a
 * thread that looks around and sleeps on.
 */
#ifndef PLAIT_RB_RPC_WAKEUP_H
#define PLAIT_RB_RPC_WAKEUP_H

#include <ruby.h>
#include <ruby/thread_native.h>
#include <stdbool.h>

struct wakeup {
    struct wakeup *next; /* of the unused ones */
    rb_nativethread_lock_t lock;
    rb_nativethread_cond_t condition;
    bool signaled;
    bool asleep;
};

struct wakeup *plait_wakeup_new(void);
void plait_wakeup_free(struct wakeup *wakeup);

/* Forgets an earlier signal: it was for another wait. */
void plait_wakeup_clear(struct wakeup *wakeup);

void plait_wakeup_signal(struct wakeup *wakeup);

/*
 * Sleeps until its signal, or the moment (monotonic seconds, or INFINITY), or an interrupt. Raises what
 * another thread has raised in this one.
 */
void plait_wakeup_await(struct wakeup *wakeup, double limit);

#endif
