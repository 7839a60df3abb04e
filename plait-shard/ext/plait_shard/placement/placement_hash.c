/*
 * The hashes of twemproxy, as it computes them on x86: some of them take a byte from 0x80 on as a negative number, `crc32` and
 * `fnv1a_64` keep fewer bits than their names say. Data that was written through it is found.
 */
#include <string.h>

#include "placement_hash.h"

/* ---- cyclic redundancy checks ---- */

static uint16_t crc16_table[256]; /* XMODEM */

/* Before any thread can ask. */
__attribute__((constructor)) static void fill_table(void) {
    for (unsigned byte = 0; byte < 256; byte++) {
        uint16_t crc = (uint16_t)(byte << 8);
        for (int bit = 0; bit < 8; bit++) crc = (uint16_t)(crc << 1 ^ (crc & 0x8000 ? 0x1021 : 0));
        crc16_table[byte] = crc;
    }
}

static uint32_t placement_hash_crc32(const char *key, size_t size) {
    return placement_crc32(key, size) >> 16 & 0x7fff;
}

/* Without an end to its 32 bits: what is shifted out of the 16 stays, and counts in a modulo. */
static uint32_t placement_hash_crc16(const char *key, size_t size) {
    uint32_t crc = 0;
    for (size_t i = 0; i < size; i++) crc = crc << 8 ^ crc16_table[(crc >> 8 ^ (unsigned char)key[i]) & 0xff];
    return crc;
}

static uint32_t placement_hash_slot(const char *key, size_t size) {
    return placement_hash_crc16(key, size) & 0x3fff;
}

/* ---- multiplications and shifts ---- */

static uint32_t placement_hash_sign_extended(char byte) {
    return (uint32_t)(signed char)byte;
}

static uint32_t placement_hash_fnv1(const char *key, size_t size, uint32_t hash, uint32_t prime) {
    for (size_t i = 0; i < size; i++) hash = hash * prime ^ placement_hash_sign_extended(key[i]);
    return hash;
}

static uint32_t placement_hash_fnv1a(const char *key, size_t size, uint32_t hash, uint32_t prime) {
    for (size_t i = 0; i < size; i++) hash = (hash ^ placement_hash_sign_extended(key[i])) * prime;
    return hash;
}

/* Only the low half of the 64 bits is used, which the high one never reaches. */
enum { FNV_64_BASIS = (int)0x84222325, FNV_64_PRIME = 0x1b3, FNV_32_BASIS = (int)0x811c9dc5, FNV_32_PRIME = 0x1000193 };

static uint32_t placement_hash_fnv1_64(const char *key, size_t size) {
    return placement_hash_fnv1(key, size, (uint32_t)FNV_64_BASIS, FNV_64_PRIME);
}

static uint32_t placement_hash_fnv1a_64(const char *key, size_t size) {
    return placement_hash_fnv1a(key, size, (uint32_t)FNV_64_BASIS, FNV_64_PRIME);
}

static uint32_t placement_hash_fnv1_32(const char *key, size_t size) {
    return placement_hash_fnv1(key, size, (uint32_t)FNV_32_BASIS, FNV_32_PRIME);
}

static uint32_t placement_hash_fnv1a_32(const char *key, size_t size) {
    return placement_hash_fnv1a(key, size, (uint32_t)FNV_32_BASIS, FNV_32_PRIME);
}

/* Bob Jenkins, 1997. */
static uint32_t placement_hash_one_at_a_time(const char *key, size_t size) {
    uint32_t hash = 0;
    for (size_t i = 0; i < size; i++) {
        hash += placement_hash_sign_extended(key[i]);
        hash += hash << 10;
        hash ^= hash >> 6;
    }
    hash += hash << 3;
    hash ^= hash >> 11;
    return hash + (hash << 15);
}

static uint32_t placement_hash_two_bytes(const unsigned char *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
}

static uint32_t placement_hash_hsieh_rest(uint32_t hash, const unsigned char *bytes, size_t size) {
    if (size == 3) {
        hash += placement_hash_two_bytes(bytes);
        hash ^= hash << 16;
        hash ^= placement_hash_sign_extended((char)bytes[2]) << 18;
        return hash + (hash >> 11);
    }
    if (size == 2) {
        hash += placement_hash_two_bytes(bytes);
        hash ^= hash << 11;
        return hash + (hash >> 17);
    }
    if (size == 0) return hash;
    hash += bytes[0];
    hash ^= hash << 10;
    return hash + (hash >> 1);
}

