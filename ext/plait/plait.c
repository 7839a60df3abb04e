/* Wires the bindings; the engines know nothing of Ruby. */
#include "plait.h"

RUBY_FUNC_EXPORTED void Init_plait(void) {
    VALUE plait = rb_define_module("Plait");
    plait_init_http1(plait);
    plait_init_messagepack_rpc(plait);
    plait_init_connect(plait);
    plait_init_deadlines();
    plait_init_scheduler(plait);
#ifdef __linux__
    plait_init_reactor(plait);
    plait_init_selector(plait);
#endif
    plait_init_pool(plait);
    plait_init_response();
    plait_init_wire(plait);
}
