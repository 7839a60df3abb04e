/* What all bindings share. Engines don't include it: they know nothing of Ruby. */
#ifndef PLAIT_H
#define PLAIT_H

#include <ruby.h>
#include <stdbool.h>
#include <time.h>

/* Each binding of the extension, called once by Init_plait. */
void plait_init_connect(VALUE plait);
void plait_init_deadlines(void);
void plait_init_http1(VALUE plait);
void plait_init_malloc(VALUE plait);
void plait_init_messagepack_rpc(VALUE plait);
void plait_init_placement(VALUE plait);
void plait_init_pool(VALUE plait);
void plait_init_reactor(VALUE plait);
void plait_init_resp(VALUE plait);
void plait_init_response(void);
void plait_init_rpc_line(VALUE plait);
void plait_init_rulebook(void);
void plait_init_scheduler(VALUE plait);
void plait_init_selector(VALUE plait);
void plait_init_shard(VALUE plait);
void plait_init_server(VALUE plait);
void plait_init_sqlite(VALUE plait);
void plait_init_state(VALUE plait);
void plait_init_wire(VALUE plait);

/* Counts the forks that led to this process: a connection belongs to the process that made it. */
unsigned plait_generation(void);

/*
 * Whether the last item, task or request has left anything at the current fiber and thread (lib/plait/mechanisms/state.rb);
 * `own`: what the fiber has by itself, or nil.
 */
bool plait_state_left(VALUE own);
VALUE plait_state_own(void);

/* Monotonic seconds. */
static inline double plait_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

#endif
