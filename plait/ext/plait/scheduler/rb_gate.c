/*
 * Gates before patched methods: outside of our fibers a patch costs no more than a call in C.
 */
#include <ruby.h>
#include <ruby/fiber/scheduler.h>

#include "../plait_bindings.h"
#include "rb_scheduler.h"

static st_table *patches; /* name => what its patch is called */
static ID id_resume, id_cursor;
static int loops; /* that turn */

typedef VALUE gate_function(int, VALUE *, VALUE);

static bool in_fiber_of_ours(void) {
    VALUE scheduler = rb_fiber_scheduler_current();
    return !NIL_P(scheduler) && plait_native_of(scheduler);
}

static VALUE run_patch(int argc, VALUE *argv, VALUE self) {
    st_data_t patch = 0;
    st_lookup(patches, (st_data_t)rb_frame_this_func(), &patch);
    return rb_funcall_passing_block_kw(self, (ID)patch, argc, argv, rb_keyword_given_p());
}

static VALUE pass(bool patched, int argc, VALUE *argv, VALUE self) {
    return patched ? run_patch(argc, argv, self) : rb_call_super_kw(argc, argv, rb_keyword_given_p());
}

static VALUE gate_of_fibers(int argc, VALUE *argv, VALUE self) {
    return pass(in_fiber_of_ours(), argc, argv, self);
}

/* What Ruby's own Fiber#resume does: a call by name takes half as long as a switch. */
static VALUE gate_of_resume(int argc, VALUE *argv, VALUE self) {
    return in_fiber_of_ours() ? run_patch(argc, argv, self) : rb_fiber_resume_kw(self, argc, argv, rb_keyword_given_p());
}

/* An enumerator that was started in one of our fibers goes on everywhere. */
static VALUE gate_of_cursors(int argc, VALUE *argv, VALUE self) {
    return pass(in_fiber_of_ours() || !NIL_P(rb_attr_get(self, id_cursor)), argc, argv, self);
}

/* An IO may be closed by any thread. */
static VALUE gate_of_loops(int argc, VALUE *argv, VALUE self) {
    return pass(loops > 0, argc, argv, self);
}

static VALUE gate_of_items(int argc, VALUE *argv, VALUE self) {
    return pass(!NIL_P(plait_state_own()), argc, argv, self);
}

static gate_function *gate_for(ID name, VALUE kind) {
    if (name == id_resume) return gate_of_resume;
    if (kind == ID2SYM(rb_intern("cursors"))) return gate_of_cursors;
    if (kind == ID2SYM(rb_intern("loops"))) return gate_of_loops;
    return kind == ID2SYM(rb_intern("items")) ? gate_of_items : gate_of_fibers;
}

/* NativeGate.before(module, name, kind), see lib/plait/mechanisms/patches/gate.rb */
static VALUE gate_before(VALUE self, VALUE module, VALUE name, VALUE kind) {
    VALUE patch = rb_str_intern(rb_sprintf("plait_patched_%" PRIsVALUE, rb_sym2str(name)));
    (void)self;
    st_insert(patches, (st_data_t)SYM2ID(name), (st_data_t)SYM2ID(patch));
    rb_alias(module, SYM2ID(patch), SYM2ID(name));
    rb_funcall(module, rb_intern("public"), 1, patch); /* that of `initialize` would be private, and a block not be passed */
    rb_define_method_id(module, SYM2ID(name), gate_for(SYM2ID(name), kind), -1); /* safe for ractors, as this is no Init */
    return Qnil;
}

/* NativeGate.loops = number */
static VALUE gate_set_loops(VALUE self, VALUE number) {
    (void)self;
    loops = NUM2INT(number);
    return number;
}

void plait_init_gate(VALUE plait) {
    id_resume = rb_intern("resume");
    id_cursor = rb_intern("@plait_cursor");
    patches = st_init_numtable();
    VALUE native = rb_define_module_under(plait, "NativeGate");
    rb_define_singleton_method(native, "before", gate_before, 3);
    rb_define_singleton_method(native, "loops=", gate_set_loops, 1);
}
