/* Runs the requests of a batch. */
#ifndef PLAIT_RB_RPC_BATCH_RUN_H
#define PLAIT_RB_RPC_BATCH_RUN_H

#include <ruby.h>

/* Runs the next ones, see plait-rpc/lib/plait/rpc/native_line.rb. Returns nil, or an Incoming that is taken and not run. */
VALUE plait_rpc_batch_run(VALUE batch, VALUE handler);

void plait_init_rpc_batch_run(VALUE rpc);

#endif
