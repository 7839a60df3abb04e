/* Ropes: what is copied, referred to, borrowed and written in parts is what comes out. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shard_rope.h"

static void check(bool condition, const char *what, int line) {
    if (condition) return;
    fprintf(stderr, "line %d: %s\n", line, what);
    exit(1);
}
#define CHECK(condition) check((condition), #condition, __LINE__)

enum { SOURCE = 1 << 20 };

static char source[SOURCE], got[SOURCE * 2];
static struct shard_blocks blocks;

static size_t drain(int socket, size_t had) {
    ssize_t size;
    while ((size = recv(socket, got + had, sizeof got - had, MSG_DONTWAIT)) > 0) had += (size_t)size;
    return had;
}

/* Pieces of random sizes, added in every way; the reader is slow, so that writes are short. */
static void test_random_pieces(unsigned seed) {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    struct shard_buffer *buffer = shard_buffer_new(SOURCE);
    memcpy(buffer->bytes, source, SOURCE);
    struct shard_rope rope = {0};
    size_t at = 0, had = 0;
    srand(seed);
    while (at < SOURCE) {
        static const size_t sizes[] = {0, 1, 50, 1023, 1024, 9000, 70000};
        size_t size = sizes[(size_t)rand() % 7];
        if (size > SOURCE - at) size = SOURCE - at;
        switch (rand() % 3) {
        case 0: CHECK(shard_rope_copy(&rope, &blocks, source + at, size)); break;
        case 1: CHECK(shard_rope_refer(&rope, &blocks, source + at, size, NULL)); break;
        default: CHECK(shard_rope_refer(&rope, &blocks, buffer->bytes + at, size, buffer));
        }
        at += size;
        if (rand() % 4) continue;
        int error = shard_rope_write(&rope, &blocks, ends[0]);
        CHECK(error == 0 || error == EAGAIN);
        CHECK(shard_rope_settle(&rope, &blocks) && rope.borrowed == 0);
        if (rand() % 2) had = drain(ends[1], had);
    }
    shard_buffer_drop(buffer);
    while (shard_rope_write(&rope, &blocks, ends[0]) == EAGAIN) had = drain(ends[1], had);
    had = drain(ends[1], had);
    CHECK(had == SOURCE && memcmp(got, source, SOURCE) == 0 && rope.size == 0 && !rope.first);
    close(ends[0]);
    close(ends[1]);
}

static void test_moves(void) {
    struct shard_rope one = {0}, other = {0};
    shard_rope_move(&one, &other);
    CHECK(!one.first);
    shard_rope_copy(&other, &blocks, "ab", 2);
    shard_rope_move(&one, &other);
    shard_rope_copy(&other, &blocks, "cd", 2);
    shard_rope_move(&one, &other);
    CHECK(one.size == 4 && other.size == 0 && !other.first);
    shard_rope_clear(&one, &blocks);
    CHECK(one.size == 0 && !one.first);
}

static void test_broken_connection(void) {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    close(ends[1]);
    struct shard_rope rope = {0};
    shard_rope_copy(&rope, &blocks, "ab", 2);
    CHECK(shard_rope_write(&rope, &blocks, ends[0]) == EPIPE);
    shard_rope_clear(&rope, &blocks);
    close(ends[0]);
}

int main(void) {
    for (size_t i = 0; i < SOURCE; i++) source[i] = (char)(i * 31 >> 3 ^ i);
    for (unsigned seed = 1; seed <= 20; seed++) test_random_pieces(seed);
    test_moves();
    test_broken_connection();
    shard_blocks_trim(&blocks, 0);
    CHECK(!blocks.own && !blocks.references);
    puts("ok");
    return 0;
}
