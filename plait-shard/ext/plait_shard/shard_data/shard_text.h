/* Bytes that another object keeps. */
#ifndef PLAIT_SHARD_TEXT_H
#define PLAIT_SHARD_TEXT_H

#include <stddef.h>

struct shard_text {
    const char *data;
    size_t size;
};

#endif
