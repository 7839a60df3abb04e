/*
 * The data plane as a program of its own, so that it can be run under sanitizers. It ends with its standard input.
 *
 *     shard_program THREADS PORT…      the ports of nodes on 127.0.0.1, placed by crc32a modulo their number
 *     shard_program -THREADS PORT…     those of a cluster's masters, who have even shares of the slots
 *
 * A line "SLOT NODE" on its standard input says which node, from 0 on, has that slot from now on. Prints the port on which it listens.
 * With SHARD_FAILING, memory is refused now and then once it has started. SHARD_TIMEOUT: seconds in which a node has to answer; SHARD_TLS: a folder with shard.pem and shard.key, for clients over TLS.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shard.h"
#include "shard_tls.h"

enum { MOST = 64, SLOTS = 16384 };

/* ---- memory that is refused: linked with --wrap for each of these ---- */

#ifdef SHARD_FAILING
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { ONE_IN = 12, ONE_IN_MAPPED = 3 };

static atomic_bool refuses;
static _Thread_local unsigned long long state;

static bool fails(unsigned one_in) {
    if (!atomic_load(&refuses)) return false;
    if (!state) state = (unsigned long long)pthread_self() ^ 0x9e3779b97f4a7c15ULL;
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % one_in == 0;
}

#define REFUSED(type, name, one_in, parameters, arguments) \
    type __real_##name parameters;                         \
    type __wrap_##name parameters;                         \
    type __wrap_##name parameters { return fails(one_in) ? NONE_##type : __real_##name arguments; }

typedef void *memory;
typedef char *text;
#define NONE_memory NULL
#define NONE_text NULL
REFUSED(memory, malloc, ONE_IN, (size_t size), (size))
REFUSED(memory, calloc, ONE_IN, (size_t count, size_t size), (count, size))
REFUSED(memory, realloc, ONE_IN, (void *old, size_t size), (old, size))
REFUSED(text, strdup, ONE_IN, (const char *from), (from))
REFUSED(text, strndup, ONE_IN, (const char *from, size_t size), (from, size))
#undef NONE_memory
#define NONE_memory MAP_FAILED
REFUSED(memory, mmap, ONE_IN_MAPPED, (void *at, size_t size, int protection, int flags, int file, off_t offset),
        (at, size, protection, flags, file, offset))

static void begin_to_refuse(void) {
    atomic_store(&refuses, true);
}

static void stop_refusing(void) {
    atomic_store(&refuses, false);
}
#else
static void begin_to_refuse(void) {
}

static void stop_refusing(void) {
}
#endif

/* ---- the program ---- */

static struct sockaddr_in loopback(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static int listen_on(int *port) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    struct sockaddr_in address = loopback(*port);
    socklen_t size = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 512) != 0) {
        perror("listen");
        exit(1);
    }
    getsockname(listener, (struct sockaddr *)&address, &size);
    *port = ntohs(address.sin_port);
    return listener;
}

/* Lines until the end. */
static void follow(struct shard *shard, struct shard_plan *plan, struct placement_point *points) {
    char line[64];
    unsigned slot, node;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%u %u", &slot, &node) != 2 || slot >= SLOTS || node >= plan->known) continue;
        points[slot].node = node;
        shard_publish(shard, plan);
        shard_notice_taken(shard);
    }
}

static void deal_out(struct placement_point *points, uint32_t count) {
    for (uint32_t node = 0; node < count; node++) {
        for (uint32_t slot = SLOTS * node / count; slot < SLOTS * (node + 1) / count; slot++) points[slot].node = node;
    }
}

static struct shard_tls_context *read_tls(const char *folder) {
    char certificate[1024], key[1024], error[SHARD_TLS_TEXT];
    snprintf(certificate, sizeof certificate, "%s/shard.pem", folder);
    snprintf(key, sizeof key, "%s/shard.key", folder);
    struct shard_tls_context *context = shard_tls_context_new(true, &(struct shard_tls_files){certificate, key, NULL}, error);
    if (context) return context;
    fprintf(stderr, "%s\n", error);
    exit(1);
}

int main(int count, char **arguments) {
    static struct shard_node nodes[MOST];
    static struct placement_point points[SLOTS];
    static uint32_t numbers[MOST];
    static bool none[MOST];
    int listeners[MOST], port = 0, error;
    bool cluster = arguments[1][0] == '-';
    uint32_t threads = (uint32_t)atoi(arguments[1] + cluster);
    uint32_t node_count = (uint32_t)(count - 2);
    for (uint32_t i = 0; i < node_count; i++) {
        struct sockaddr_in address = loopback(atoi(arguments[i + 2]));
        memcpy(&nodes[i].address, &address, sizeof address);
        nodes[i].size = sizeof address;
        snprintf(nodes[i].label, sizeof nodes[i].label, "127.0.0.1:%s", arguments[i + 2]);
        points[i].node = numbers[i] = i;
    }
    if (cluster) deal_out(points, node_count);
    for (uint32_t i = 0; i < threads; i++) listeners[i] = listen_on(&port);
    const char *timeout = getenv("SHARD_TIMEOUT");
    struct shard_settings settings = {.nodes = nodes, .node_count = node_count, .limits = resp_default_limits,
                                      .placement = {.points = points, .count = node_count, .tag = PLACEMENT_LAST_BRACE},
                                      .connect_timeout = 5, .timeout = timeout ? atof(timeout) : 10, .retry = 0.05, .client_bytes = 64 << 20, .thread_bytes = 256 << 20, .config = true, .hot = 0.1, .chunk = 64 << 10,
                                      .clients = 1000};
    struct placement slots = {.points = points, .count = SLOTS, .hash = PLACEMENT_SLOT, .tag = PLACEMENT_DELIMITED, .open = '{',
                              .close = '}'};
    struct shard_plan plan = {.nodes = nodes, .known = node_count, .placement = slots, .masters = numbers, .master_count = node_count,
                              .master_of = numbers, .readable = none};
    settings.cluster = settings.watched = cluster;
    if (cluster) settings.plan = &plan;
    const char *folder = getenv("SHARD_TLS");
    if (folder) settings.tls_clients = read_tls(folder);
    struct shard *shard = shard_start(&settings, listeners, threads, &error);
    if (!shard) return 1;

    printf("%d\n", port);
    fflush(stdout);
    begin_to_refuse();
    follow(shard, &plan, points);
    stop_refusing();
    shard_stop(shard);
    return 0;
}
