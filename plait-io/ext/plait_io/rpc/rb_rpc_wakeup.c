/* See rb_rpc_wakeup.h. */
#include "rb_rpc_wakeup.h"

#include <math.h>
#include <ruby/thread.h>

#include "../plait_io.h"

/* Seconds of one sleep: its milliseconds are to fit into 32 bits. */
static const double LONGEST = 3600;

struct wakeup *plait_wakeup_new(void) {
    struct wakeup *wakeup = ZALLOC(struct wakeup);
    rb_native_mutex_initialize(&wakeup->lock);
    rb_native_cond_initialize(&wakeup->condition);
    return wakeup;
}

void plait_wakeup_free(struct wakeup *wakeup) {
    rb_native_cond_destroy(&wakeup->condition);
    rb_native_mutex_destroy(&wakeup->lock);
    xfree(wakeup);
}

void plait_wakeup_clear(struct wakeup *wakeup) {
    rb_native_mutex_lock(&wakeup->lock);
    wakeup->signaled = false;
    rb_native_mutex_unlock(&wakeup->lock);
}

/* A sleeping thread is woken when the lock is free: else it would wait for the lock. */
void plait_wakeup_signal(struct wakeup *wakeup) {
    rb_native_mutex_lock(&wakeup->lock);
    bool asleep = wakeup->asleep && !wakeup->signaled;
    wakeup->signaled = true;
    rb_native_mutex_unlock(&wakeup->lock);
    if (asleep) rb_native_cond_signal(&wakeup->condition);
}

struct nap {
    struct wakeup *wakeup;
    double limit;
};

static void rpc_wakeup_wait(const struct nap *nap) {
    struct wakeup *wakeup = nap->wakeup;
    double left = nap->limit - plait_now();
    wakeup->asleep = true;
    if (isinf(nap->limit)) rb_native_cond_wait(&wakeup->condition, &wakeup->lock);
    else rb_native_cond_timedwait(&wakeup->condition, &wakeup->lock, left > 0 ? (unsigned long)ceil(fmin(left, LONGEST) * 1e3) : 0);
    wakeup->asleep = false;
}

static void *rpc_wakeup_sleep_now(void *argument) {
    struct nap *nap = argument;
    rb_native_mutex_lock(&nap->wakeup->lock);
    if (!nap->wakeup->signaled) rpc_wakeup_wait(nap);
    rb_native_mutex_unlock(&nap->wakeup->lock);
    return NULL;
}

static void rpc_wakeup_end_sleep(void *argument) {
    plait_wakeup_signal(argument);
}

/* With an interrupt at hand rb_nogvl does not call it at all. */
void plait_wakeup_await(struct wakeup *wakeup, double limit) {
    struct nap nap = {.wakeup = wakeup, .limit = limit};
    rb_nogvl(rpc_wakeup_sleep_now, &nap, rpc_wakeup_end_sleep, wakeup, RB_NOGVL_INTR_FAIL);
    rb_thread_check_ints();
}
