/*
 * Plait::RPC::NativeVisit: the leader of a server's workers at one connection. While nobody else says anything he waits at its
 * socket for what it says next, and runs it, without a line of Ruby's in between but the methods'. What is not a small request
 * whose method is quick is left to Ruby, and the visit ends.
 */
#ifndef PLAIT_RB_RPC_VISIT_H
#define PLAIT_RB_RPC_VISIT_H

#include <ruby.h>

void plait_init_rpc_visit(VALUE rpc);

#endif
