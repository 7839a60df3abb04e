/* Heads of ordinary requests. */
#ifndef PLAIT_RB_WIRE_HEAD_H
#define PLAIT_RB_WIRE_HEAD_H

#include <ruby.h>

/* Defines NativeHTTP.head. */
void plait_init_wire_head(VALUE native);

#endif
