/* The answers that a wire receives, up to the end of their heads. */
#ifndef PLAIT_RB_WIRE_RECEIVE_H
#define PLAIT_RB_WIRE_RECEIVE_H

#include "rb_wire.h"

/* ---- rb_wire_receive.c ---- */

/* Before anything is sent, or the rest of it: prepares for the answer, with what has come of it already. */
void plait_wire_expect_head(struct exchange *exchange);

/* Takes in what there is, without waiting, while a request is being sent. */
void plait_wire_listen(struct exchange *exchange);

/* Waits for 100 or a final head; returns false when neither has come in time. */
bool plait_wire_await_continue(struct exchange *exchange);

enum { PLAIT_WIRE_INCOMING = 64 * 1024 };

/* The static buffer. */
extern char plait_wire_incoming[PLAIT_WIRE_INCOMING];

NORETURN(void plait_wire_raise_broken(const struct exchange *exchange, ptrdiff_t rule, uint64_t at));

/* Waits for at least one byte; 0 is the end. */
size_t plait_wire_receive(struct exchange *exchange, char *to, size_t room);

/* They lie where the next ones of `data` belong. */
void plait_wire_add(struct exchange *exchange, const char *bytes, size_t size);

void plait_wire_consume(struct exchange *exchange, size_t size);

/* As plait_wire_receive_now, and notes what there was. */
ssize_t plait_wire_hear(struct exchange *exchange, char *to, size_t room);

/* Of a request that was launched: takes in the beginning of its answer, without waiting. */
enum wire_arrival plait_wire_take_in(struct exchange *exchange);

/* Whether the answer is a success for the caller as it is, and its connection can be used again. */
bool plait_wire_is_plain(const struct http1_head *head);

/* What the next call needs of `data`. */
void plait_wire_store(struct exchange *exchange);

/* What the last call has stored. */
void plait_wire_load(struct exchange *exchange);

/* Room for as many fields as the limits allow, until the next switch. */
struct http1_header *plait_wire_fields(const struct wire *wire);

/* Waits until `head` is the final one. */
void plait_wire_receive_final_head(struct exchange *exchange);

/* The response that goes with the head, which is consumed. */
VALUE plait_wire_begin_response(struct exchange *exchange);

void plait_init_wire_receive(void);

#endif
