/* Waiting for a wire: on a scheduler or on a thread, within the deadlines. */
#ifndef PLAIT_RB_WIRE_WAIT_H
#define PLAIT_RB_WIRE_WAIT_H

#include "rb_wire.h"

/* What a wait is for, and so which time it may take. */
enum wire_wait { WAIT_TO_SEND, WAIT_FOR_ANSWER, WAIT_FOR_MORE, WAIT_TO_CONTINUE };

/* ---- rb_wire_wait.c ---- */

/*
 * Waits for events, PLAIT_READABLE or PLAIT_WRITABLE or both, and returns which came. Raises ReadTimeout or WriteTimeout;
 * of WAIT_TO_CONTINUE it returns 0 after a while.
 */
int plait_wire_wait(struct exchange *exchange, int events, enum wire_wait why);

NORETURN(void plait_wire_raise_closed(const struct exchange *exchange));
NORETURN(void plait_wire_raise_late(const struct exchange *exchange, enum wire_wait why));

/* Raises as plait_wire_wait once the time for the whole is over. */
void plait_wire_check_time(const struct exchange *exchange, enum wire_wait why);

/*
 * Before a move that follows another one: a peer that is always ahead of us lets us never wait. Looks at the time, whether we
 * were closed, and lets others run once in a while.
 */
void plait_wire_keep_pace(const struct exchange *exchange, enum wire_wait why);

/* What its deadline calls: ends the connection. */
void plait_wire_expire(struct deadline *deadline);

/* Ends every wait for the wire. */
void plait_wire_shut_down(const struct wire *wire);

void plait_init_wire_wait(void);

#endif
