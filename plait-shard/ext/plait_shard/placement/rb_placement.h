/* For the binding of the shard. */
#ifndef PLAIT_RB_PLACEMENT_H
#define PLAIT_RB_PLACEMENT_H

#include <ruby.h>

#include "placement.h"

/* Of a NativeShard::Placement, which owns its points. */
struct placement plait_placement(VALUE self);

#endif
