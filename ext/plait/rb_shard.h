/* Plait::NativeShard::Plane, for the other files of its binding. */
#ifndef PLAIT_RB_SHARD_H
#define PLAIT_RB_SHARD_H

#include "plait.h"

#ifdef __linux__

#include "shard.h"

/* NULL: it is not running, or it is the parent's. */
struct shard *plait_shard_of(VALUE plane);

/* Further methods. */
void plait_init_shard_metrics(VALUE class);

#endif
#endif
