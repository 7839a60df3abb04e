/* MD5 (RFC 1321), of which twemproxy uses the first four bytes. */
#include <string.h>

#include "placement_hash.h"

enum { BLOCK = 64, LENGTH_AT = 56 };

static const uint32_t SINES[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a,
    0xa8304613, 0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be,
    0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340,
    0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8,
    0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c,
    0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
    0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92,
    0xffeff47d, 0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1,
    0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

static const uint8_t SHIFTS[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

static uint32_t placement_md5_rotate(uint32_t value, unsigned by) {
    return value << by | value >> (32 - by);
}

/* The function of a step, and which word of the block it takes. */
static uint32_t placement_md5_mixed(unsigned step, const uint32_t state[4], unsigned *word) {
    uint32_t b = state[1], c = state[2], d = state[3];
    switch (step / 16) {
    case 0: *word = step; return (b & c) | (~b & d);
    case 1: *word = (5 * step + 1) % 16; return (d & b) | (~d & c);
    case 2: *word = (3 * step + 5) % 16; return b ^ c ^ d;
    default: *word = (7 * step) % 16; return c ^ (b | ~d);
    }
}

static void placement_md5_take_block(uint32_t sums[4], const unsigned char *block) {
    uint32_t state[4] = {sums[0], sums[1], sums[2], sums[3]};
    for (unsigned step = 0; step < 64; step++) {
        unsigned word;
        uint32_t value = placement_md5_mixed(step, state,
                                             &word) + state[0] + SINES[step] + placement_little_endian(block + 4 * word);
        state[0] = state[3];
        state[3] = state[2];
        state[2] = state[1];
        state[1] += placement_md5_rotate(value, SHIFTS[step / 16][step % 4]);
    }
    for (int i = 0; i < 4; i++) sums[i] += state[i];
}

uint32_t placement_md5(const char *key, size_t size) {
    uint32_t sums[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    const unsigned char *bytes = (const unsigned char *)key;
    uint64_t bits = (uint64_t)size * 8;
    for (; size >= BLOCK; size -= BLOCK, bytes += BLOCK) placement_md5_take_block(sums, bytes);

    unsigned char rest[2 * BLOCK] = {0};
    if (size) memcpy(rest, bytes, size);
    rest[size] = 0x80;
    size_t last = size < LENGTH_AT ? 0 : BLOCK;
    for (int i = 0; i < 8; i++) rest[last + LENGTH_AT + i] = (unsigned char)(bits >> (8 * i));
    for (size_t at = 0; at <= last; at += BLOCK) placement_md5_take_block(sums, rest + at);
    return sums[0];
}
