/* See shard_topology.h. */
#include "shard_topology.h"
#include "shard_fork.h"
#include "shard_io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- making one ---- */

static size_t shard_topology_numbers_of(const struct shard_plan *plan) {
    return (size_t)plan->master_count + 3 * (size_t)plan->known + 1;
}

/* Replicas in the order of their masters. */
static void shard_topology_list_replicas(struct shard_topology *topology, const struct shard_plan *plan) {
    uint32_t count = 0;
    for (uint32_t master = 0; master < plan->known; master++) {
        topology->replicas_from[master] = count;
        for (uint32_t node = 0; node < plan->known; node++) {
            bool is_one = node != master && plan->master_of[node] == master && plan->readable[node];
            if (is_one) topology->replicas[count++] = node;
        }
    }
    topology->replicas_from[plan->known] = count;
}

/* In one piece of memory. NULL: there is none. */
static struct shard_topology *shard_topology_make(const struct shard_plan *plan) {
    size_t points = plan->placement.count * sizeof *plan->placement.points;
    struct shard_topology *topology = malloc(sizeof *topology + points + shard_topology_numbers_of(plan) * sizeof(uint32_t));
    if (!topology) return NULL;

    struct placement_point *own = (struct placement_point *)(topology + 1);
    memcpy(own, plan->placement.points, points);
    uint32_t *numbers = (uint32_t *)(own + plan->placement.count);
    *topology = (struct shard_topology){
        .references = 1,
        .known = plan->known,
        .generation = plan->generation % SHARD_GENERATIONS,
        .partial = plan->partial,
        .master_count = plan->master_count,
        .masters = numbers,
        .master_of = numbers + plan->master_count,
        .replicas = numbers + plan->master_count + plan->known,
        .replicas_from = numbers + plan->master_count + 2 * (size_t)plan->known,
        .placement = plan->placement,
    };
    topology->placement.points = own;
    memcpy(topology->masters, plan->masters, plan->master_count * sizeof *numbers);
    memcpy(topology->master_of, plan->master_of, plan->known * sizeof *numbers);
    shard_topology_list_replicas(topology, plan);
    return topology;
}

/* All nodes are masters. */
static struct shard_topology *shard_topology_make_plain(const struct shard_settings *settings) {
    uint32_t count = settings->node_count;
    uint32_t *numbers = malloc(count * sizeof *numbers);
    bool *none = calloc(count, sizeof *none);
    for (uint32_t i = 0; numbers && i < count; i++) numbers[i] = i;
    struct shard_plan plan = {.placement = settings->placement, .known = count, .master_count = count, .masters = numbers,
                              .master_of = numbers, .readable = none};
    struct shard_topology *topology = numbers && none ? shard_topology_make(&plan) : NULL;
    free(numbers);
    free(none);
    return topology;
}

/* ---- of the shard ---- */

int shard_topology_open(struct shard *shard) {
    pthread_mutex_init(&shard->lock, NULL);
    shard->notice = shard_take(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (shard->notice == -1) return errno;

    const struct shard_settings *settings = &shard->settings;
    struct shard_topology *topology = settings->plan
        ? shard_topology_make(settings->plan) : shard_topology_make_plain(settings);
    if (!topology) return ENOMEM;

    topology->version = 1;
    shard->topology = topology;
    atomic_store_explicit(&shard->version, topology->version, memory_order_release);
    return 0;
}

static void shard_topology_drop(struct shard *shard, struct shard_topology *topology) {
    pthread_mutex_lock(&shard->lock);
    bool last = --topology->references == 0;
    pthread_mutex_unlock(&shard->lock);
    if (last) free(topology);
}

void shard_topology_close(struct shard *shard) {
    if (shard->topology) shard_topology_drop(shard, shard->topology);
    shard->topology = NULL;
    shard_close(shard->notice);
    pthread_mutex_destroy(&shard->lock);
}

/* A node that has an address already keeps it: threads may be reading it. */
static void shard_topology_add_nodes(struct shard *shard, const struct shard_plan *plan) {
    for (uint32_t i = shard->topology->known; i < plan->known; i++) shard->settings.nodes[i] = plan->nodes[i];
}

int shard_publish(struct shard *shard, const struct shard_plan *plan) {
    if (plan->known > shard->settings.node_count || plan->known < shard->topology->known) return EINVAL;
    struct shard_topology *topology = shard_topology_make(plan);
    if (!topology) return ENOMEM;

    shard_topology_add_nodes(shard, plan);
    pthread_mutex_lock(&shard->lock);
    struct shard_topology *former = shard->topology;
    topology->version = former->version + 1;
    shard->topology = topology;
    atomic_store_explicit(&shard->version, topology->version, memory_order_release);
    pthread_mutex_unlock(&shard->lock);
    shard_topology_drop(shard, former);
    shard_ring(shard);
    return 0;
}

int shard_notice(const struct shard *shard) {
    return shard->notice;
}

void shard_notice_taken(struct shard *shard) {
    uint64_t count;
    ssize_t size = read(shard->notice, &count, sizeof count);
    (void)size;
    atomic_store_explicit(&shard->doubted, false, memory_order_release);
}

void shard_topology_doubt(struct shard_worker *worker) {
    struct shard *shard = worker->shard;
    if (!shard->settings.watched || atomic_exchange_explicit(&shard->doubted, true, memory_order_acq_rel)) return;

    uint64_t one = 1;
    while (write(shard->notice, &one, sizeof one) == -1 && errno == EINTR) continue;
}

/* ---- of a thread ---- */

bool shard_topology_take_up(struct shard_worker *worker) {
    struct shard *shard = worker->shard;
    struct shard_topology *former = worker->topology;
    pthread_mutex_lock(&shard->lock);
    worker->topology = shard->topology;
    if (worker->topology) worker->topology->references++;
    pthread_mutex_unlock(&shard->lock);
    if (former) shard_topology_drop(shard, former);
    if (worker->topology) worker->version = worker->topology->version;
    return worker->topology;
}

void shard_topology_leave(struct shard_worker *worker) {
    if (worker->topology) shard_topology_drop(worker->shard, worker->topology);
    worker->topology = NULL;
}

uint32_t shard_topology_find(const struct shard_worker *worker, const char *label) {
    for (uint32_t i = 0; i < worker->topology->known; i++) {
        if (strcmp(worker->shard->settings.nodes[i].label, label) == 0) return i;
    }
    return SHARD_NOBODY;
}
