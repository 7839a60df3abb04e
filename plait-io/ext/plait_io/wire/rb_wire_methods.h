/* What Ruby calls, for other callers. */
#ifndef PLAIT_RB_WIRE_METHODS_H
#define PLAIT_RB_WIRE_METHODS_H

#include "rb_wire.h"

/* A plain GET, of an exchange with its arguments; returns the response. */
VALUE plait_wire_get(struct exchange *exchange);

#endif
