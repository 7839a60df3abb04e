/* A thread of the data plane: waits, and takes turns. */
#include "shard_worker.h"
#include "shard_client.h"
#include "shard_client_input.h"
#include "../shard_client/shard_client_lists.h"
#include "shard_drain.h"
#include "../shard_link/shard_flush.h"
#include "../shard_plane/shard_fork.h"
#include "../shard_plane/shard_hot.h"
#include "../shard_link/shard_link.h"
#include "../shard_link/shard_link_receive.h"
#include "../shard_client/shard_memory.h"
#include "../shard_plane/shard_metrics.h"
#include "../shard_link/shard_pinned.h"
#include "../shard_link/shard_pool.h"
#include "../shard_link/shard_redirect.h"
#include "../shard_link/shard_retire.h"
#include "../shard_link/shard_stream.h"
#include "../shard_plane/shard_tls.h"
#include "../shard_plane/shard_topology.h"

#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

enum { EVENTS = 512, TICK = 50 /* ms */, KEPT_BLOCKS = 128, FIRST_SPANS = 64,
       DEEP = 8 /* commands of each */, NAP = 100 * 1000 /* ns */, DEEP_NAP = 2 * NAP };

/* Seconds. */
static const double LONG_TURN = 200e-6;
static const double WINDOW = 2e-3;

/* Commands, or KiB, a second: with less to do a thread has time for each as it comes. */
static const double RUSH = 40000;

static const double QUIET = 0.3; /* seconds */
static const double BETWEEN_TRIMS = 1;
static const size_t WORTH_TRIMMING = 1 << 20;

static double shard_worker_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* A handshake that had to write first goes on by being read. */
static uint32_t shard_worker_read_events(const struct shard_client *client) {
    return client->tls && shard_tls_is_shaking(client->tls) ? EPOLLIN | EPOLLOUT : EPOLLIN;
}

static void shard_worker_take_event(struct shard_worker *worker, const struct epoll_event *event) {
    enum shard_kind *kind = event->data.ptr;
    if (*kind == SHARD_WAKEUP) {
        shard_drain_heard(worker);
        return;
    }
    if (*kind == SHARD_LISTENER) {
        shard_accept(worker);
    } else if (*kind == SHARD_LINK) {
        shard_link_event(worker, event->data.ptr, event->events);
    } else {
        struct shard_client *client = event->data.ptr;
        if (client->socket == -1) return;
        if (event->events & EPOLLRDHUP) shard_client_close(worker, client); /* it waits for an answer, and has gone */
        if (client->window != worker->window) worker->heard++;
        client->window = worker->window;
        if (event->events & EPOLLOUT) shard_client_touch(worker, client);
        if (event->events & (shard_worker_read_events(client) | EPOLLHUP | EPOLLERR) && client->socket != -1) {
            shard_client_readable(worker, client, event->events);
        }
    }
}

/* It takes the locks of all of malloc's arenas, Ruby's too: only where there is much, and seldom. False: not yet. */
static bool shard_worker_trim(struct shard_worker *worker) {
    static _Atomic double next;
    shard_shrink(worker);
    if (shard_bytes_freed() - worker->bytes_freed < WORTH_TRIMMING) return true;

    double due = atomic_load(&next);
    if (worker->now < due || !atomic_compare_exchange_strong(&next, &due, worker->now + BETWEEN_TRIMS)) return false;
    worker->bytes_freed = shard_bytes_freed();
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    return true;
}

/* When a burst is over. malloc keeps what was freed, otherwise, as long as something lies above it. */
static bool shard_worker_give_memory_back(struct shard_worker *worker) {
    unsigned long freed = shard_large_freed();
    bool swollen = worker->trim_at == 0 && shard_is_swollen(worker);
    if (freed != worker->freed || swollen) worker->trim_at = worker->now + QUIET;
    worker->freed = freed;
    if (worker->trim_at == 0) return false;
    if (worker->now < worker->trim_at) return true;
    if (!shard_worker_trim(worker)) {
        worker->trim_at = worker->now + QUIET;
        return true;
    }
    worker->trim_at = 0;
    return false;
}

