/* The memory of a wire, its end, and what surrounds each exchange. */
#ifndef PLAIT_RB_WIRE_EXCHANGE_H
#define PLAIT_RB_WIRE_EXCHANGE_H

#include "rb_wire.h"

/* Whether it is between two exchanges, this process's, and its peer still keeps it. */
bool plait_wire_reusable(const struct wire *wire);

/* Closes it, also under a fiber that is in an exchange. */
void plait_wire_release(struct wire *wire);

void plait_wire_init_exchange(struct exchange *exchange, VALUE self);

/* Takes the wire for the current fiber or thread; raises where it is not in that state. */
void plait_wire_enter(struct exchange *exchange, enum wire_state state);

/* What a request begins with: `started` and the timeouts are set. */
void plait_wire_begin(struct wire *wire, double deadline);

/* HTTP::Timeouts, or nil. */
void plait_wire_take_timeouts(VALUE self, VALUE timeouts);

/* Runs it, and leaves the wire: closed, if `run` has raised. */
VALUE plait_wire_guarded(struct exchange *exchange, VALUE (*run)(VALUE exchange));

/* Runs what may fail because the connection is broken, or closed by another fiber: calls `recover` then. */
VALUE plait_wire_quietly(const struct wire *wire, VALUE (*run)(VALUE), VALUE argument, VALUE (*recover)(VALUE, VALUE));

/* Closes the socket and nothing else. */
void plait_wire_close_raw(struct wire *wire);

/* Raises what the wire's method of that name says of a call in the wrong state. */
NORETURN(void plait_wire_misuse(VALUE self, const char *what));

void plait_init_wire_exchange(void);

#endif
