/* See rb_rpc_wakeup.h. */
#include "rb_rpc_wakeup.h"

#include <math.h>
#include <ruby/thread.h>

#include "../plait_io.h"

/* Seconds of one sleep: its milliseconds are to fit into 32 bits. */
static const double LONGEST = 3600;

/* Seconds for which a prepared thread looks for its signal. */
static const double MOMENT = 0.0001;

enum { LOOKS = 32 /* between two at the clock */ };

enum wakeup_state { IDLE, PREPARED, SIGNALED };

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
    atomic_store(&wakeup->state, IDLE);
    rb_native_mutex_unlock(&wakeup->lock);
}

/* A thread that is awake sees the state. A sleeping thread is woken when the lock is free: else it would wait for the lock. */
static void rpc_wakeup_change(struct wakeup *wakeup, enum wakeup_state state) {
    rb_native_mutex_lock(&wakeup->lock);
    bool less = atomic_load(&wakeup->state) < (int)state;
    bool asleep = wakeup->asleep;
    if (less) atomic_store(&wakeup->state, (int)state);
    rb_native_mutex_unlock(&wakeup->lock);
    if (less && asleep) rb_native_cond_signal(&wakeup->condition);
}

void plait_wakeup_signal(struct wakeup *wakeup) {
    rpc_wakeup_change(wakeup, SIGNALED);
}

void plait_wakeups_signal(struct wakeups *wakeups) {
    if (wakeups->next) rpc_wakeup_change(wakeups->next, SIGNALED);
    if (wakeups->after) rpc_wakeup_change(wakeups->after, PREPARED);
    *wakeups = (struct wakeups){NULL, NULL};
}

struct nap {
    struct wakeup *wakeup;
    struct wakeups others; /* that are still to be signaled */
    double limit;
};

static void rpc_wakeup_wait_for_change(const struct nap *nap) {
    struct wakeup *wakeup = nap->wakeup;
    double left = nap->limit - plait_now();
    wakeup->asleep = true;
    if (isinf(nap->limit)) rb_native_cond_wait(&wakeup->condition, &wakeup->lock);
    else rb_native_cond_timedwait(&wakeup->condition, &wakeup->lock, left > 0 ? (unsigned long)ceil(fmin(left, LONGEST) * 1e3) : 0);
    wakeup->asleep = false;
}

static void rpc_wakeup_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Returns whether its signal comes within a moment. */
static bool rpc_wakeup_spin(struct wakeup *wakeup) {
    double until = plait_now() + MOMENT;
    do {
        for (int look = 0; look < LOOKS; look++) {
            if (atomic_load_explicit(&wakeup->state, memory_order_acquire) == SIGNALED) return true;
            rpc_wakeup_relax();
        }
    } while (plait_now() < until);
    return false;
}

/* With the lock, which it gives away meanwhile. */
static void rpc_wakeup_answer_call(struct wakeup *wakeup) {
    rb_native_mutex_unlock(&wakeup->lock);
    bool signaled = rpc_wakeup_spin(wakeup);
    rb_native_mutex_lock(&wakeup->lock);
    wakeup->worth += signaled ? 1 : -1;
    if (atomic_load(&wakeup->state) == PREPARED) atomic_store(&wakeup->state, IDLE);
}

static void *rpc_wakeup_sleep_now(void *argument) {
    struct nap *nap = argument;
    plait_wakeups_signal(&nap->others);
    rb_native_mutex_lock(&nap->wakeup->lock);
    if (atomic_load(&nap->wakeup->state) == IDLE) rpc_wakeup_wait_for_change(nap);
    if (atomic_load(&nap->wakeup->state) == PREPARED) rpc_wakeup_answer_call(nap->wakeup);
    if (atomic_load(&nap->wakeup->state) == IDLE && plait_now() < nap->limit) rpc_wakeup_wait_for_change(nap);
    rb_native_mutex_unlock(&nap->wakeup->lock);
    return NULL;
}

static void rpc_wakeup_end_sleep(void *argument) {
    plait_wakeup_signal(argument);
}

/* With an interrupt at hand rb_nogvl does not call it at all. */
void plait_wakeup_await(struct wakeup *wakeup, double limit, struct wakeups others) {
    struct nap nap = {.wakeup = wakeup, .others = others, .limit = limit};
    rb_nogvl(rpc_wakeup_sleep_now, &nap, rpc_wakeup_end_sleep, wakeup, RB_NOGVL_INTR_FAIL);
    plait_wakeups_signal(&nap.others);
    rb_thread_check_ints();
}
