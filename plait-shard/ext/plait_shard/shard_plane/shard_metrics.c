/* See shard_metrics.h. */
#include "shard_metrics.h"

#include <stdlib.h>
#include <time.h>

const double shard_bounds[SHARD_BOUNDS] = {.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5};

/* Only the thread itself writes it. */
static void shard_metrics_add(_Atomic uint64_t *counter, uint64_t number) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + number, memory_order_relaxed);
}

bool shard_metrics_open(struct shard_worker *worker) {
    struct shard_metrics *metrics = calloc(1, sizeof *metrics);
    if (!metrics) return false;

    worker->metrics = metrics;
    pthread_mutex_init(&metrics->lock, NULL);
    metrics->times = calloc(shard_command_room(), sizeof *metrics->times);
    metrics->nodes = calloc(worker->shard->settings.node_count, sizeof *metrics->nodes);
    return metrics->times && metrics->nodes;
}

void shard_metrics_close(struct shard_worker *worker) {
    if (!worker->metrics) return;

    pthread_mutex_destroy(&worker->metrics->lock);
    free(worker->metrics->times);
    free(worker->metrics->nodes);
    free(worker->metrics);
    worker->metrics = NULL;
}

void shard_metrics_take(struct shard_worker *worker, const struct shard_command *command) {
    worker->metrics->current = command;
    if (command) shard_metrics_add(&worker->metrics->times[shard_command_index(command)].taken, 1);
}

void shard_metrics_put_back(struct shard_worker *worker, const struct shard_command *command) {
    if (command) shard_metrics_add(&worker->metrics->times[shard_command_index(command)].taken, (uint64_t)-1);
}

static void shard_metrics_note_slow(struct shard_worker *worker, const struct shard_request *request, double seconds) {
    struct shard_metrics *metrics = worker->metrics;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct shard_slow slow = {(double)now.tv_sec + (double)now.tv_nsec / 1e9, seconds, request->client->id, request->command->name};
    pthread_mutex_lock(&metrics->lock);
    metrics->slow[metrics->slow_count++ % SHARD_SLOW] = slow;
    pthread_mutex_unlock(&metrics->lock);
}

void shard_metrics_answered(struct shard_worker *worker, const struct shard_request *request) {
    if (!request->command) return;

    double seconds = worker->now - request->since;
    struct shard_times *times = &worker->metrics->times[shard_command_index(request->command)];
    int bucket = 0;
    while (bucket < SHARD_BOUNDS && seconds > shard_bounds[bucket]) bucket++;
    shard_metrics_add(&times->buckets[bucket], 1);
    shard_metrics_add(&times->nanoseconds, (uint64_t)(seconds * 1e9));
    double slow = worker->shard->settings.slow;
    if (slow > 0 && seconds >= slow && !(request->command->flags & (SHARD_BLOCKING | SHARD_PUBSUB))) {
        shard_metrics_note_slow(worker, request, seconds);
    }
}

void shard_metrics_asked(struct shard_worker *worker, const struct shard_node *node) {
    shard_metrics_add(&worker->metrics->nodes[node - worker->shard->settings.nodes].asked, 1);
}

void shard_metrics_failed(struct shard_worker *worker, const struct shard_node *node) {
    shard_metrics_add(&worker->metrics->nodes[node - worker->shard->settings.nodes].failures, 1);
}
