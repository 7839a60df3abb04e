/*
 * The data plane as a program of its own, so that it can be run under sanitizers. It ends with its standard input.
 *
 *     shard_program THREADS PORT…      the ports of nodes on 127.0.0.1, placed by crc32a modulo their number
 *
 * Prints the port on which it listens.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shard.h"

enum { MOST = 64 };

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

int main(int count, char **arguments) {
    static struct shard_node nodes[MOST];
    static struct placement_point points[MOST];
    int listeners[MOST], port = 0, error;
    uint32_t threads = (uint32_t)atoi(arguments[1]);
    uint32_t node_count = (uint32_t)(count - 2);
    for (uint32_t i = 0; i < node_count; i++) {
        struct sockaddr_in address = loopback(atoi(arguments[i + 2]));
        memcpy(&nodes[i].address, &address, sizeof address);
        nodes[i].size = sizeof address;
        snprintf(nodes[i].label, sizeof nodes[i].label, "127.0.0.1:%s", arguments[i + 2]);
        points[i].node = i;
    }
    for (uint32_t i = 0; i < threads; i++) listeners[i] = listen_on(&port);
    struct shard_settings settings = {.nodes = nodes, .node_count = node_count, .limits = resp_default_limits,
                                      .placement = {.points = points, .count = node_count, .tag = PLACEMENT_LAST_BRACE},
                                      .connect_timeout = 5, .timeout = 10, .retry = 0.05, .client_bytes = 64 << 20, .chunk = 64 << 10,
                                      .clients = 1000};
    struct shard *shard = shard_start(&settings, listeners, threads, &error);
    if (!shard) return 1;

    printf("%d\n", port);
    fflush(stdout);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) continue;
    shard_stop(shard);
    return 0;
}
