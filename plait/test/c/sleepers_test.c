/* Sleepers: whoever is added and not taken out comes up, in the order of the times, and nobody else. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "sleepers.h"

static void check(bool condition, const char *what, int line) {
    if (condition) return;
    fprintf(stderr, "line %d: %s\n", line, what);
    exit(1);
}
#define CHECK(condition) check((condition), #condition, __LINE__)

enum { MANY = 1000 };

static struct sleeper all[MANY];

static void add(struct sleepers *sleepers, int index) {
    all[index].at = rand() % 100;
    CHECK(sleepers_add(sleepers, &all[index]) == 0);
}

static void test_random_orders(unsigned seed) {
    struct sleepers sleepers = {0};
    srand(seed);
    for (int index = 0; index < MANY; index++) add(&sleepers, index);
    ptrdiff_t left = MANY;
    for (int times = 0; times < MANY; times++) {
        struct sleeper *sleeper = &all[rand() % MANY];
        if (sleeper->place != SLEEPERS_NOWHERE) left--;
        sleepers_remove(&sleepers, sleeper);
        CHECK(sleeper->place == SLEEPERS_NOWHERE && sleepers.size == left);
    }
    double last = 0;
    struct sleeper *first;
    while ((first = sleepers_first(&sleepers))) {
        CHECK(first->at >= last);
        last = first->at;
        sleepers_remove(&sleepers, first);
        left--;
    }
    CHECK(left == 0);
    sleepers_free(&sleepers);
}

static void test_nobody(void) {
    struct sleepers sleepers = {0};
    CHECK(!sleepers_first(&sleepers));
    sleepers_free(&sleepers);
}

int main(void) {
    for (unsigned seed = 0; seed < 50; seed++) test_random_orders(seed);
    test_nobody();
    puts("ok");
    return 0;
}