static bool shard_worker_listen_again(struct shard_worker *worker) {
    if (worker->deaf_until == 0) return false;
    if (worker->now < worker->deaf_until) return true;

    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = &worker->listener_kind}};
    epoll_ctl(worker->epoll, EPOLL_CTL_MOD, worker->listener, &event);
    worker->deaf_until = 0;
    return false;
}

/* Returns how long to wait at most for the next turn. */
static int shard_worker_check_times(struct shard_worker *worker) {
    bool due = shard_worker_listen_again(worker);
    due |= shard_topology_turn(worker);
    due |= worker->retrying != NULL;
    due |= shard_links_check(worker);
    due |= shard_streams_check(worker);
    due |= shard_pins_check(worker);
    due |= shard_clients_leave(worker);
    due |= shard_awaiting_check(worker);
    due |= shard_tls_check(worker);
    due |= shard_drain_turn(worker);
    due |= shard_worker_give_memory_back(worker);
    return due ? TICK : -1;
}

/* As if there was something to be read. */
static void shard_worker_hear_owner(struct shard_worker *worker, void *owner) {
    if (*(enum shard_kind *)owner == SHARD_LINK) shard_link_event(worker, owner, EPOLLIN);
    else shard_client_readable(worker, owner, EPOLLIN);
}

static void shard_worker_take_turn(struct shard_worker *worker, const struct epoll_event *events, int count) {
    worker->now = shard_worker_seconds();
    for (int i = 0; i < count; i++) shard_worker_take_event(worker, &events[i]);
    if (worker->telling) shard_tls_turn(worker, shard_worker_hear_owner);
    shard_retries_turn(worker);
    do shard_flush(worker);
    while (shard_resume(worker));
    shard_relieve(worker);
    shard_bury(worker);
    shard_blocks_trim(&worker->blocks, KEPT_BLOCKS);
}

static uint64_t shard_worker_figure(const struct shard_worker *worker, int which) {
    return atomic_load_explicit(&worker->figures[which], memory_order_relaxed);
}

static void shard_worker_begin_window(struct shard_worker *worker) {
    uint64_t commands = shard_worker_figure(worker, FIGURE_COMMANDS),
        bytes = shard_worker_figure(worker, FIGURE_IN) + shard_worker_figure(worker, FIGURE_OUT);
    double fresh = (double)(commands - worker->commands_before), kib = (double)(bytes - worker->bytes_before) / 1024;
    bool rush = fresh + kib > RUSH * (worker->now - worker->window_began);
    worker->crowd = rush ? worker->heard : 0;
    worker->deep = fresh > (double)DEEP * worker->crowd;
    worker->commands_before = commands;
    worker->bytes_before = bytes;
    worker->window_began = worker->now;
    worker->window++;
    worker->heard = 0;
}

/*
 * Many clients that are served as they come wake all threads for a request or two: each turn then has its own writes to the nodes,
 * and each node its own to the shard. A short sleep gathers requests, as network cards do with interrupts. With few clients,
 * little to do, or too much to do: no sleep. Pipelines take longer anyway, and gain from a longer sleep.
 */
static void shard_worker_gather(struct shard_worker *worker) {
    if (worker->now - worker->window_began > WINDOW) shard_worker_begin_window(worker);
    if (worker->crowd < SHARD_CROWD || shard_worker_seconds() - worker->now > LONG_TURN) return;
    struct timespec time = {.tv_nsec = worker->deep ? DEEP_NAP : NAP};
    nanosleep(&time, NULL);
}

void *shard_run(void *argument) {
    struct shard_worker *worker = argument;
    struct epoll_event events[EVENTS];
    prctl(PR_SET_TIMERSLACK, 1UL); /* ns; of this thread */
    while (!atomic_load_explicit(&worker->shard->stopping, memory_order_acquire)) {
        int patience = shard_worker_check_times(worker);
        /* The answers of failing links are written before the thread sleeps. */
        if (worker->touched || worker->ready || worker->telling || worker->retries_due) patience = 0;
        int count = epoll_wait(worker->epoll, events, EVENTS, patience);
        if (count < 0 && errno != EINTR) break;
        shard_worker_take_turn(worker, events, count < 0 ? 0 : count);
        shard_worker_gather(worker);
    }
    return NULL;
}

/* ---- the beginning and the end ---- */

