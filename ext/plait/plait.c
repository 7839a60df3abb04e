/* Wires the bindings; the engines know nothing of Ruby. */
#include "plait.h"

#include <pthread.h>

static unsigned generation;

unsigned plait_generation(void) {
    return generation;
}

static void count_fork(void) {
    generation++;
}

RUBY_FUNC_EXPORTED void Init_plait(void) {
    VALUE plait = rb_define_module("Plait");
    pthread_atfork(NULL, NULL, count_fork);
    plait_init_rulebook();
    plait_init_http1(plait);
    plait_init_messagepack_rpc(plait);
    plait_init_resp(plait);
    plait_init_connect(plait);
    plait_init_deadlines();
    plait_init_malloc(plait);
    plait_init_scheduler(plait);
#ifdef __linux__
    plait_init_reactor(plait);
    plait_init_selector(plait);
    plait_init_shard(plait);
    plait_init_server(plait);
#endif
    plait_init_placement(plait);
    plait_init_pool(plait);
    plait_init_sqlite(plait);
    plait_init_state(plait);
    plait_init_response();
    plait_init_wire(plait);
    plait_init_rpc_line(plait);
}
