/* Wires the bindings; the engines know nothing of Ruby. */
#include "plait_io.h"

#include "tls/rb_tls.h"

const struct plait_core *plait_core;

/*
 * In one call: Ruby looks for interrupts as each method in C returns. Between `for_fd` and `autoclose=` one would leave an IO
 * behind with which a garbage collection closes whatever has the number by then.
 */
VALUE plait_io_to_wait_by(int descriptor) {
    VALUE arguments[] = {INT2FIX(descriptor), rb_hash_new()};
    rb_hash_aset(arguments[1], ID2SYM(rb_intern("autoclose")), Qfalse);
    return rb_funcallv_kw(rb_cIO, rb_intern("for_fd"), 2, arguments, RB_PASS_KEYWORDS);
}

RUBY_FUNC_EXPORTED void Init_plait_io(void) {
    VALUE plait = rb_define_module("Plait");
    plait_core_fetch(plait, "plait-io");
    plait_init_http1(plait);
    plait_init_messagepack_rpc(plait);
    plait_init_connect(plait);
#ifdef HAVE_PLAIT_EPOLL
    plait_init_reactor(plait);
#endif
#ifdef HAVE_PLAIT_SERVER
    plait_init_server(plait);
#endif
    plait_init_pool(plait);
    plait_init_sqlite(plait);
    plait_init_response();
    plait_init_wire(plait);
    plait_init_rpc(plait);
    plait_init_tls(plait);
}
