/* Wires the bindings, and offers the table of functions to the extensions of the other gems. */
#include "plait_bindings.h"

#include <pthread.h>
#include <ruby/thread.h>

#include "rb_rulebook.h"
#include "scheduler/rb_poll.h"
#include "scheduler/rb_scheduler.h"
#include "scheduler/rb_selector.h"

static unsigned generation;

unsigned plait_generation(void) {
    return generation;
}

static void plait_count_fork(void) {
    generation++;
}

static const struct plait_core core = {
    .magic = PLAIT_CORE_MAGIC,
    .abi = PLAIT_CORE_ABI,
    .size = sizeof core,
    .generation = plait_generation,
    .state_left = plait_state_left,
    .state_own = plait_state_own,
    .raise_broken = plait_raise_broken,
    .misuse = plait_misuse,
    .limit_numbers = plait_limit_numbers,
    .rule = plait_rule,
    .descriptor_of = plait_descriptor_of,
    .deadline_remove = plait_deadline_remove,
    .poll = plait_poll,
    .native_of = plait_native_of,
    .native_deadline = plait_native_deadline,
    .native_wait = plait_native_wait,
    .native_unblock = plait_native_unblock,
    .native_ends_waits = plait_native_ends_waits,
    .native_leaves = plait_native_leaves,
    .native_leave = plait_native_leave,
    .native_ticks = plait_native_ticks,
    .native_thread = plait_native_thread,
    .native_push = plait_native_push,
    .native_end_wait = plait_native_end_wait,
};

/* fork_generation */
static VALUE plait_fork_generation(VALUE self) {
    (void)self;
    return UINT2NUM(generation);
}

/* keep_native_thread: Ruby's scheduler no longer moves the calling thread from one native thread to another. Ruby 3.4, in which
 * it may forget a ractor's other threads at the end of one that it moves (co_start in thread_pthread_mn.c; not in 4.0). */
static VALUE plait_keep_native_thread(VALUE self) {
#ifdef HAVE_RB_THREAD_LOCK_NATIVE_THREAD
    rb_thread_lock_native_thread();
#endif
    return self;
}

static const rb_data_type_t core_type = {.wrap_struct_name = "plait_core", .flags = RUBY_TYPED_FREE_IMMEDIATELY};

static void plait_offer_core(VALUE plait) {
    VALUE table = TypedData_Wrap_Struct(rb_cObject, &core_type, (void *)&core);
    rb_ivar_set(plait, rb_intern(PLAIT_CORE_NAME), rb_obj_freeze(table));
}

RUBY_FUNC_EXPORTED void Init_plait(void) {
    VALUE plait = rb_define_module("Plait");
    pthread_atfork(NULL, NULL, plait_count_fork);
    rb_ext_ractor_safe(true); /* ractors ask, as they may ask for Process.pid */
    VALUE native = rb_define_module_under(plait, "Native");
    rb_define_singleton_method(native, "fork_generation", plait_fork_generation, 0);
    rb_define_singleton_method(native, "keep_native_thread", plait_keep_native_thread, 0);
    rb_ext_ractor_safe(false);
    plait_init_rulebook();
    plait_init_cursor(plait);
    plait_init_deadlines();
    plait_init_files(plait);
    plait_init_gate(plait);
    plait_init_gvl(plait);
    plait_init_malloc(plait);
    plait_init_pipe(plait);
    plait_init_scheduler(plait);
#ifdef HAVE_PLAIT_EPOLL
    plait_init_selector(plait);
#endif
    plait_init_state(plait);
    plait_offer_core(plait);
}
