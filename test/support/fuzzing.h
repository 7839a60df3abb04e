/*
 * What the fuzzers of the engines share: the corpus, the dice, ways to mutate, a hash of what an input came to, and the rounds.
 * A fuzzer is one program that includes this once:
 *
 *     PROGRAM CORPUS SEED SECONDS
 *
 * CORPUS: "mode option size\n", then so many bytes and "\n", again and again. Prints how many inputs it has tried. A failure
 * prints the round; the same SEED comes to it again.
 */
#ifndef PLAIT_FUZZING_H
#define PLAIT_FUZZING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LONGEST = 4096, SAMPLES = 2048, ROUNDS_BETWEEN_LOOKS = 100, LEAST_ROUNDS = 1000 };

struct sample {
    unsigned mode;   /* what these two say is the engine's */
    unsigned option;
    size_t size;
    char *data;
};

static struct sample samples[SAMPLES];
static size_t sample_count;
static uint64_t dice;
static unsigned long rounds;

static inline uint64_t random_bits(void) {
    dice += 0x9e3779b97f4a7c15ULL; /* splitmix64 */
    uint64_t z = dice;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static inline size_t below(size_t bound) {
    return bound ? (size_t)(random_bits() % bound) : 0;
}

static inline void require(bool condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "round %lu: %s\n", rounds, what);
    abort();
}

/* ---- what an input came to (FNV-1a) ---- */

#define EMPTY_HASH 0xcbf29ce484222325ULL

static inline void add_to_hash(uint64_t *hash, const void *data, size_t size) {
    for (size_t i = 0; i < size; i++) *hash = (*hash ^ ((const unsigned char *)data)[i]) * 0x100000001b3ULL;
}

/* In memory of exactly its size, so that a byte read beyond it is found. */
static inline char *copy_of(const char *data, size_t size) {
    char *copy = malloc(size ? size : 1);
    require(copy != NULL, "no memory");
    memcpy(copy, data, size);
    return copy;
}

/* ---- mutation: each returns the new size ---- */

static inline size_t insert(char *data, size_t size, size_t at, const char *bits, size_t length) {
    if (size + length > LONGEST) return size;
    memmove(data + at + length, data + at, size - at);
    memcpy(data + at, bits, length);
    return size + length;
}

static inline size_t erase(char *data, size_t size, size_t at) {
    size_t length = below(8) + 1;
    if (at + length > size) length = size - at;
    memmove(data + at, data + at + length, size - at - length);
    return size - length;
}

/* A part of another sample. */
static inline size_t splice(char *data, size_t size, size_t at) {
    const struct sample *other = &samples[below(sample_count)];
    size_t from = below(other->size);
    return insert(data, size, at, other->data + from, below(other->size - from + 1));
}

/* ---- the corpus, and the rounds ---- */

static inline void read_corpus(const char *path) {
    FILE *file = fopen(path, "rb");
    require(file != NULL, "no corpus");
    struct sample sample;
    while (sample_count < SAMPLES && fscanf(file, "%u %u %zu", &sample.mode, &sample.option, &sample.size) == 3) {
        require(sample.size <= LONGEST && fgetc(file) == '\n', "a corpus that is none");
        sample.data = malloc(sample.size + 1);
        require(sample.data && fread(sample.data, 1, sample.size, file) == sample.size, "a corpus that ends too soon");
        samples[sample_count++] = sample;
    }
    fclose(file);
    require(sample_count > 0, "an empty corpus");
}

/* One of the corpus, to be changed: its data have room for LONGEST bytes. */
static inline struct sample any_sample(void) {
    static char data[LONGEST];
    struct sample sample = samples[below(sample_count)];
    memcpy(data, sample.data, sample.size);
    sample.data = data;
    return sample;
}

static inline int fuzz(int count, char **arguments, void (*one_round)(void)) {
    require(count == 4, "the arguments are CORPUS SEED SECONDS");
    read_corpus(arguments[1]);
    time_t end = time(NULL) + atoi(arguments[3]);
    uint64_t seed = strtoull(arguments[2], NULL, 10);
    while (time(NULL) < end || rounds <= LEAST_ROUNDS) {
        for (int i = 0; i < ROUNDS_BETWEEN_LOOKS; i++) {
            dice = seed + ++rounds;
            one_round();
        }
    }
    printf("%lu inputs\n", rounds);
    return 0;
}

#endif
