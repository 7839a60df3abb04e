/* The placement's hashes and tags, against values that are known. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "placement.h"

static void check(bool condition, const char *what, int line) {
    if (condition) return;
    fprintf(stderr, "line %d: %s\n", line, what);
    exit(1);
}
#define CHECK(condition) check((condition), #condition, __LINE__)

static uint32_t hash(enum placement_hash kind, const char *key) {
    size_t size = strlen(key);
    char *copy = malloc(size ? size : 1); /* nothing behind it may be read */
    memcpy(copy, key, size);
    uint32_t value = placement_hash(kind, copy, size);
    free(copy);
    return value;
}

static void test_check_values(void) {
    CHECK(hash(PLACEMENT_CRC32A, "123456789") == 0xcbf43926);
    CHECK(hash(PLACEMENT_CRC32A, "The quick brown fox jumps over the lazy dog") == 0x414fa339);
    CHECK(hash(PLACEMENT_CRC32, "123456789") == (0xcbf43926 >> 16 & 0x7fff));
    CHECK((hash(PLACEMENT_CRC16, "123456789") & 0xffff) == 0x31c3);
    CHECK(hash(PLACEMENT_SLOT, "123456789") == 0x31c3);
    CHECK(hash(PLACEMENT_FNV1A_32, "foobar") == 0xbf9cf968 && hash(PLACEMENT_FNV1_32, "foobar") == 0x31f0b262);
    CHECK(hash(PLACEMENT_FNV1_64, "foobar") == (uint32_t)0x340d8765a4dda9c2 && hash(PLACEMENT_FNV1A_64, "foobar") == (uint32_t)0x85944171f73967e8);
    CHECK(hash(PLACEMENT_ONE_AT_A_TIME, "a") == 0xca2e9442);
    CHECK(hash(PLACEMENT_MD5, "") == 0xd98c1dd4 && hash(PLACEMENT_MD5, "abc") == 0x98500190);
}

static void test_every_length(void) {
    char key[300];
    memset(key, 0xe9, sizeof key);
    for (int kind = 0; kind < PLACEMENT_HASH_COUNT; kind++) {
        for (size_t size = 0; size < sizeof key; size++) {
            char *copy = malloc(size ? size : 1);
            memcpy(copy, key, size);
            placement_hash(kind, copy, size);
            free(copy);
        }
    }
}

/* Bit by bit; at every length and place, since long keys are done in another way. */
static void test_crc32_of_long_keys(void) {
    static char bytes[1200];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * 7 ^ i >> 3);
    for (size_t from = 0; from < 17; from++) {
        uint32_t crc = ~0U;
        for (size_t size = 0; from + size < sizeof bytes; size++) {
            CHECK(placement_hash(PLACEMENT_CRC32A, bytes + from, size) == ~crc);
            crc ^= (unsigned char)bytes[from + size];
            for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
        }
    }
}

static bool hashed(enum placement_tag tag, const char *key, const char *part) {
    struct placement placement = {.tag = tag, .open = '{', .close = '}'};
    size_t size = strlen(key);
    const char *found = placement_part(&placement, key, &size);
    return size == strlen(part) && memcmp(found, part, size) == 0;
}

static void test_tags(void) {
    CHECK(hashed(PLACEMENT_WHOLE, "a{b}", "a{b}"));
    CHECK(hashed(PLACEMENT_DELIMITED, "a{b}c{d}", "b") && hashed(PLACEMENT_DELIMITED, "a{}{d}", "a{}{d}"));
    CHECK(hashed(PLACEMENT_DELIMITED, "a}b{c", "a}b{c") && hashed(PLACEMENT_DELIMITED, "", ""));
    CHECK(hashed(PLACEMENT_DELIMITED, "{{a}", "{a"));
    CHECK(hashed(PLACEMENT_LAST_BRACE, "a{b{c}", "c") && hashed(PLACEMENT_LAST_BRACE, "a{}", ""));
    CHECK(hashed(PLACEMENT_LAST_BRACE, "a{b}c", "a{b}c") && hashed(PLACEMENT_LAST_BRACE, "a}", "a}"));
    CHECK(hashed(PLACEMENT_FIRST_BRACE, "a{b{c}", "b{c") && hashed(PLACEMENT_FIRST_BRACE, "a{}", "a{}"));
}

static void test_points(void) {
    static const struct placement_point points[] = {{10, 1}, {20, 2}, {UINT32_MAX - 1, 3}};
    struct placement placement = {.points = points, .count = 3, .hash = PLACEMENT_CRC32A};
    CHECK(placement_node(&placement, "123456789", 9) == points[0xcbf43926 % 3].node);
    placement.ring = true;
    CHECK(placement_node(&placement, "123456789", 9) == 3 && placement_node(&placement, "", 0) == 1);
    placement.count = 2;
    CHECK(placement_node(&placement, "123456789", 9) == 1);
}

int main(void) {
    test_check_values();
    test_every_length();
    test_crc32_of_long_keys();
    test_tags();
    test_points();
    puts("ok");
    return 0;
}
