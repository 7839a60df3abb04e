/* See epoll_set.h. */
#include "epoll_set.h"

#ifdef HAVE_PLAIT_EPOLL

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Descriptors in a chunk of the table: 32 kB. */
enum { CHUNK = 1024 };

/* In an event: the number, and the generation above it. */
enum { GENERATION_SHIFT = 32 };

/* Of the wakeup, in an event; no descriptor's. */
static const uint64_t WAKEUP = UINT64_MAX;

/* ---- lists ---- */

static void epoll_set_push(struct interest **list, struct interest *interest) {
    interest->next = *list;
    interest->back = list;
    if (*list) (*list)->back = &interest->next;
    *list = interest;
}

void epoll_set_remove(struct interest *interest) {
    if (!interest->back) return;

    *interest->back = interest->next;
    if (interest->next) interest->next->back = interest->back;
    interest->back = NULL;
}

static void epoll_set_finish(struct epoll_set *set, struct interest *interest, int ready) {
    epoll_set_remove(interest);
    interest->ready = ready;
    epoll_set_push(&set->ready, interest);
}

void epoll_set_expire(struct epoll_set *set, struct interest *interest) {
    if (interest->back && interest->ready == 0) epoll_set_finish(set, interest, 0);
}

void epoll_set_serve(struct epoll_set *set) {
    while (set->always) epoll_set_finish(set, set->always, set->always->events);
}

/* ---- the table ---- */

struct descriptor *epoll_set_find(const struct epoll_set *set, int number) {
    int chunk = number / CHUNK;
    if (number < 0 || chunk >= set->chunks || !set->table[chunk]) return NULL;
    return &set->table[chunk][number % CHUNK];
}

static int epoll_set_grow(struct epoll_set *set, int chunk) {
    struct descriptor **table = realloc(set->table, (size_t)(chunk + 1) * sizeof(*table));
    if (!table) return ENOMEM;

    set->table = table;
    while (set->chunks <= chunk) table[set->chunks++] = NULL;
    return 0;
}

/* As find, but makes room. */
static int epoll_set_find_or_add(struct epoll_set *set, int number, struct descriptor **found) {
    int chunk = number / CHUNK;
    if (number < 0) return EBADF;
    if (chunk >= set->chunks && epoll_set_grow(set, chunk) != 0) return ENOMEM;
    if (!set->table[chunk]) set->table[chunk] = calloc(CHUNK, sizeof(struct descriptor));
    if (!set->table[chunk]) return ENOMEM;

    *found = &set->table[chunk][number % CHUNK];
    return 0;
}

void epoll_set_each(const struct epoll_set *set, void (*each)(const struct descriptor *, void *), void *argument) {
    for (int chunk = 0; chunk < set->chunks; chunk++) {
        if (!set->table[chunk]) continue;
        for (int at = 0; at < CHUNK; at++) each(&set->table[chunk][at], argument);
    }
}

size_t epoll_set_size(const struct epoll_set *set) {
    size_t size = (size_t)set->chunks * sizeof(*set->table);
    for (int chunk = 0; chunk < set->chunks; chunk++) {
        if (set->table[chunk]) size += CHUNK * sizeof(struct descriptor);
    }
    return size;
}

/* ---- the kernel's side ---- */

static uint32_t epoll_set_flags_of(int events) {
    uint32_t flags = 0;
    if (events & EPOLL_SET_READABLE) flags |= EPOLLIN;
    if (events & EPOLL_SET_PRIORITY) flags |= EPOLLPRI;
    if (events & EPOLL_SET_WRITABLE) flags |= EPOLLOUT;
    return flags;
}

/* An error or a hangup ends every wait: the system call that comes next says which it was. */
static int epoll_set_events_of(uint32_t flags) {
    if (flags & (EPOLLERR | EPOLLHUP)) return EPOLL_SET_READABLE | EPOLL_SET_PRIORITY | EPOLL_SET_WRITABLE;

    int events = 0;
    if (flags & EPOLLIN) events |= EPOLL_SET_READABLE;
    if (flags & EPOLLPRI) events |= EPOLL_SET_PRIORITY;
    if (flags & EPOLLOUT) events |= EPOLL_SET_WRITABLE;
    return events;
}

static int epoll_set_control(const struct epoll_set *set, int operation, int number, uint32_t generation, int events) {
    struct epoll_event event = {.events = epoll_set_flags_of(events)};
    event.data.u64 = (uint64_t)generation << GENERATION_SHIFT | (uint32_t)number;
    return epoll_ctl(set->epoll, operation, number, &event) == 0 ? 0 : errno;
}

