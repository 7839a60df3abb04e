/*
 * CRC-32 of zlib, gzip and PNG (reflected 0x04c11db7). Long keys by carry-less multiplication where the processor has it, as in
 * Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009; the rest eight bytes at a
 * time, with a table for each place.
 */
#include "placement_hash.h"

enum { SLICES = 8 };

static uint32_t tables[SLICES][256]; /* [n][b]: what byte b comes to behind n more of them */

/* Before any thread can ask. */
__attribute__((constructor)) static void fill_tables(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
        tables[0][byte] = crc;
    }
    for (int slice = 1; slice < SLICES; slice++) {
        for (int byte = 0; byte < 256; byte++) {
            uint32_t crc = tables[slice - 1][byte];
            tables[slice][byte] = crc >> 8 ^ tables[0][crc & 0xff];
        }
    }
}

static uint32_t placement_crc32_by_tables(uint32_t crc, const unsigned char *bytes, size_t size) {
    for (; size >= SLICES; size -= SLICES, bytes += SLICES) {
        uint32_t low = crc ^ placement_little_endian(bytes);
        uint32_t high = placement_little_endian(bytes + 4);
        crc = tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^ tables[5][low >> 16 & 0xff] ^ tables[4][low >> 24] ^
              tables[3][high & 0xff] ^ tables[2][high >> 8 & 0xff] ^ tables[1][high >> 16 & 0xff] ^ tables[0][high >> 24];
    }
    while (size--) crc = crc >> 8 ^ tables[0][(crc ^ *bytes++) & 0xff];
    return crc;
}

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#define CARRYLESS __attribute__((target("pclmul,sse4.1")))

enum { VECTOR = 16, VECTORS = 4 };

/* In registers, and none waits for another: at -O2 such loops stay loops, and the vectors in memory. */
#ifdef __clang__
#define SIDE_BY_SIDE _Pragma("unroll")
#else
#define SIDE_BY_SIDE _Pragma("GCC unroll 4")
#endif

static bool can_multiply;

__attribute__((constructor)) static void ask_processor(void) {
    __builtin_cpu_init();
    can_multiply = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

CARRYLESS static __m128i load(const unsigned char *bytes) {
    return _mm_loadu_si128((const __m128i *)bytes);
}

/* Moves a vector ahead, over what the constants stand for, onto the next one. */
CARRYLESS static __m128i fold(__m128i vector, __m128i constants, __m128i next) {
    __m128i low = _mm_clmulepi64_si128(vector, constants, 0x00);
    __m128i high = _mm_clmulepi64_si128(vector, constants, 0x11);
    return _mm_xor_si128(next, _mm_xor_si128(low, high));
}

/* 128 bits to 64, to 32 by Barrett's reduction. */
CARRYLESS static uint32_t reduce(__m128i vector, __m128i near) {
    const __m128i words = _mm_setr_epi32(~0, 0, ~0, 0);
    const __m128i last = _mm_set_epi64x(0, 0x0163cd6124);
    const __m128i barrett = _mm_set_epi64x(0x01f7011641, 0x01db710641);
    vector = _mm_xor_si128(_mm_srli_si128(vector, 8), _mm_clmulepi64_si128(vector, near, 0x10));
    __m128i upper = _mm_srli_si128(vector, 4);
    vector = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(vector, words), last, 0x00), upper);
    __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(vector, words), barrett, 0x10);
    __m128i product = _mm_clmulepi64_si128(_mm_and_si128(quotient, words), barrett, 0x00);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(vector, product), 1);
}

/* A multiple of a vector, four vectors at least. */
CARRYLESS static uint32_t by_multiplication(uint32_t crc, const unsigned char *bytes, size_t size) {
    const __m128i far = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
    const __m128i near = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
    __m128i vectors[VECTORS];
    SIDE_BY_SIDE
    for (int i = 0; i < VECTORS; i++) vectors[i] = load(bytes + i * VECTOR);
    vectors[0] = _mm_xor_si128(vectors[0], _mm_cvtsi32_si128((int)crc));
    bytes += VECTORS * VECTOR;
    size -= VECTORS * VECTOR;
    for (; size >= VECTORS * VECTOR; size -= VECTORS * VECTOR, bytes += VECTORS * VECTOR) {
        SIDE_BY_SIDE
        for (int i = 0; i < VECTORS; i++) vectors[i] = fold(vectors[i], far, load(bytes + i * VECTOR));
    }
    __m128i vector = vectors[0];
    SIDE_BY_SIDE
    for (int i = 1; i < VECTORS; i++) vector = fold(vector, near, vectors[i]);
    for (; size >= VECTOR; size -= VECTOR, bytes += VECTOR) vector = fold(vector, near, load(bytes));
    return reduce(vector, near);
}

static size_t placement_crc32_multiply(uint32_t *crc, const unsigned char *bytes, size_t size) {
    if (!can_multiply || size < VECTORS * VECTOR) return 0;

    size_t part = size - size % VECTOR;
    *crc = by_multiplication(*crc, bytes, part);
    return part;
}

#else

static size_t placement_crc32_multiply(uint32_t *crc, const unsigned char *bytes, size_t size) {
    (void)crc, (void)bytes, (void)size;
    return 0;
}

#endif

uint32_t placement_crc32(const char *key, size_t size) {
    const unsigned char *bytes = (const unsigned char *)key;
    uint32_t crc = ~0U;
    size_t done = placement_crc32_multiply(&crc, bytes, size);
    return ~placement_crc32_by_tables(crc, bytes + done, size - done);
}
