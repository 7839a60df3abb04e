/* Plait::NativeRPC: defines the classes of the folder. */
#include "../plait_io.h"

#include <ruby/ractor.h>

#include "rb_rpc_batch.h"
#include "rb_rpc_batch_run.h"
#include "rb_rpc_line.h"
#include "rb_rpc_line_end.h"
#include "rb_rpc_line_members.h"
#include "rb_rpc_line_receive.h"
#include "rb_rpc_line_roles.h"
#include "rb_rpc_line_send.h"
#include "rb_rpc_call_batch.h"
#include "rb_rpc_round.h"

/* define_line(rpc): Plait::RPC is loaded by its name; see rb_wire_methods.c. */
static VALUE rpc_native_rpc_define_line(VALUE self, VALUE rpc) {
    rb_ext_ractor_safe(false);
    plait_define_rpc_line(rpc);
    rb_ext_ractor_safe(true);
    return self;
}

/* define_call_batch(rpc) */
static VALUE rpc_native_rpc_define_call_batch(VALUE self, VALUE rpc) {
    rb_ext_ractor_safe(false);
    plait_init_rpc_call_batch(rpc);
    rb_ext_ractor_safe(true);
    return self;
}

#ifdef HAVE_PLAIT_EPOLL
/* define_round(rpc) */
static VALUE rpc_native_rpc_define_round(VALUE self, VALUE rpc) {
    rb_ext_ractor_safe(false);
    plait_init_rpc_round(rpc);
    rb_ext_ractor_safe(true);
    return self;
}
#endif

/* define_batch(rpc) */
static VALUE rpc_native_rpc_define_batch(VALUE self, VALUE rpc) {
    rb_ext_ractor_safe(false);
    plait_init_rpc_batch(rpc);
    plait_init_rpc_batch_run(rpc);
    rb_ext_ractor_safe(true);
    return self;
}

void plait_init_rpc(VALUE plait) {
    plait_init_rpc_line();
    plait_init_rpc_line_members();
    plait_init_rpc_line_roles();
    plait_init_rpc_line_end();
    plait_init_rpc_line_receive();
    plait_init_rpc_line_send();
    VALUE native = rb_define_module_under(plait, "NativeRPC");
    rb_define_singleton_method(native, "define_line", rpc_native_rpc_define_line, 1);
    rb_define_singleton_method(native, "define_batch", rpc_native_rpc_define_batch, 1);
    rb_define_singleton_method(native, "define_call_batch", rpc_native_rpc_define_call_batch, 1);
#ifdef HAVE_PLAIT_EPOLL
    rb_define_singleton_method(native, "define_round", rpc_native_rpc_define_round, 1);
#endif
}