/*
 * A file that is new to the kernel gets a new generation. It distinguishes its events from the events of a file that had this
 * number before and lives on under another one.
 */
static int epoll_set_register_new(const struct epoll_set *set, struct descriptor *descriptor, int number, int events) {
    int error = epoll_set_control(set, EPOLL_CTL_ADD, number, descriptor->generation + 1, events);
    if (error != 0) return error;

    descriptor->generation++;
    descriptor->changed = set->batch;
    return 0;
}

static int epoll_set_register_events(const struct epoll_set *set, struct descriptor *descriptor, int number, int events) {
    int error = descriptor->registered == 0 ? epoll_set_register_new(set, descriptor, number, events) : EEXIST;
    if (error == EEXIST) {
        error = epoll_set_control(set, EPOLL_CTL_MOD, number, descriptor->generation, events);
        if (error == ENOENT) error = epoll_set_register_new(set, descriptor, number, events);
    }
    descriptor->registered = error == 0 ? events : 0;
    return error;
}

static int epoll_set_unregister(const struct epoll_set *set, struct descriptor *descriptor, int number) {
    descriptor->registered = 0;
    descriptor->owner = 0;
    descriptor->changed = set->batch;
    return epoll_set_control(set, EPOLL_CTL_DEL, number, 0, 0);
}

void epoll_set_forget(struct epoll_set *set, int number) {
    struct descriptor *descriptor = epoll_set_find(set, number);
    /* A remaining wait may be through another IO of the same number, which stays open. */
    if (descriptor && descriptor->registered != 0 && !descriptor->first) epoll_set_unregister(set, descriptor, number);
}

void epoll_set_doubt(struct epoll_set *set, bool (*sure)(const struct descriptor *)) {
    for (int number = 0; number < set->chunks * CHUNK; number++) {
        struct descriptor *descriptor = epoll_set_find(set, number);
        if (descriptor && !(sure && sure(descriptor))) descriptor->owner = 0;
    }
}

/* ---- waits ---- */

static int epoll_set_wanted_events(const struct descriptor *descriptor) {
    int events = 0;
    for (const struct interest *interest = descriptor->first; interest; interest = interest->next) {
        events |= interest->events;
    }
    return events;
}

int epoll_set_add(struct epoll_set *set, struct interest *interest, uintptr_t owner) {
    struct descriptor *descriptor;
    int error = epoll_set_find_or_add(set, interest->descriptor, &descriptor);
    if (error != 0) return error;

    int known = descriptor->owner == owner ? descriptor->registered : 0;
    int wanted = interest->events | known | epoll_set_wanted_events(descriptor);
    if (wanted != known) error = epoll_set_register_events(set, descriptor, interest->descriptor, wanted);
    if (error != 0 && error != EPERM) return error;

    interest->ready = 0;
    if (error == 0) descriptor->owner = owner;
    epoll_set_push(error == 0 ? &descriptor->first : &set->always, interest);
    return 0;
}

/* Returns whether there was one. */
static bool epoll_set_finish_matching(struct epoll_set *set, const struct descriptor *descriptor, int events) {
    bool any = false;
    struct interest *next;
    for (struct interest *interest = descriptor->first; interest; interest = next) {
        next = interest->next;
        if (!(interest->events & events)) continue;

        epoll_set_finish(set, interest, interest->events & events);
        any = true;
    }
    return any;
}

/* Level-triggered, it would be reported without an end. */
static void epoll_set_reject(struct epoll_set *set, struct descriptor *descriptor, int number) {
    int wanted = epoll_set_wanted_events(descriptor);
    int error = wanted == 0
        ? epoll_set_unregister(set, descriptor, number) : epoll_set_register_events(set, descriptor, number, wanted);
    if (error != 0) set->outdated = true;
}

static void epoll_set_clear_wakeup(const struct epoll_set *set) {
    uint64_t count;
    while (read(set->wakeup, &count, sizeof(count)) == -1 && errno == EINTR) continue;
}

struct descriptor *epoll_set_concerned(const struct epoll_set *set, const struct epoll_event *event) {
    return event->data.u64 == WAKEUP ? NULL : epoll_set_find(set, (int)(uint32_t)event->data.u64);
}

