/* Wires the bindings; the engines know nothing of Ruby. */
#include "plait_shard.h"

const struct plait_core *plait_core;

RUBY_FUNC_EXPORTED void Init_plait_shard(void) {
    VALUE plait = rb_define_module("Plait");
    plait_core_fetch(plait, "plait-shard");
    plait_init_resp(plait);
#ifdef HAVE_PLAIT_EPOLL
    plait_init_shard(plait);
#endif
    plait_init_placement(plait);
}
