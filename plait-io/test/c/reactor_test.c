/* The reactor's engine from C: lists and the table under the sanitizers, and what several waiters see. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "reactor.h"

static void check(bool condition, const char *what, int line) {
    if (condition) return;
    fprintf(stderr, "line %d: %s\n", line, what);
    exit(1);
}
#define CHECK(condition) check((condition), #condition, __LINE__)

static struct reactor reactor;
static double now;

static void open_pair(int ends[2]) {
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
}

static void add(int number, int queue) {
    CHECK(reactor_add(&reactor, number, (uintptr_t)number, REACTOR_READABLE, queue, now += 1) == 0);
}

/* Returns whether the bell rang. */
static bool take_events(void) {
    struct epoll_event events[REACTOR_BATCH];
    bool rang = false;
    int count = reactor_sleep(&reactor, events, 0);
    for (int index = 0; index < count; index++) rang |= !reactor_take(&reactor, &events[index]);
    return rang;
}

/* Returns the number of the next ready one, or -1. */
static int next_ready(void) {
    const struct reactor_entry *entry = reactor_next_ready(&reactor);
    return entry ? (int)entry->token : -1;
}

static int next_expired(int queue, double before, int *cursor) {
    const struct reactor_entry *entry = reactor_next_expired(&reactor, queue, before, cursor);
    return entry ? (int)entry->token : -1;
}

static void test_bell(void) {
    CHECK(!take_events());
    reactor_wake(&reactor);
    reactor_wake(&reactor);
    CHECK(take_events() && !take_events());
}

/* One waiter has taken an event from the kernel and not noted it yet, while another thread arms the same descriptor again. */
static void test_a_late_note_is_void(void) {
    int ends[2];
    struct epoll_event event[REACTOR_BATCH];
    open_pair(ends);
    add(ends[0], 0);
    CHECK(write(ends[1], "x", 1) == 1);
    CHECK(reactor_sleep(&reactor, event, 0) == 1);
    CHECK(reactor_rearm(&reactor, ends[0], REACTOR_READABLE, 0, true, now) == 0);
    CHECK(reactor_take(&reactor, event) && next_ready() == -1);
    take_events();
    CHECK(next_ready() == ends[0] && next_ready() == -1);
    CHECK(reactor_remove(&reactor, ends[0]));
    CHECK(reactor_take(&reactor, event) && next_ready() == -1);
    close(ends[0]);
    close(ends[1]);
}

/* Closed without a word, and its number is another file's now, whether or not epoll still knows the old one (by a dup). */
static void test_another_file_of_the_same_number(void) {
    int old[2], new[2];
    open_pair(old);
    add(old[0], 0);
    int copy = dup(old[0]);
    open_pair(new);
    CHECK(dup2(new[0], old[0]) == old[0]);
    add(old[0], 1);
    CHECK(reactor.count == 1);
    CHECK(write(old[1], "x", 1) == 1);
    take_events();
    CHECK(next_ready() == -1);
    CHECK(write(new[1], "x", 1) == 1);
    take_events();
    CHECK(next_ready() == old[0]);
    CHECK(reactor_remove(&reactor, old[0]) && reactor.count == 0);
    for (int index = 0; index < 2; index++) close(old[index]), close(new[index]);
    close(copy);
}

static void rearm_drained(int number) {
    CHECK(reactor_rearm_drained(&reactor, number, now += 1) == 0);
}

static void send_one(int descriptor) {
    CHECK(write(descriptor, "x", 1) == 1);
    take_events();
}

static void read_one(int descriptor) {
    char byte;
    CHECK(next_ready() == descriptor && next_ready() == -1);
    CHECK(read(descriptor, &byte, 1) == 1);
}

