/* Inside of the placement's hashes. */
#ifndef PLAIT_PLACEMENT_HASH_H
#define PLAIT_PLACEMENT_HASH_H

#include "placement.h"

uint32_t placement_md5(const char *key, size_t size);

#endif
