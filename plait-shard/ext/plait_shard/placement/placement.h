/*
 * Which node a key belongs to: its tag, a hash of that, and a table that Ruby has built from nodes and weights. libc only, no
 * allocation. The pure-Ruby twin is lib/plait/shard/placement/, which also builds the table.
 */
#ifndef PLAIT_PLACEMENT_H
#define PLAIT_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(constant, name): in twemproxy's words, and `slot`, the CRC16 of Redis Cluster. */
#define PLACEMENT_HASHES(X)                                                                                               \
    X(CRC32A, crc32a) X(CRC32, crc32) X(CRC16, crc16) X(SLOT, slot) X(FNV1_64, fnv1_64) X(FNV1A_64, fnv1a_64)              \
    X(FNV1_32, fnv1_32) X(FNV1A_32, fnv1a_32) X(ONE_AT_A_TIME, one_at_a_time) X(HSIEH, hsieh) X(MURMUR, murmur)            \
    X(JENKINS, jenkins) X(MD5, md5)

enum placement_hash {
#define PLACEMENT_NUMBER(constant, name) PLACEMENT_##constant,
    PLACEMENT_HASHES(PLACEMENT_NUMBER)
#undef PLACEMENT_NUMBER
    PLACEMENT_HASH_COUNT
};

enum placement_tag {
    PLACEMENT_WHOLE,       /* the key as a whole */
    PLACEMENT_DELIMITED,   /* between the first `open` and the next `close`, unless that is empty: Redis Cluster, twemproxy */
    PLACEMENT_LAST_BRACE,  /* redis-sharding: behind the last {, if the key ends in }; may be empty */
    PLACEMENT_FIRST_BRACE  /* redis-sharding in Perl: behind the first {, if the key ends in } and that is not empty */
};

struct placement_point {
    uint32_t value; /* on the ring; ascending */
    uint32_t node;  /* its index */
};

struct placement {
    const struct placement_point *points;
    uint32_t count; /* of them, at least 1 */
    uint8_t hash;   /* enum placement_hash */
    uint8_t tag;    /* enum placement_tag */
    bool ring;      /* the first point not below the hash, else the first of all; not a ring: the one at hash modulo count */
    char open;
    char close;
};

/* The hash of the whole of it. */
uint32_t placement_hash(enum placement_hash hash, const char *key, size_t size);

/* The part of a key that is hashed. */
const char *placement_part(const struct placement *placement, const char *key, size_t *size);

/* Which of the points that is; of slots, the slot. */
uint32_t placement_place(const struct placement *placement, const char *key, size_t size);

/* The index of its node. */
uint32_t placement_node(const struct placement *placement, const char *key, size_t size);

#endif
