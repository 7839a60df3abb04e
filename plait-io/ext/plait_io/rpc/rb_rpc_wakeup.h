/*
 * A thread sleeps without the GVL until its wakeup is signaled. To signal takes no GVL either: a thread that goes to sleep
 * signals the next one as soon as it has given the GVL away. So the next one finds the GVL free, and need not queue for it.
 *
 * A signal is remembered, so none is lost; one too many wakes a thread that looks around and sleeps on.
 *
 * Where a processor is idle, waking a thread takes longer than its work. So the thread after the next is prepared before its
 * turn: it gets up, and looks for a moment for its signal. That is worth it only where the signal comes.
 */
#ifndef PLAIT_RB_RPC_WAKEUP_H
#define PLAIT_RB_RPC_WAKEUP_H

#include <ruby.h>
#include <ruby/thread_native.h>
#include <stdatomic.h>
#include <stdbool.h>

struct wakeup {
    struct wakeup *next; /* of the unused ones */
    rb_nativethread_lock_t lock;
    rb_nativethread_cond_t condition;
    atomic_int state;  /* enum wakeup_state */
    bool asleep;
    int worth;         /* how often preparing was worth it, since that was noted; less than 0: it was not */
};

/* The wakeups that are signaled when the GVL is given away. */
struct wakeups {
    struct wakeup *next;  /* or NULL */
    struct wakeup *after; /* prepared before its turn; or NULL */
};

struct wakeup *plait_wakeup_new(void);
void plait_wakeup_free(struct wakeup *wakeup);

/* Forgets an earlier signal: it was for another wait. */
void plait_wakeup_clear(struct wakeup *wakeup);

void plait_wakeup_signal(struct wakeup *wakeup);

/* Signals one, and prepares the other; once. */
void plait_wakeups_signal(struct wakeups *wakeups);

/*
 * Sleeps until its signal, or the moment (monotonic seconds, or INFINITY), or an interrupt. The others are signaled first, in
 * any case. Raises what another thread has raised in this one.
 */
void plait_wakeup_await(struct wakeup *wakeup, double limit, struct wakeups others);

#endif
