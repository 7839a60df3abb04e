/*
 * How long the threads of this process have waited for the GVL. Ruby 3.2 and later call a hook when a thread wants it, and when
 * it has it.
 */
#include "plait_bindings.h"

#ifdef HAVE_RB_INTERNAL_THREAD_ADD_EVENT_HOOK

#include <ruby/thread.h>
#include <stdatomic.h>
#include <stdint.h>

static atomic_ullong gvl_waited; /* nanoseconds */
static rb_internal_thread_event_hook_t *gvl_hook;
static unsigned gvl_users;

#ifdef HAVE_RB_INTERNAL_THREAD_SPECIFIC_KEY_CREATE
/* Ruby 3.3 may call the hook on another native thread than the one that waits. */
static rb_internal_thread_specific_key_t gvl_key;

static uint64_t gvl_exchange(const rb_internal_thread_event_data_t *data, uint64_t since) {
    uint64_t before = (uintptr_t)rb_internal_thread_specific_get(data->thread, gvl_key);
    rb_internal_thread_specific_set(data->thread, gvl_key, (void *)(uintptr_t)since);
    return before;
}
#else
static uint64_t gvl_exchange(const rb_internal_thread_event_data_t *data, uint64_t since) {
    static _Thread_local uint64_t waiting_since;
    (void)data;
    uint64_t before = waiting_since;
    waiting_since = since;
    return before;
}
#endif

/* A thread that waited when the hook came has no time to count from. */
static void gvl_see(rb_event_flag_t event, const rb_internal_thread_event_data_t *data, void *unused) {
    (void)unused;
    uint64_t now = (uint64_t)(plait_now() * 1e9);
    uint64_t since = gvl_exchange(data, event == RUBY_INTERNAL_THREAD_EVENT_READY ? now : 0);
    if (event == RUBY_INTERNAL_THREAD_EVENT_RESUMED && since && now > since) atomic_fetch_add(&gvl_waited, now - since);
}

/* NativeGVL.start: counts from now on, until as many calls of stop. */
static VALUE gvl_start(VALUE self) {
#ifdef HAVE_RB_INTERNAL_THREAD_SPECIFIC_KEY_CREATE
    static bool made; /* a process has eight keys */
    if (!made) gvl_key = rb_internal_thread_specific_key_create();
    made = true;
#endif
    rb_event_flag_t events = RUBY_INTERNAL_THREAD_EVENT_READY | RUBY_INTERNAL_THREAD_EVENT_RESUMED;
    if (gvl_users++ == 0) gvl_hook = rb_internal_thread_add_event_hook(gvl_see, events, NULL);
    return self;
}

static VALUE gvl_stop(VALUE self) {
    if (gvl_users > 0 && --gvl_users == 0) rb_internal_thread_remove_event_hook(gvl_hook);
    return self;
}

/* NativeGVL.waited: seconds, all threads together, of all times in which it counted. */
static VALUE gvl_seconds(VALUE self) {
    (void)self;
    return DBL2NUM((double)atomic_load(&gvl_waited) / 1e9);
}

void plait_init_gvl(VALUE plait) {
    VALUE native = rb_define_module_under(plait, "NativeGVL");
    rb_define_singleton_method(native, "start", gvl_start, 0);
    rb_define_singleton_method(native, "stop", gvl_stop, 0);
    rb_define_singleton_method(native, "waited", gvl_seconds, 0);
}

#else

void plait_init_gvl(VALUE plait) { (void)plait; }

#endif
