/* The data plane as a whole: see shard.h. */
#include "shard.h"
#include "shard_drain.h"
#include "../shard_plane/shard_fork.h"
#include "../shard_plane/shard_io.h"
#include "../shard_plane/shard_tls.h"
#include "../shard_plane/shard_topology.h"
#include "shard_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Its own copy of what the settings point to. */
static int shard_keep_settings(struct shard *shard, const struct shard_settings *settings) {
    size_t known = settings->plan ? settings->plan->known : settings->node_count;
    shard->settings = *settings;
    shard->settings.nodes = calloc(settings->node_count, sizeof *settings->nodes);
    if (!shard->settings.nodes) return ENOMEM;

    memcpy(shard->settings.nodes, settings->nodes, known * sizeof *settings->nodes);
    int error = shard_topology_open(shard);
    shard->settings.placement.points = NULL;
    shard->settings.plan = NULL;
    return error;
}

/* Signals are for the threads of Ruby. */
static int shard_start_thread(struct shard_worker *worker) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&worker->thread, NULL, shard_run, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    worker->started = error == 0;
    return error;
}

struct shard *shard_start(const struct shard_settings *settings, const int *listeners, uint32_t threads, int *error) {
    struct shard *shard = calloc(1, sizeof *shard + threads * sizeof *shard->workers);
    if (!shard) {
        *error = ENOMEM;
        shard_tls_context_free(settings->tls_clients);
        shard_tls_context_free(settings->tls_nodes);
        return NULL;
    }
    shard->threads = threads;
    shard->redis = 0x070000;
    shard->notice = -1;
    for (uint32_t i = 0; i < threads; i++) {
        shard->workers[i].shard = shard;
        shard->workers[i].epoll = shard->workers[i].wakeup = -1;
        shard->workers[i].listener = shard_take(listeners[i]);
    }
    *error = shard_keep_settings(shard, settings);
    for (uint32_t i = 0; i < threads && !*error; i++) *error = shard_worker_open(&shard->workers[i]);
    for (uint32_t i = 0; i < threads && !*error; i++) *error = shard_start_thread(&shard->workers[i]);
    if (!*error) return shard;

    shard_stop(shard);
    return NULL;
}

/*
 * A client that connects from now on reaches another listener: the caller relies on that. A turn takes microseconds; a stuck
 * turn is not waited for.
 */
static void shard_await_deafness(const struct shard_worker *worker) {
    static const struct timespec pause = {.tv_nsec = 100 * 1000};
    for (int left = 10000; left && !atomic_load_explicit(&worker->deaf, memory_order_acquire); left--) nanosleep(&pause, NULL);
}

void shard_drain(struct shard *shard, bool closes) {
    atomic_store_explicit(&shard->draining, closes ? SHARD_DRAINS : SHARD_LINGERS, memory_order_release);
    shard_ring(shard);
    for (uint32_t i = 0; i < shard->threads; i++) shard_await_deafness(&shard->workers[i]);
}

void shard_stop(struct shard *shard) {
    atomic_store_explicit(&shard->stopping, true, memory_order_release);
    for (uint32_t i = 0; i < shard->threads; i++) {
        if (!shard->workers[i].started) continue;
        shard_ring_one(&shard->workers[i]);
        pthread_join(shard->workers[i].thread, NULL);
    }
    for (uint32_t i = 0; i < shard->threads; i++) shard_worker_close(&shard->workers[i]);
    shard_topology_close(shard);
    shard_tls_context_free(shard->settings.tls_clients);
    shard_tls_context_free(shard->settings.tls_nodes);
    free(shard->settings.nodes);
    free(shard);
}

void shard_tell_version(struct shard *shard, uint32_t version) {
    atomic_store_explicit(&shard->redis, version, memory_order_relaxed);
}

void shard_count(const struct shard *shard, struct shard_figures *figures) {
    uint64_t sums[SHARD_FIGURES] = {0};
    for (uint32_t i = 0; i < shard->threads; i++) {
        for (int j = 0; j < SHARD_FIGURES; j++) sums[j] += atomic_load_explicit(&shard->workers[i].figures[j], memory_order_relaxed);
    }
    _Static_assert(sizeof *figures == sizeof sums, "a figure is a number, in the order of the enum");
    memcpy(figures, sums, sizeof sums);
}
