/* See reactor.h. */
#include "reactor.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Entries in a chunk of the table. */
enum { CHUNK = 512 };

/* In an event: the number, and the generation above it. */
enum { GENERATION_SHIFT = 32 };

/* Of the wakeup, in an event; no descriptor's. */
static const uint64_t WAKEUP = UINT64_MAX;

static const struct reactor_list EMPTY = {REACTOR_NONE, REACTOR_NONE};

/* ---- the table ---- */

static struct reactor_entry *reactor_at(const struct reactor *reactor, int number) {
    return &reactor->table[number / CHUNK][number % CHUNK];
}

struct reactor_entry *reactor_find(const struct reactor *reactor, int number) {
    if (number < 0 || number / CHUNK >= reactor->chunks || !reactor->table[number / CHUNK]) return NULL;

    struct reactor_entry *entry = reactor_at(reactor, number);
    return entry->state == REACTOR_ABSENT ? NULL : entry;
}

static int reactor_make_room(struct reactor *reactor, int number) {
    int chunk = number / CHUNK;
    if (chunk >= reactor->chunks) {
        struct reactor_entry **table = realloc(reactor->table, (size_t)(chunk + 1) * sizeof(*table));
        if (!table) return ENOMEM;

        reactor->table = table;
        while (reactor->chunks <= chunk) table[reactor->chunks++] = NULL;
    }
    if (!reactor->table[chunk]) reactor->table[chunk] = calloc(CHUNK, sizeof(struct reactor_entry));
    return reactor->table[chunk] ? 0 : ENOMEM;
}

void reactor_each(const struct reactor *reactor, void (*each)(struct reactor_entry *, void *), void *argument) {
    for (int chunk = 0; chunk < reactor->chunks; chunk++) {
        struct reactor_entry *entries = reactor->table[chunk];
        for (int index = 0; entries && index < CHUNK; index++) {
            if (entries[index].state != REACTOR_ABSENT) each(&entries[index], argument);
        }
    }
}

size_t reactor_bytes(const struct reactor *reactor) {
    size_t bytes = (size_t)reactor->chunks * sizeof(*reactor->table);
    for (int chunk = 0; chunk < reactor->chunks; chunk++) {
        if (reactor->table[chunk]) bytes += CHUNK * sizeof(struct reactor_entry);
    }
    return bytes;
}

/* ---- queues ---- */

static void reactor_append(struct reactor *reactor, struct reactor_entry *entry, int number, int queue, double now) {
    struct reactor_list *list = &reactor->queues[queue];
    entry->queue = (uint8_t)queue;
    entry->since = now;
    entry->before = list->last;
    entry->after = REACTOR_NONE;
    if (list->last == REACTOR_NONE) list->first = number;
    else reactor_at(reactor, list->last)->after = number;
    list->last = number;
}

static void reactor_unlink_entry(struct reactor *reactor, const struct reactor_entry *entry) {
    struct reactor_list *list = &reactor->queues[entry->queue];
    if (entry->before == REACTOR_NONE) list->first = entry->after;
    else reactor_at(reactor, entry->before)->after = entry->after;
    if (entry->after == REACTOR_NONE) list->last = entry->before;
    else reactor_at(reactor, entry->after)->before = entry->before;
}

struct reactor_entry *reactor_next_expired(struct reactor *reactor, int queue, double before, int *cursor) {
    int number = *cursor == REACTOR_NONE ? reactor->queues[queue].first : reactor_at(reactor, *cursor)->after;
    for (; number != REACTOR_NONE; number = reactor_at(reactor, number)->after) {
        struct reactor_entry *entry = reactor_at(reactor, number);
        if (entry->since >= before) return NULL;

        *cursor = number;
        if (entry->state != REACTOR_ARMED) continue;

        entry->state = REACTOR_TAKEN;
        return entry;
    }
    return NULL;
}

const struct reactor_entry *reactor_oldest(const struct reactor *reactor, int queue) {
    int number = reactor->queues[queue].first;
    while (number != REACTOR_NONE && reactor_at(reactor, number)->state != REACTOR_ARMED) {
        number = reactor_at(reactor, number)->after;
    }
    return number == REACTOR_NONE ? NULL : reactor_at(reactor, number);
}

