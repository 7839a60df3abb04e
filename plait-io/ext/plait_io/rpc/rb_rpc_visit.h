/*
 * Plait::RPC::NativeVisit: the leader of a server's workers at one connection. While no other connection is ready it waits at
 * this socket for the next request, and runs it, with no line of Ruby in between but the methods'. What is not a small request
 * whose method is quick is left to Ruby, and the visit ends.
 */
#ifndef PLAIT_RB_RPC_VISIT_H
#define PLAIT_RB_RPC_VISIT_H

#include <ruby.h>

void plait_init_rpc_visit(VALUE rpc);

#endif
