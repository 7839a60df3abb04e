/*
 * Small values, packed and unpacked without the gem msgpack, which takes longer to get ready for them than they take: nil,
 * booleans, integers, floats, Strings and Arrays of these. What else there is, the gem does.
 */
#ifndef PLAIT_RB_MESSAGEPACK_RPC_SMALL_H
#define PLAIT_RB_MESSAGEPACK_RPC_SMALL_H

#include <ruby.h>
#include <stddef.h>

/* Bytes of a packed value that is small. */
enum { MESSAGEPACK_RPC_SMALL = 512 };

/* Bytes of a String's header, at most. */
enum { MESSAGEPACK_RPC_STRING_HEADER = 5 };

/* Returns the bytes that the value takes, or 0: it isn't one of these, or needs more room. Runs no Ruby code. */
size_t plait_messagepack_rpc_pack_small(VALUE value, char *out, size_t room);

/* What comes before the bytes of a String, however large it is. Returns the header's bytes, or 0: it isn't one of these. */
size_t plait_messagepack_rpc_string_header(VALUE value, char out[MESSAGEPACK_RPC_STRING_HEADER]);

/* The value of exactly these bytes, or Qundef. */
VALUE plait_messagepack_rpc_unpack_small(const char *bytes, size_t size);

/* A packed Array becomes one with `first` before its elements; or Qundef. */
VALUE plait_messagepack_rpc_unpack_arguments(const char *bytes, size_t size, VALUE first);

/* Called by plait_init_messagepack_rpc. */
void plait_init_messagepack_rpc_small(VALUE messagepack_rpc);

#endif
