/* Large answers that stay where they are until the peer takes them, see server.h. */
#include "server.h"

#include "server_remainder.h"
#include "server_table.h"

/* The kernel gets what it takes, and the outbox the piece of which it takes no more. */
int server_pour(struct server_connection *connection) {
    struct iovec parts[SERVER_PARTS];
    while (connection->remainder && !connection->outbox) {
        int count = connection->remainder->next(connection->remainder, parts);
        if (count == 0) {
            server_free_remainder(connection);
            return 0;
        }
        ssize_t kept = server_send(connection, parts, count);
        if (kept < 0) return (int)-kept;
    }
    return 0;
}

int server_supply(struct server_connection *connection, struct server_remainder *remainder) {
    connection->remainder = remainder;
    return server_pour(connection);
}

/* The kernel may have reported room while the worker had the connection: so its socket is tried once more. */
void server_leave_to_peer(struct server *server, struct server_connection *connection, bool persistent, double now) {
    connection->busy = connection->given = false;
    if (!persistent) connection->closing = true;
    server_enqueue(server, connection, SERVER_STALLED, now);
    server_make_ready(server, connection);
}
