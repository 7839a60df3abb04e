/* The bytes around packed values. */
#include <string.h>

#include "messagepack_rpc.h"

static size_t messagepack_rpc_write_put(char *out, unsigned char first, uint64_t number, size_t size) {
    out[0] = (char)first;
    for (size_t i = size; i > 0; i--, number >>= 8) out[i] = (char)(number & 0xff);
    return size + 1;
}

static size_t messagepack_rpc_write_unsigned(char *out, uint64_t number) {
    if (number < 0x80) return messagepack_rpc_write_put(out, (unsigned char)number, 0, 0);
    if (number <= UINT8_MAX) return messagepack_rpc_write_put(out, 0xcc, number, 1);
    if (number <= UINT16_MAX) return messagepack_rpc_write_put(out, 0xcd, number, 2);
    return number <= UINT32_MAX
        ? messagepack_rpc_write_put(out, 0xce, number, 4) : messagepack_rpc_write_put(out, 0xcf, number, 8);
}

size_t mprpc_write_head(char head[MPRPC_HEAD], enum mprpc_kind kind, uint64_t id) {
    head[0] = (char)(kind == MPRPC_NOTIFICATION ? 0x93 : 0x94);
    head[1] = (char)kind;
    return kind == MPRPC_NOTIFICATION ? 2 : 2 + messagepack_rpc_write_unsigned(head + 2, id);
}

size_t mprpc_write_string_header(char header[MPRPC_STRING_HEADER], uint32_t size, bool raw) {
    if (size < 32) return messagepack_rpc_write_put(header, (unsigned char)(0xa0 | size), 0, 0);
    if (size <= UINT8_MAX && !raw) return messagepack_rpc_write_put(header, 0xd9, size, 1);
    return size <= UINT16_MAX
        ? messagepack_rpc_write_put(header, 0xda, size, 2) : messagepack_rpc_write_put(header, 0xdb, size, 4);
}

bool mprpc_begins_array(unsigned char first) {
    return (first & 0xf0) == 0x90 || first == 0xdc || first == 0xdd;
}
