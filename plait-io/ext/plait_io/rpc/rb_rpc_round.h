/*
 * Plait::RPC::NativeRound: the leader of a server's workers. It waits for all connections, and runs and answers the requests of
 * each that is ready, with no line of Ruby in between but the methods'. What is not a request of a quick method is left to Ruby.
 */
#ifndef PLAIT_RB_RPC_ROUND_H
#define PLAIT_RB_RPC_ROUND_H

#include <ruby.h>

void plait_init_rpc_round(VALUE rpc);

#endif
