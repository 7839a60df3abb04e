/* Tags, and the way from a hash to a node. */
#include <string.h>

#include "placement.h"

static const char *placement_between(const char *key, size_t *size, char open, char close) {
    const char *begins = memchr(key, open, *size);
    if (!begins++) return key;

    const char *ends = memchr(begins, close, *size - (size_t)(begins - key));
    if (!ends || ends == begins) return key;

    *size = (size_t)(ends - begins);
    return begins;
}

/* memrchr(3) is not everywhere. */
static const char *placement_last_of(const char *key, size_t size, char byte) {
    while (size && key[size - 1] != byte) size--;
    return size ? key + size - 1 : NULL;
}

/* Behind the brace, up to the key's last byte. */
static const char *placement_behind(const char *key, size_t *size, const char *brace, bool may_be_empty) {
    size_t length = brace ? (size_t)(key + *size - 1 - (brace + 1)) : 0;
    if (!brace || (!length && !may_be_empty)) return key;

    *size = length;
    return brace + 1;
}

const char *placement_part(const struct placement *placement, const char *key, size_t *size) {
    if (placement->tag == PLACEMENT_WHOLE) return key;
    if (placement->tag == PLACEMENT_DELIMITED) return placement_between(key, size, placement->open, placement->close);
    if (*size == 0 || key[*size - 1] != '}') return key;
    if (placement->tag == PLACEMENT_LAST_BRACE) return placement_behind(key, size, placement_last_of(key, *size, '{'), true);
    return placement_behind(key, size, memchr(key, '{', *size), false);
}

static uint32_t placement_on_ring(const struct placement *placement, uint32_t hash) {
    uint32_t left = 0;
    uint32_t right = placement->count;
    while (left < right) {
        uint32_t middle = left + (right - left) / 2;
        if (placement->points[middle].value < hash) left = middle + 1;
        else right = middle;
    }
    return left == placement->count ? 0 : left;
}

uint32_t placement_place(const struct placement *placement, const char *key, size_t size) {
    key = placement_part(placement, key, &size);
    uint32_t hash = placement_hash(placement->hash, key, size);
    return placement->ring ? placement_on_ring(placement, hash) : hash % placement->count;
}

uint32_t placement_node(const struct placement *placement, const char *key, size_t size) {
    return placement->points[placement_place(placement, key, size)].node;
}
