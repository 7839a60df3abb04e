/* Plait::Protocols::MessagePackRPC::NativeParser, for other bindings that receive bytes. */
#ifndef PLAIT_RB_MESSAGEPACK_RPC_H
#define PLAIT_RB_MESSAGEPACK_RPC_H

#include <ruby.h>

/*
 * Where received bytes may be written: in the large string that is being received, else in the parser's buffer. *size: at
 * least 1, at most `wanted`, which is more than 0. It stays valid until something of this parser is called, or its large
 * string is changed; the GVL may be released meanwhile by who makes sure of that.
 */
char *plait_messagepack_rpc_room(VALUE parser, size_t wanted, size_t *size);

/* So many bytes have been written there. */
void plait_messagepack_rpc_received(VALUE parser, size_t size);

/* Bytes that are still to come of a large string. */
size_t plait_messagepack_rpc_missing(VALUE parser);

/* Copies bytes in. */
void plait_messagepack_rpc_feed(VALUE parser, const char *bytes, size_t size);

/* The error of a wrong call, to be raised. */
VALUE plait_messagepack_rpc_misuse(const char *message);

/* The binding's other half, called by plait_init_messagepack_rpc. */
void plait_init_messagepack_rpc_writer(VALUE messagepack_rpc);

#endif