/* ---- the ready ones ---- */

static void reactor_push_ready(struct reactor *reactor, struct reactor_entry *entry, int number) {
    entry->state = REACTOR_READY;
    if (entry->in_ready) return;

    entry->in_ready = true;
    entry->next_ready = REACTOR_NONE;
    if (reactor->ready.last == REACTOR_NONE) reactor->ready.first = number;
    else reactor_at(reactor, reactor->ready.last)->next_ready = number;
    reactor->ready.last = number;
}

struct reactor_entry *reactor_next_ready(struct reactor *reactor) {
    while (reactor->ready.first != REACTOR_NONE) {
        struct reactor_entry *entry = reactor_at(reactor, reactor->ready.first);
        reactor->ready.first = entry->next_ready;
        if (reactor->ready.first == REACTOR_NONE) reactor->ready.last = REACTOR_NONE;
        entry->in_ready = false;
        if (entry->state != REACTOR_READY) continue; /* removed or armed again meanwhile */

        entry->state = REACTOR_TAKEN;
        return entry;
    }
    return NULL;
}

/* ---- the kernel's side ---- */

/* In the place of events: reading, until another arming. */
enum { LASTING = -1 };

static uint32_t reactor_flags_of(int events) {
    if (events == LASTING) return EPOLLIN | EPOLLRDHUP | EPOLLET;

    uint32_t flags = EPOLLONESHOT;
    if (events & REACTOR_READABLE) flags |= EPOLLIN;
    if (events & REACTOR_WRITABLE) flags |= EPOLLOUT;
    return flags;
}

/* Each arming has a generation of its own: an unread event of an earlier arming is void. */
static int reactor_arm(const struct reactor *reactor, struct reactor_entry *entry, int number, int events, int operation) {
    struct epoll_event event = {.events = reactor_flags_of(events)};
    event.data.u64 = (uint64_t)(entry->generation + 1) << GENERATION_SHIFT | (uint32_t)number;
    if (epoll_ctl(reactor->epoll, operation, number, &event) != 0) return errno;

    entry->generation++;
    entry->state = REACTOR_ARMED;
    entry->lasts = events == LASTING;
    return 0;
}

/* The kernel may know the file, by this number, from before; or know another one, that has left. */
static int reactor_arm_anyhow(const struct reactor *reactor, struct reactor_entry *entry, int number, int events,
                              int operation) {
    int error = reactor_arm(reactor, entry, number, events, operation);
    if (error == EEXIST) return reactor_arm(reactor, entry, number, events, EPOLL_CTL_MOD);
    if (error == ENOENT) return reactor_arm(reactor, entry, number, events, EPOLL_CTL_ADD);
    return error;
}

static void reactor_forget(struct reactor *reactor, struct reactor_entry *entry) {
    reactor_unlink_entry(reactor, entry);
    entry->state = REACTOR_ABSENT;
    entry->token = 0;
    reactor->count--;
}

int reactor_add(struct reactor *reactor, int number, uintptr_t token, int events, int queue, double now) {
    if (number < 0) return EBADF;
    int error = reactor_make_room(reactor, number);
    if (error != 0) return error;

    struct reactor_entry *entry = reactor_at(reactor, number);
    bool known = entry->state != REACTOR_ABSENT;
    error = reactor_arm_anyhow(reactor, entry, number, events, EPOLL_CTL_ADD);
    if (error != 0) return error;

    if (known) reactor_unlink_entry(reactor, entry);
    else reactor->count++;
    entry->token = token;
    reactor_append(reactor, entry, number, queue, now);
    return 0;
}

static void reactor_renew(struct reactor *reactor, struct reactor_entry *entry, int number, int queue, double now) {
    reactor_unlink_entry(reactor, entry);
    reactor_append(reactor, entry, number, queue, now);
}

int reactor_rearm(struct reactor *reactor, int number, int events, int queue, bool keep, double now) {
    struct reactor_entry *entry = reactor_find(reactor, number);
    if (!entry) return ENOENT;
    int error = reactor_arm_anyhow(reactor, entry, number, events, EPOLL_CTL_MOD);
    if (error != 0 || (keep && entry->queue == queue)) return error;

    reactor_renew(reactor, entry, number, queue, now);
    return 0;
}

