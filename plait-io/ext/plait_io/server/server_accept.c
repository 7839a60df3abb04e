/* How connections come in, see server.h. */
#include "server.h"

#include "server_accept.h"
#include "server_system.h"
#include "server_table.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void server_accept_keep_address(struct server_connection *connection, const struct sockaddr_storage *address) {
    connection->family = (uint8_t)address->ss_family;
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *ip4 = (const struct sockaddr_in *)address;
        memcpy(connection->address, &ip4->sin_addr, sizeof ip4->sin_addr);
        connection->port = ip4->sin_port;
    } else if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *ip6 = (const struct sockaddr_in6 *)address;
        memcpy(connection->address, &ip6->sin6_addr, sizeof ip6->sin6_addr);
        connection->port = ip6->sin6_port;
    }
}

/* Returns false when there is no client to accept, or no room. */
static bool server_accept_one(struct server *server, int index, double now) {
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof address;
    int number = server_system_accept(server->listeners[index], (struct sockaddr *)&address, &size);
    if (number == -1) {
        bool exhausted = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        if (exhausted) server->counts.exhausted++;
        if (exhausted) server_pause(server, true);
        return !exhausted && errno != EAGAIN && errno != EINVAL && errno != EBADF;
    }
    struct server_connection *connection = server_admit(server, number);
    if (!connection) {
        close(number);
        return true;
    }
    connection->listener = (uint8_t)index;
    server_accept_keep_address(connection, &address);
    server->counts.accepted++;
    server_enqueue(server, connection, SERVER_IDLE, now);
    return true;
}

struct server_connection *server_bring(struct server *server, int number, int index, struct server_secure *secure, double now) {
    struct server_connection *connection = server_admit(server, number);
    if (!connection) return NULL;

    connection->secure = secure;
    connection->listener = (uint8_t)index;
    connection->family = AF_UNIX;
    server->counts.accepted++;
    server_enqueue(server, connection, SERVER_IDLE, now);
    return connection;
}

bool server_has_room(const struct server *server, uint32_t descriptors) {
    return (uint64_t)server->count + server->elsewhere + descriptors <= server->settings.descriptors;
}

void server_hold_descriptors(struct server *server, int count) {
    server->elsewhere += (uint32_t)count;
    if (server->paused && count < 0) server_pause(server, false);
}

/* Until no client is left: with a bound the kernel's queue overflows under a burst. */
void server_accept(struct server *server, int index, double now) {
    while (index < server->listening && server->listeners[index] != SERVER_NONE) {
        if (server->count >= server->settings.connections || !server_has_room(server, 1)) return server_pause(server, true);
        if (!server_accept_one(server, index, now)) return;
    }
}

void server_accept_all(struct server *server, double now) {
    for (int index = 0; index < server->listening; index++) server_accept(server, index, now);
}
