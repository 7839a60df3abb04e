/* A plain GET on an idle connection of the cache. */
#ifndef PLAIT_RB_WIRE_CHECKOUT_H
#define PLAIT_RB_WIRE_CHECKOUT_H

#include "rb_wire.h"

void plait_define_wire_checkout(VALUE http);

#endif
