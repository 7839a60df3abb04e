/* Moves the bytes of a wire, plain or by TLS. */
#ifndef PLAIT_RB_WIRE_MOVE_H
#define PLAIT_RB_WIRE_MOVE_H

#include "rb_wire.h"

/* ---- rb_wire_move.c ---- */

/* What a move of bytes returns instead of their number. */
enum { MOVE_WAITS = -1, MOVE_FAILED = -2 };

/*
 * Without waiting. Both return how many bytes there were, MOVE_WAITS with the events to wait for, or MOVE_FAILED with
 * `failure` set. Of receiving, 0 is the end.
 */
ssize_t plait_wire_receive_now(struct exchange *exchange, char *to, size_t room, int *events);
ssize_t plait_wire_send_now(struct exchange *exchange, VALUE string, size_t from, bool more, int *events);

/* The same for a wire without TLS, of bytes that need no String. */
ssize_t plait_wire_send_bytes(struct exchange *exchange, const char *bytes, size_t size, bool more);

/* The class of TLS's errors, for wires with TLS only: for them it is loaded. */
VALUE plait_wire_tls_error(void);

/* Of a wire with TLS: whether decrypted bytes wait that no event will tell of. */
bool plait_wire_tls_pending(const struct wire *wire);

/* Whether an idle connection is of no use. */
bool plait_wire_unasked(struct wire *wire);

void plait_init_wire_move(void);

#endif
