/* Wires the bindings; the engines know nothing of Ruby. */
#include "plait_io.h"

#include "tls/rb_tls.h"

const struct plait_core *plait_core;

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
