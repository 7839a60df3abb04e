/* Inside of the placement's hashes. */
#ifndef PLAIT_PLACEMENT_HASH_H
#define PLAIT_PLACEMENT_HASH_H

#include "placement.h"

uint32_t placement_md5(const char *key, size_t size);
uint32_t placement_crc32(const char *key, size_t size);

static inline uint32_t placement_little_endian(const unsigned char *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

#endif
