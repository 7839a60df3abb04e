/* What the bindings of this extension share. Engines don't include it: they know nothing of Ruby. */
#ifndef PLAIT_BINDINGS_H
#define PLAIT_BINDINGS_H

#include "plait_core.h"

/* Each binding of the extension, called once by Init_plait. */
void plait_init_cursor(VALUE plait);
void plait_init_deadlines(void);
void plait_init_files(VALUE plait);
void plait_init_gate(VALUE plait);
void plait_init_gvl(VALUE plait);
void plait_init_malloc(VALUE plait);
void plait_init_pipe(VALUE plait);
void plait_init_rulebook(void);
void plait_init_scheduler(VALUE plait);
void plait_init_selector(VALUE plait);
void plait_init_state(VALUE plait);

/* Counts the forks that led to this process: a connection belongs to the process that made it. */
unsigned plait_generation(void);

/* Of an IO; raises IOError when it is closed. */
int plait_descriptor_of(VALUE io);

/*
 * Whether the last item, task or request has left anything at the current fiber and thread (lib/plait/mechanisms/state.rb);
 * `own`: what the fiber has by itself, or nil.
 */
bool plait_state_left(VALUE own);
VALUE plait_state_own(void);

#endif
