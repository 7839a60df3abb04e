/* Runs the requests of a batch. */
#ifndef PLAIT_RB_RPC_BATCH_RUN_H
#define PLAIT_RB_RPC_BATCH_RUN_H

#include <ruby.h>

/* Runs the next ones, see plait-rpc/lib/plait/rpc/server/backlog.rb. Returns whether the next one is for Ruby to run. */
VALUE plait_rpc_batch_run(VALUE batch, VALUE handler);

void plait_init_rpc_batch_run(VALUE rpc);

#endif
