/* The data plane as a whole: see shard.h. */
#include "shard_drain.h"

#ifdef __linux__

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Its own copy of what the settings point to. */
static int keep_settings(struct shard *shard, const struct shard_settings *settings) {
    size_t nodes = settings->node_count * sizeof *settings->nodes;
    size_t points = settings->placement.count * sizeof *shard->points;
    shard->settings = *settings;
    shard->settings.nodes = malloc(nodes);
    shard->points = malloc(points);
    if (!shard->settings.nodes || !shard->points) return ENOMEM;

    memcpy(shard->settings.nodes, settings->nodes, nodes);
    memcpy(shard->points, settings->placement.points, points);
    shard->settings.placement.points = shard->points;
    return 0;
}

/* Signals are for the threads of Ruby. */
static int start_thread(struct shard_worker *worker) {
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
        return NULL;
    }
    shard->threads = threads;
    for (uint32_t i = 0; i < threads; i++) {
        shard->workers[i].shard = shard;
        shard->workers[i].epoll = shard->workers[i].bell = -1;
        shard->workers[i].listener = shard_take(listeners[i]);
    }
    *error = keep_settings(shard, settings);
    for (uint32_t i = 0; i < threads && !*error; i++) *error = shard_worker_open(&shard->workers[i]);
    for (uint32_t i = 0; i < threads && !*error; i++) *error = start_thread(&shard->workers[i]);
    if (!*error) return shard;

    shard_stop(shard);
    return NULL;
}

static void ring(const struct shard_worker *worker) {
    uint64_t one = 1;
    while (worker->bell != -1 && write(worker->bell, &one, sizeof one) == -1 && errno == EINTR) continue;
}

void shard_drain(struct shard *shard, bool closes) {
    atomic_store_explicit(&shard->draining, closes ? SHARD_DRAINS : SHARD_LINGERS, memory_order_release);
    for (uint32_t i = 0; i < shard->threads; i++) ring(&shard->workers[i]);
}

void shard_stop(struct shard *shard) {
    atomic_store_explicit(&shard->stopping, true, memory_order_release);
    for (uint32_t i = 0; i < shard->threads; i++) {
        if (!shard->workers[i].started) continue;
        ring(&shard->workers[i]);
        pthread_join(shard->workers[i].thread, NULL);
    }
    for (uint32_t i = 0; i < shard->threads; i++) shard_worker_close(&shard->workers[i]);
    free(shard->settings.nodes);
    free(shard->points);
    free(shard);
}

void shard_count(const struct shard *shard, struct shard_figures *figures) {
    uint64_t sums[7] = {0};
    for (uint32_t i = 0; i < shard->threads; i++) {
        for (int j = 0; j < 7; j++) sums[j] += atomic_load_explicit(&shard->workers[i].figures[j], memory_order_relaxed);
    }
    *figures = (struct shard_figures){sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6]};
}

#endif
