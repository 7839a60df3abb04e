/*
 * Whether an item, task or request has left anything at its fiber and thread: the quick part of lib/plait/mechanisms/state.rb,
 * which is asked after each.
 */
#include "plait_bindings.h"

#include <ruby/version.h>

static ID id_keys, id_storage, id_variables, id_shared, id_execution_state, id_thread_variables, id_own, id_current;
static ID id_guards, id_masked;
/* Ruby 3.2 and later have fiber storage, which holds the fiber's Own; before, the Fiber does. */
static const bool storage = RUBY_API_VERSION_CODE >= 30200;

static bool state_is_used(VALUE own) {
    if (RTEST(rb_attr_get(own, id_shared)) || !NIL_P(rb_attr_get(own, id_execution_state))) return true;
    return !RHASH_EMPTY_P(rb_attr_get(own, id_variables));
}

static int state_see_thread_variable(VALUE name, VALUE value, VALUE left) {
    (void)name;
    if (NIL_P(value)) return ST_CONTINUE; /* Ruby keeps the names of removed variables */
    *(bool *)left = true;
    return ST_STOP;
}

/* The names that a server's worker thread has are known: the text of a name costs a look-up. */
static bool state_is_ours(ID name) {
    return name == id_own || name == id_guards || name == id_masked || strncmp(rb_id2name(name), "@plait_", 7) == 0;
}

/* Ours stay. Thread variables are in a Hash, in one without an @. */
static int state_see_instance_variable(ID name, VALUE value, st_data_t left) {
    if (name == id_thread_variables && RB_TYPE_P(value, T_HASH)) rb_hash_foreach(value, state_see_thread_variable, (VALUE)left);
    else if (!state_is_ours(name)) *(bool *)left = true;
    return *(bool *)left ? ST_STOP : ST_CONTINUE;
}

static bool state_is_left_at(VALUE object) {
    bool left = false;
    rb_ivar_foreach(object, state_see_instance_variable, (st_data_t)&left);
    return left;
}

static bool state_is_left_in_storage(VALUE fiber, VALUE own) {
    VALUE entries = rb_funcall(fiber, id_storage, 0);
    return !NIL_P(entries) && RHASH_SIZE(entries) > (NIL_P(own) ? 0 : 1);
}

bool plait_state_left(VALUE own) {
    VALUE thread = rb_thread_current(), fiber = rb_fiber_current();
    if (RARRAY_LEN(rb_funcall(thread, id_keys, 0)) > 0) return true;
    if (state_is_left_at(fiber)) return true;
    if (NIL_P(own) ? state_is_left_at(thread) : state_is_used(own)) return true;
    return storage && state_is_left_in_storage(fiber, own);
}

/* A path is looked up once: that makes a String. */
static VALUE state_own_class(void) {
    static VALUE class = 0;
    if (class) return class;

    class = rb_path2class("Plait::Mechanisms::State::Own");
    rb_gc_register_mark_object(class);
    return class;
}

VALUE plait_state_own(void) {
    if (!storage) return rb_attr_get(rb_fiber_current(), id_own);
    return rb_funcall(state_own_class(), id_current, 0);
}

/* left?(own) */
static VALUE state_left_p(VALUE self, VALUE own) {
    (void)self;
    return plait_state_left(own) ? Qtrue : Qfalse;
}

/* bare?: whether nothing is here at all, nor an Own */
static VALUE state_bare_p(VALUE self) {
    (void)self;
    return NIL_P(plait_state_own()) && !plait_state_left(Qnil) ? Qtrue : Qfalse;
}

void plait_init_state(VALUE plait) {
    id_keys = rb_intern("keys");
    id_storage = rb_intern("storage");
    id_shared = rb_intern("@shared");
    id_variables = rb_intern("@variables");
    id_execution_state = rb_intern("@execution_state");
    id_own = rb_intern("@plait_own");
    id_guards = rb_intern("@plait_guards");
    id_masked = rb_intern("@plait_masked");
    id_current = rb_intern("current");
    id_thread_variables = rb_intern("locals");
    rb_ext_ractor_safe(true);
    VALUE native = rb_define_module_under(plait, "NativeState");
    rb_define_method(native, "left?", state_left_p, 1);
    rb_define_method(native, "bare?", state_bare_p, 0);
    rb_ext_ractor_safe(false);
}