int reactor_rearm_drained(struct reactor *reactor, int number, double now) {
    struct reactor_entry *entry = reactor_find(reactor, number);
    if (!entry) return ENOENT;
    int error = entry->lasts ? 0 : reactor_arm_anyhow(reactor, entry, number, LASTING, EPOLL_CTL_MOD);
    if (error != 0) return error;

    entry->state = REACTOR_ARMED;
    reactor_renew(reactor, entry, number, 0, now);
    return 0;
}

bool reactor_remove(struct reactor *reactor, int number) {
    struct reactor_entry *entry = reactor_find(reactor, number);
    if (!entry) return false;

    epoll_ctl(reactor->epoll, EPOLL_CTL_DEL, number, NULL); /* fails when the file has left by itself */
    reactor_forget(reactor, entry);
    return true;
}

/* ---- sleep ---- */

int reactor_sleep(const struct reactor *reactor, struct epoll_event *events, int milliseconds) {
    return epoll_wait(reactor->epoll, events, REACTOR_BATCH, milliseconds);
}

static void reactor_clear_wakeup(const struct reactor *reactor) {
    uint64_t count;
    while (read(reactor->wakeup, &count, sizeof(count)) == -1 && errno == EINTR) continue;
}

/* The next arming finds what has come. */
static void reactor_silence(const struct reactor *reactor, struct reactor_entry *entry, const struct epoll_event *event) {
    if (!entry->lasts) return;

    struct epoll_event nothing = {.events = EPOLLONESHOT, .data = event->data};
    epoll_ctl(reactor->epoll, EPOLL_CTL_MOD, (int)(uint32_t)event->data.u64, &nothing);
    entry->lasts = false;
}

bool reactor_take(struct reactor *reactor, const struct epoll_event *event) {
    if (event->data.u64 == WAKEUP) {
        reactor_clear_wakeup(reactor);
        return false;
    }
    int number = (int)(uint32_t)event->data.u64;
    struct reactor_entry *entry = reactor_find(reactor, number);
    if (!entry || entry->generation != (uint32_t)(event->data.u64 >> GENERATION_SHIFT)) return true;

    if (entry->state == REACTOR_TAKEN) reactor_silence(reactor, entry, event);
    if (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) entry->lasts = false; /* the next arming finds the end again */
    if (entry->state == REACTOR_ARMED) reactor_push_ready(reactor, entry, number);
    return true;
}

void reactor_wake(const struct reactor *reactor) {
    int error = errno;
    uint64_t one = 1;
    while (write(reactor->wakeup, &one, sizeof(one)) == -1 && errno == EINTR) continue;
    errno = error;
}

/* ---- the whole ---- */

static int reactor_open_epoll(struct reactor *reactor) {
    reactor->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (reactor->epoll == -1) return errno;

    struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = WAKEUP}};
    return epoll_ctl(reactor->epoll, EPOLL_CTL_ADD, reactor->wakeup, &event) == 0 ? 0 : errno;
}

int reactor_open(struct reactor *reactor) {
    *reactor = (struct reactor){.epoll = -1, .wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .ready = EMPTY};
    for (int queue = 0; queue < REACTOR_QUEUES; queue++) reactor->queues[queue] = EMPTY;
    int error = reactor->wakeup == -1 ? errno : reactor_open_epoll(reactor);
    if (error != 0) reactor_close(reactor);
    return error;
}

void reactor_close(struct reactor *reactor) {
    if (reactor->epoll != -1) close(reactor->epoll);
    if (reactor->wakeup != -1) close(reactor->wakeup);
    for (int chunk = 0; chunk < reactor->chunks; chunk++) free(reactor->table[chunk]);
    free(reactor->table);
    *reactor = (struct reactor){.epoll = -1, .wakeup = -1, .ready = EMPTY};
    for (int queue = 0; queue < REACTOR_QUEUES; queue++) reactor->queues[queue] = EMPTY;
}
