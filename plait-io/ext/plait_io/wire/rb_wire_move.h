/* Moves the bytes of a wire, plain or by TLS. */
#ifndef PLAIT_RB_WIRE_MOVE_H
#define PLAIT_RB_WIRE_MOVE_H

#include "rb_wire.h"

/* ---- rb_wire_move.c ---- */

/* What a move of bytes returns instead of their number. */
enum { MOVE_WAITS = -1, MOVE_FAILED = -2 };

/*
 * Without waiting, and without any other fiber or thread meanwhile. Both return how many bytes there were, MOVE_WAITS, or
 * MOVE_FAILED with `failure` set. Of receiving, 0 is the end, and `drained` says whether the next one has to wait. After a
 * MOVE_WAITS of sending the same bytes have to come next; they may lie elsewhere.
 */
ssize_t plait_wire_receive_now(struct exchange *exchange, char *to, size_t room);
ssize_t plait_wire_send_now(struct exchange *exchange, const char *bytes, size_t size, bool more);

/* Whether an idle connection is of no use. */
bool plait_wire_unasked(struct wire *wire);

#endif