void epoll_set_take(struct epoll_set *set, const struct epoll_event *event) {
    struct descriptor *descriptor = epoll_set_concerned(set, event);
    if (!descriptor) return epoll_set_clear_wakeup(set);

    if (descriptor->generation != (uint32_t)(event->data.u64 >> GENERATION_SHIFT) || descriptor->registered == 0) {
        /* A fiber that ran since the batch was taken may have closed it; else it is a file without a number here. */
        if (descriptor->changed != set->batch) set->outdated = true;
    } else if (!epoll_set_finish_matching(set, descriptor, epoll_set_events_of(event->events)) && !set->ready) {
        /* (What is ready and has not run yet may be reported twice. No one sleeps before all of that has run.) */
        epoll_set_reject(set, descriptor, (int)(uint32_t)event->data.u64);
    }
}

/* ---- the whole ---- */

static int epoll_set_open_epoll(int wakeup) {
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll == -1) return -1;

    struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = WAKEUP}};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, wakeup, &event) == 0) return epoll;

    int error = errno;
    close(epoll);
    errno = error;
    return -1;
}

/* In a new epoll. A wait for a number that is gone, or can't be waited for, is over: its fiber finds the error itself. */
static void epoll_set_register_again(struct epoll_set *set, struct descriptor *descriptor, int number) {
    int events = epoll_set_wanted_events(descriptor);
    descriptor->registered = 0;
    descriptor->owner = 0;
    if (events == 0 || epoll_set_register_events(set, descriptor, number, events) == 0) return;

    while (descriptor->first) epoll_set_finish(set, descriptor->first, descriptor->first->events);
}

/*
 * The kernel keeps a registration until the last descriptor of its file is closed (one that a dup(2) made, or the child of
 * a fork has), and none but the one that was registered can take it back. A new epoll is the way out.
 */
static void epoll_set_replace_epoll(struct epoll_set *set) {
    int epoll = epoll_set_open_epoll(set->wakeup);
    if (epoll == -1) return; /* no descriptor left: again after the next batch */

    close(set->epoll);
    set->epoll = epoll;
    set->outdated = false;
    for (int number = 0; number < set->chunks * CHUNK; number++) {
        struct descriptor *descriptor = epoll_set_find(set, number);
        if (descriptor) epoll_set_register_again(set, descriptor, number);
    }
}

void epoll_set_end_batch(struct epoll_set *set) {
    set->batch++;
    if (set->outdated) epoll_set_replace_epoll(set);
}

int epoll_set_open(struct epoll_set *set) {
    set->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (set->wakeup == -1) return errno;

    set->epoll = epoll_set_open_epoll(set->wakeup);
    if (set->epoll != -1) return 0;

    int error = errno;
    close(set->wakeup);
    set->wakeup = -1;
    return error;
}

void epoll_set_close(struct epoll_set *set) {
    if (set->epoll == -1) return;

    close(set->epoll);
    close(set->wakeup);
    set->epoll = set->wakeup = -1;
}

void epoll_set_free(struct epoll_set *set) {
    epoll_set_close(set);
    for (int chunk = 0; chunk < set->chunks; chunk++) free(set->table[chunk]);
    free(set->table);
}

/* ---- sleep ---- */

/* Rounded up: to wake up early would make the loop turn for nothing. */
static int epoll_set_milliseconds(const struct timespec *timeout) {
    if (!timeout) return -1;
    if (timeout->tv_sec >= INT_MAX / 1000 - 1) return INT_MAX;
    return (int)timeout->tv_sec * 1000 + (int)((timeout->tv_nsec + 999999) / 1000000);
}

int epoll_set_sleep(const struct epoll_set *set, struct epoll_event *events, const struct timespec *timeout) {
#ifdef HAVE_EPOLL_PWAIT2
    if (timeout && (timeout->tv_sec != 0 || timeout->tv_nsec != 0)) {
        int count = epoll_pwait2(set->epoll, events, EPOLL_SET_BATCH, timeout, NULL);
        if (count != -1 || (errno != ENOSYS && errno != EPERM)) return count; /* before Linux 5.11; filtered */
    }
#endif
    return epoll_wait(set->epoll, events, EPOLL_SET_BATCH, epoll_set_milliseconds(timeout));
}

void epoll_set_wake(const struct epoll_set *set) {
    int error = errno;
    uint64_t one = 1;
    while (write(set->wakeup, &one, sizeof(one)) == -1 && errno == EINTR) continue;
    errno = error;
}

#endif
