/* See rb_rpc_bell.h. */
#include "rb_rpc_bell.h"

#include <math.h>
#include <ruby/thread.h>

#include "../plait_io.h"

/* Seconds of one sleep: its milliseconds are to fit into 32 bits. */
static const double LONGEST = 3600;

/* Seconds for which who was called looks whether it is rung. */
static const double MOMENT = 0.0001;

enum { LOOKS = 32 /* between two at the clock */ };

enum bell_state { STILL, CALLED, RUNG };

struct bell *plait_bell_new(void) {
    struct bell *bell = ZALLOC(struct bell);
    rb_native_mutex_initialize(&bell->lock);
    rb_native_cond_initialize(&bell->rings);
    return bell;
}

void plait_bell_free(struct bell *bell) {
    rb_native_cond_destroy(&bell->rings);
    rb_native_mutex_destroy(&bell->lock);
    xfree(bell);
}

void plait_bell_still(struct bell *bell) {
    rb_native_mutex_lock(&bell->lock);
    atomic_store(&bell->state, STILL);
    rb_native_mutex_unlock(&bell->lock);
}

/* Who is awake sees it; and who is not is woken when the lock is free: else he would wait for that. */
static void rpc_bell_change(struct bell *bell, enum bell_state state) {
    rb_native_mutex_lock(&bell->lock);
    bool less = atomic_load(&bell->state) < (int)state;
    bool asleep = bell->asleep;
    if (less) atomic_store(&bell->state, (int)state);
    rb_native_mutex_unlock(&bell->lock);
    if (less && asleep) rb_native_cond_signal(&bell->rings);
}

void plait_bell_ring(struct bell *bell) {
    rpc_bell_change(bell, RUNG);
}

void plait_bells_ring(struct bells *bells) {
    if (bells->next) rpc_bell_change(bells->next, RUNG);
    if (bells->after) rpc_bell_change(bells->after, CALLED);
    *bells = (struct bells){NULL, NULL};
}

struct nap {
    struct bell *bell;
    struct bells others; /* that are still to be rung */
    double limit;
};

static void rpc_bell_wait_for_change(const struct nap *nap) {
    struct bell *bell = nap->bell;
    double left = nap->limit - plait_now();
    bell->asleep = true;
    if (isinf(nap->limit)) rb_native_cond_wait(&bell->rings, &bell->lock);
    else rb_native_cond_timedwait(&bell->rings, &bell->lock, left > 0 ? (unsigned long)ceil(fmin(left, LONGEST) * 1e3) : 0);
    bell->asleep = false;
}

static void rpc_bell_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Returns whether it is rung within a moment. */
static bool rpc_bell_look_for_ring(struct bell *bell) {
    double until = plait_now() + MOMENT;
    do {
        for (int look = 0; look < LOOKS; look++) {
            if (atomic_load_explicit(&bell->state, memory_order_acquire) == RUNG) return true;
            rpc_bell_relax();
        }
    } while (plait_now() < until);
    return false;
}

/* With the lock, which it gives away meanwhile. */
static void rpc_bell_answer_call(struct bell *bell) {
    rb_native_mutex_unlock(&bell->lock);
    bool rung = rpc_bell_look_for_ring(bell);
    rb_native_mutex_lock(&bell->lock);
    bell->worth += rung ? 1 : -1;
    if (atomic_load(&bell->state) == CALLED) atomic_store(&bell->state, STILL);
}

static void *rpc_bell_sleep_now(void *argument) {
    struct nap *nap = argument;
    plait_bells_ring(&nap->others);
    rb_native_mutex_lock(&nap->bell->lock);
    if (atomic_load(&nap->bell->state) == STILL) rpc_bell_wait_for_change(nap);
    if (atomic_load(&nap->bell->state) == CALLED) rpc_bell_answer_call(nap->bell);
    if (atomic_load(&nap->bell->state) == STILL && plait_now() < nap->limit) rpc_bell_wait_for_change(nap);
    rb_native_mutex_unlock(&nap->bell->lock);
    return NULL;
}

static void rpc_bell_end_sleep(void *argument) {
    plait_bell_ring(argument);
}

/* With an interrupt at hand rb_nogvl does not call it at all. */
void plait_bell_await(struct bell *bell, double limit, struct bells others) {
    struct nap nap = {.bell = bell, .others = others, .limit = limit};
    rb_nogvl(rpc_bell_sleep_now, &nap, rpc_bell_end_sleep, bell, RB_NOGVL_INTR_FAIL);
    plait_bells_ring(&nap.others);
    rb_thread_check_ints();
}
