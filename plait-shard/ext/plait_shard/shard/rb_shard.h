/* Plait::NativeShard::Plane, for the other files of its binding. */
#ifndef PLAIT_RB_SHARD_H
#define PLAIT_RB_SHARD_H

#include "../plait_shard.h"

#include "shard.h"

/* NULL: it is not running, or it is the parent's. */
struct shard *plait_shard_of(VALUE plane);

/* Further methods. */
void plait_init_shard_commands(VALUE class);
void plait_init_shard_metrics(VALUE class);
void plait_init_shard_hot(VALUE class);
void plait_init_shard_topology(VALUE class);

/* [[packed address, label, host], …] */
void plait_shard_nodes(VALUE nodes, struct shard_node *to);

/* nil, or [masters, master of each node, whether each is read from, generation, partial]; returns what has to live as long as the plan. */
VALUE plait_shard_plan(VALUE plan, VALUE nodes, VALUE placement, struct shard_plan *to);

#endif