/* It is read until nothing is left, and armed again without the kernel. What comes while it is taken is not lost, nor its end. */
static void test_drained_again_and_again(void) {
    int ends[2];
    open_pair(ends);
    add(ends[0], 1);
    for (int turn = 0; turn < 3; turn++) {
        send_one(ends[1]);
        read_one(ends[0]);
        rearm_drained(ends[0]);
        take_events();
        CHECK(next_ready() == -1 && reactor_find(&reactor, ends[0])->lasts);
    }
    send_one(ends[1]);
    CHECK(next_ready() == ends[0]);
    send_one(ends[1]);
    CHECK(next_ready() == -1 && !reactor_find(&reactor, ends[0])->lasts);
    rearm_drained(ends[0]);
    take_events();
    read_one(ends[0]);
    close(ends[1]);
    for (int turn = 0; turn < 2; turn++) {
        rearm_drained(ends[0]);
        take_events();
        CHECK(next_ready() == ends[0]);
    }
    CHECK(reactor_remove(&reactor, ends[0]) && reactor_rearm_drained(&reactor, ends[0], now) == ENOENT);
    close(ends[0]);
}

static void test_errors(void) {
    int file = open("/dev/null", O_RDONLY);
    int regular = open("/proc/self/exe", O_RDONLY);
    CHECK(reactor_add(&reactor, -1, 1, REACTOR_READABLE, 0, now) == EBADF);
    CHECK(reactor_add(&reactor, 900, 1, REACTOR_READABLE, 0, now) == EBADF);
    CHECK(reactor_add(&reactor, regular, 1, REACTOR_READABLE, 0, now) == EPERM);
    CHECK(reactor_rearm(&reactor, file, REACTOR_READABLE, 0, false, now) == ENOENT);
    CHECK(!reactor_remove(&reactor, file) && !reactor_find(&reactor, 1 << 20) && !reactor_find(&reactor, -5));
    CHECK(reactor.count == 0 && !reactor_oldest(&reactor, 0));
    close(file);
    close(regular);
}

enum { CROWD = 1500 };
static int crowd[CROWD][2];

static void count_one(struct reactor_entry *entry, void *count) {
    CHECK(entry->state != REACTOR_ABSENT);
    (*(int *)count)++;
}

/* Several chunks of the table; queues stay whole while their middles are taken out. */
static void test_a_crowd(void) {
    double before = now + 1;
    int count = 0, cursor = REACTOR_NONE;
    for (int index = 0; index < CROWD; index++) open_pair(crowd[index]), add(crowd[index][0], index % 2);
    CHECK(reactor.count == CROWD && reactor_bytes(&reactor) >= CROWD * sizeof(struct reactor_entry));
    for (int index = 0; index < CROWD; index += 3) CHECK(reactor_remove(&reactor, crowd[index][0]));
    for (int index = 1; index < CROWD; index += 3) CHECK(write(crowd[index][1], "x", 1) == 1);
    for (int round = 0; round < CROWD / REACTOR_BATCH; round++) take_events();
    for (int index = 1; index < CROWD; index += 3) CHECK(next_ready() == crowd[index][0]);
    CHECK(next_ready() == -1);
    for (int index = 2; index < CROWD; index += 3) {
        if (index % 2 == 0) CHECK(next_expired(0, now + 1, &cursor) == crowd[index][0]);
    }
    CHECK(next_expired(0, now + 1, &cursor) == -1);
    cursor = REACTOR_NONE;
    CHECK(next_expired(1, before, &cursor) == -1);
    reactor_each(&reactor, count_one, &count);
    CHECK(count == CROWD - CROWD / 3 && reactor.count == (size_t)count);
    for (int index = 0; index < CROWD; index++) close(crowd[index][0]), close(crowd[index][1]);
}

int main(void) {
    struct rlimit files = {4096, 4096};
    setrlimit(RLIMIT_NOFILE, &files);
    CHECK(reactor_open(&reactor) == 0);
    test_bell();
    test_a_late_note_is_void();
    test_another_file_of_the_same_number();
    test_drained_again_and_again();
    test_errors();
    test_a_crowd();
    reactor_close(&reactor);
    reactor_close(&reactor);
    CHECK(reactor.epoll == -1 && reactor.count == 0 && !reactor_find(&reactor, 5));
    puts("ok");
    return 0;
}
