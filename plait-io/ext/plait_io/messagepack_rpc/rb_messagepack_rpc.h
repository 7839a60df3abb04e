/* Plait::Protocols::MessagePackRPC::NativeParser and NativeWriter, for other bindings that receive and send bytes. */
#ifndef PLAIT_RB_MESSAGEPACK_RPC_H
#define PLAIT_RB_MESSAGEPACK_RPC_H

#include <ruby.h>
#include <stdbool.h>

/* ---- the parser: see there for what each does ---- */

/*
 * Where received bytes may be written: in the large string that is being received, else in the parser's buffer. *size: at
 * least 1, at most `wanted`, which is more than 0. It stays valid until something of this parser is called, or its large
 * string is changed; the GVL may be released meanwhile by a caller that makes sure of that.
 */
char *plait_messagepack_rpc_room(VALUE parser, size_t wanted, size_t *size);

/* So many bytes have been written there. */
void plait_messagepack_rpc_received(VALUE parser, size_t size);

/* Bytes that are still to come of a large string. */
size_t plait_messagepack_rpc_missing(VALUE parser);

/* Copies bytes in. */
void plait_messagepack_rpc_feed(VALUE parser, const char *bytes, size_t size);

/* What `next_event` tells. */
enum messagepack_rpc_event {
    MESSAGEPACK_RPC_MORE, /* bytes are needed */
    MESSAGEPACK_RPC_REQUEST,
    MESSAGEPACK_RPC_NOTIFICATION,
    MESSAGEPACK_RPC_RESPONSE,
    MESSAGEPACK_RPC_LARGE,
    MESSAGEPACK_RPC_DISCARDED,
    MESSAGEPACK_RPC_CLOSED
};

/* Raises what breaks the protocol. */
enum messagepack_rpc_event plait_messagepack_rpc_next_event(VALUE parser);

VALUE plait_messagepack_rpc_id(VALUE parser);
uint64_t plait_messagepack_rpc_number(VALUE parser); /* the id of one that has an id */
VALUE plait_messagepack_rpc_method_name(VALUE parser);
VALUE plait_messagepack_rpc_params(VALUE parser);
VALUE plait_messagepack_rpc_error(VALUE parser);
VALUE plait_messagepack_rpc_result(VALUE parser);

/* The arguments, unpacked, behind `first`, or the result; Qundef: they are not small, see rb_messagepack_rpc_small.h. */
VALUE plait_messagepack_rpc_small_params(VALUE parser, VALUE first);
VALUE plait_messagepack_rpc_small_result(VALUE parser);

/* The result, where it is nothing but a large String; else Qundef. */
VALUE plait_messagepack_rpc_large_result(VALUE parser);

void plait_messagepack_rpc_discard(VALUE parser);
bool plait_messagepack_rpc_idle(VALUE parser);

/* Whether the announced or arriving message is an answer. */
bool plait_messagepack_rpc_answers(VALUE parser);

/* The input is at its end: raises when that is inside a message. */
void plait_messagepack_rpc_end(VALUE parser);

/* ---- the writer ---- */

void plait_messagepack_rpc_write_request(VALUE writer, uint32_t id, VALUE method, VALUE params);
void plait_messagepack_rpc_write_notification(VALUE writer, VALUE method, VALUE params);
void plait_messagepack_rpc_write_result(VALUE writer, VALUE id, VALUE result);

/* As these, of what is packed already and known to be well-formed. */
void plait_messagepack_rpc_write_small_request(VALUE writer, uint32_t id, VALUE method, const char *params, size_t size);
void plait_messagepack_rpc_write_small_result(VALUE writer, VALUE id, const char *result, size_t size);

/* `data` may be nil. */
void plait_messagepack_rpc_write_error(VALUE writer, VALUE id, VALUE error, VALUE data);

/* Bytes. */
size_t plait_messagepack_rpc_pending(VALUE writer);

/* All that is pending, when that is one String of the writer's own; else nil. */
VALUE plait_messagepack_rpc_pending_tail(VALUE writer);

/* Nothing is pending any more; `keep` its memory for what comes. */
void plait_messagepack_rpc_clear(VALUE writer, bool keep);

/* All that is pending: an Array of Strings. */
VALUE plait_messagepack_rpc_take(VALUE writer);

/* ---- both ---- */

/* The error of a wrong call, to be raised. */
VALUE plait_messagepack_rpc_misuse(const char *message);

/* The binding's other half, called by plait_init_messagepack_rpc. */
void plait_init_messagepack_rpc_writer(VALUE messagepack_rpc);

/* After LimitExceeded: whether only this message is lost. */
bool plait_messagepack_rpc_excusable(VALUE self);

/* As that; then what is left of it is not kept. */
bool plait_messagepack_rpc_excuse(VALUE self);

#endif
