/* The bodies of the answers that a wire receives. */
#ifndef PLAIT_RB_WIRE_BODY_H
#define PLAIT_RB_WIRE_BODY_H

#include "rb_wire.h"

/* ---- rb_wire_body.c ---- */

/* The answer, with its body. */
VALUE plait_wire_receive_whole(struct exchange *exchange);

/* The same, once the head is there. */
VALUE plait_wire_receive_rest(struct exchange *exchange);

/*
 * Of a request that was launched: begins to receive a body whose end has not come, goes on without waiting, and ends it.
 * `conclude` goes on and ends it, and waits.
 */
void plait_wire_begin_filling(struct exchange *exchange);
enum wire_arrival plait_wire_fill(struct exchange *exchange);
VALUE plait_wire_end_filling(struct exchange *exchange);
VALUE plait_wire_conclude_filling(struct exchange *exchange);

/* The answer, its body still to be read. */
VALUE plait_wire_receive_head(struct exchange *exchange);

/* The next bytes of that body, or nil at its end. */
VALUE plait_wire_receive_piece(struct exchange *exchange, VALUE buffer);

#endif