/* Paul Hsieh, SuperFastHash. */
static uint32_t placement_hash_hsieh(const char *key, size_t size) {
    const unsigned char *bytes = (const unsigned char *)key;
    uint32_t hash = 0;
    for (; size >= 4; size -= 4, bytes += 4) {
        hash += placement_hash_two_bytes(bytes);
        hash = hash << 16 ^ (placement_hash_two_bytes(bytes + 2) << 11 ^ hash);
        hash += hash >> 11;
    }
    hash = placement_hash_hsieh_rest(hash, bytes, size);
    hash ^= hash << 3;
    hash += hash >> 5;
    hash ^= hash << 4;
    hash += hash >> 17;
    hash ^= hash << 25;
    return hash + (hash >> 6);
}

/* Austin Appleby, MurmurHash2, seeded with the length. */
static uint32_t placement_hash_murmur(const char *key, size_t size) {
    const uint32_t factor = 0x5bd1e995;
    const unsigned char *bytes = (const unsigned char *)key;
    uint32_t hash = 0xdeadbeef * (uint32_t)size ^ (uint32_t)size;
    for (; size >= 4; size -= 4, bytes += 4) {
        uint32_t word = placement_little_endian(bytes) * factor;
        word = (word ^ word >> 24) * factor;
        hash = hash * factor ^ word;
    }
    if (size == 3) hash ^= (uint32_t)bytes[2] << 16;
    if (size >= 2) hash ^= (uint32_t)bytes[1] << 8;
    if (size >= 1) hash = (hash ^ bytes[0]) * factor;
    hash = (hash ^ hash >> 13) * factor;
    return hash ^ hash >> 15;
}

static uint32_t placement_hash_rotate(uint32_t value, unsigned by) {
    return value << by | value >> (32 - by);
}

/* One step of the mixing: which of the three words, by the word before it, is added to the one behind it. */
static void placement_hash_jenkins_mix(uint32_t words[3]) {
    static const unsigned shifts[6] = {4, 6, 8, 16, 19, 4};
    for (unsigned i = 0; i < 6; i++) {
        uint32_t *this = &words[i % 3], *after = &words[(i + 1) % 3], *before = &words[(i + 2) % 3];
        *this -= *before;
        *this ^= placement_hash_rotate(*before, shifts[i]);
        *before += *after;
    }
}

static uint32_t placement_hash_jenkins_final(uint32_t words[3]) {
    static const unsigned shifts[7] = {14, 11, 25, 16, 4, 14, 24};
    for (unsigned i = 0; i < 7; i++) {
        uint32_t *this = &words[(i + 2) % 3], before = words[(i + 1) % 3];
        *this ^= before;
        *this -= placement_hash_rotate(before, shifts[i]);
    }
    return words[2];
}

/* Bob Jenkins, lookup3. */
static uint32_t placement_hash_jenkins(const char *key, size_t size) {
    const unsigned char *bytes = (const unsigned char *)key;
    uint32_t basis = 0xdeadbeef + (uint32_t)size + 13;
    uint32_t words[3] = {basis, basis, basis};
    for (; size > 12; size -= 12, bytes += 12) {
        for (int i = 0; i < 3; i++) words[i] += placement_little_endian(bytes + 4 * i);
        placement_hash_jenkins_mix(words);
    }
    if (size == 0) return words[2];

    unsigned char rest[12] = {0};
    memcpy(rest, bytes, size);
    for (int i = 0; i < 3; i++) words[i] += placement_little_endian(rest + 4 * i);
    return placement_hash_jenkins_final(words);
}

uint32_t placement_hash(enum placement_hash hash, const char *key, size_t size) {
    switch (hash) {
    case PLACEMENT_CRC32A: return placement_crc32(key, size);
    case PLACEMENT_CRC32: return placement_hash_crc32(key, size);
    case PLACEMENT_CRC16: return placement_hash_crc16(key, size);
    case PLACEMENT_SLOT: return placement_hash_slot(key, size);
    case PLACEMENT_FNV1_64: return placement_hash_fnv1_64(key, size);
    case PLACEMENT_FNV1A_64: return placement_hash_fnv1a_64(key, size);
    case PLACEMENT_FNV1_32: return placement_hash_fnv1_32(key, size);
    case PLACEMENT_FNV1A_32: return placement_hash_fnv1a_32(key, size);
    case PLACEMENT_ONE_AT_A_TIME: return placement_hash_one_at_a_time(key, size);
    case PLACEMENT_HSIEH: return size ? placement_hash_hsieh(key, size) : 0;
    case PLACEMENT_MURMUR: return placement_hash_murmur(key, size);
    case PLACEMENT_JENKINS: return placement_hash_jenkins(key, size);
    default: return placement_md5(key, size);
    }
}
