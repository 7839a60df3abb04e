/* Requests of a wire. */
#ifndef PLAIT_RB_WIRE_SEND_H
#define PLAIT_RB_WIRE_SEND_H

#include "rb_wire.h"

/* ---- rb_wire_send.c ---- */

/* Raises LocalProtocolError for what can't be the target of a GET. */
void plait_wire_check_target(VALUE self, VALUE url, size_t offset);

/* GET, of the arguments in `exchange`. */
void plait_wire_send_get(struct exchange *exchange);

/* Whether they are right, and so short that it can be sent in one piece. */
bool plait_wire_small_get(const struct exchange *exchange);

/* Sends such a one, without waiting; returns what is left of it, or nil. */
VALUE plait_wire_send_small_get(struct exchange *exchange);

/* Sends `first`, a head or nil, and `second`, a body: nil, a String, or what yields Strings by `each`. */
void plait_wire_send(struct exchange *exchange);

void plait_init_wire_send(void);

#endif