static int shard_worker_look_at(struct shard_worker *worker, int descriptor, enum shard_kind *kind) {
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = kind}};
    return epoll_ctl(worker->epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 ? 0 : errno;
}

int shard_worker_open(struct shard_worker *worker) {
    uint32_t nodes = worker->shard->settings.node_count;
    worker->close_client = shard_client_close;
    worker->wakeup_kind = SHARD_WAKEUP;
    worker->listener_kind = SHARD_LISTENER;
    if (worker->listener == -1) return ENOMEM;
    worker->epoll = shard_take(epoll_create1(EPOLL_CLOEXEC));
    if (worker->epoll == -1) return errno;
    worker->wakeup = shard_take(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (worker->wakeup == -1) return errno;

    worker->buffer = malloc(SHARD_READ);
    worker->spans = malloc(FIRST_SPANS * sizeof *worker->spans);
    worker->span_room = FIRST_SPANS;
    worker->counts = calloc(nodes, sizeof *worker->counts);
    worker->links = calloc(nodes, sizeof *worker->links);
    worker->taken = calloc(nodes, sizeof *worker->taken);
    worker->numbers = calloc(nodes, sizeof *worker->numbers);
    worker->asked = calloc(nodes, sizeof *worker->asked);
    worker->sessions = calloc(nodes, sizeof *worker->sessions);
    worker->random = (uint64_t)(shard_worker_seconds() * 1e9) ^ (uintptr_t)worker;
    if (!worker->sessions || !worker->taken || !worker->numbers || !worker->asked || !worker->buffer || !worker->spans || !worker->counts || !worker->links) return ENOMEM;

    worker->hot = shard_hot_new();
    worker->until_look = 1;
    if (!worker->hot || !shard_topology_take_up(worker) || !shard_pool_open(worker) || !shard_metrics_open(worker)) return ENOMEM;

    int error = shard_worker_look_at(worker, worker->wakeup, &worker->wakeup_kind);
    return error ? error : shard_worker_look_at(worker, worker->listener, &worker->listener_kind);
}

static void shard_worker_forget_lists(struct shard_worker *worker) {
    for (struct shard_client *client = worker->touched; client; client = client->next_touched) client->touched = false;
    for (struct shard_client *client = worker->ready; client; client = client->next_listed) client->listed = false;
    for (struct shard_client *client = worker->awaiting; client; client = client->next_listed) client->listed = false;
    for (struct shard_client *client = worker->leaving; client; client = client->next_leaving) client->leaving = false;
    worker->touched = worker->ready = worker->awaiting = worker->leaving = NULL;
}

static void shard_worker_close_all(struct shard_worker *worker) {
    shard_worker_forget_lists(worker);
    while (worker->clients) {
        struct shard_client *client = worker->clients;
        worker->clients = client->after;
        if (client->socket != -1) shard_client_close(worker, client);
    }
    for (uint32_t i = 0; worker->links && i < worker->shard->settings.node_count; i++) {
        shard_link_close(worker, &worker->links[i]);
    }
    shard_streams_close(worker);
    shard_pins_close(worker);
    shard_pools_close(worker);
    shard_retries_close(worker);
    shard_worker_forget_lists(worker);
    shard_tls_turn(worker, shard_worker_hear_owner);
    shard_bury(worker);
}

void shard_worker_close(struct shard_worker *worker) {
    shard_worker_close_all(worker);
    shard_blocks_trim(&worker->blocks, 0);
    while (worker->requests) {
        struct shard_request *request = worker->requests;
        worker->requests = request->next;
        free(request);
    }
    shard_metrics_close(worker);
    shard_hot_free(worker->hot);
    for (uint32_t i = 0; worker->sessions && i < worker->shard->settings.node_count; i++) shard_tls_forget_session(worker->sessions[i]);
    free(worker->sessions);
    free(worker->links);
    free(worker->counts);
    free(worker->taken);
    free(worker->numbers);
    free(worker->asked);
    free(worker->nodes);
    free(worker->grouped);
    shard_topology_leave(worker);
    free(worker->spans);
    free(worker->buffer);
    shard_close(worker->wakeup);
    shard_close(worker->epoll);
    shard_close(worker->listener);
}
