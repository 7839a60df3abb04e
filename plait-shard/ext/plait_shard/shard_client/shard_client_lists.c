/* The lists in which clients stand until something is done with them. */
#include "shard_client_lists.h"
#include "../shard_plane/shard_io.h"
#include "shard_own_links.h"
#include "../shard_plane/shard_tls.h"

#include <sys/epoll.h>
#include <sys/socket.h>

static const double LEAVING = 1; /* seconds */

bool shard_may_go_on(struct shard_worker *worker, const struct shard_client *client) {
    if (client->socket == -1 || client->ending || client->full || (client->alone && client->first)) return false;
    if (client->awaits && !shard_own_links(worker, client->awaits)) return false;
    return client->in_flight < SHARD_IN_FLIGHT && client->out.size + client->behind < SHARD_HIGH;
}

/* At the end of the list: a client that has waited longer goes on first. */
void shard_client_look_again(struct shard_worker *worker, struct shard_client *client) {
    if (client->listed || !shard_may_go_on(worker, client)) return;
    client->listed = true;
    client->next_listed = NULL;
    if (worker->ready) worker->last_ready->next_listed = client;
    else worker->ready = client;
    worker->last_ready = client;
}

void shard_wake(struct shard_worker *worker, struct shard_client **list, uint32_t most) {
    for (; *list && most; most--) {
        struct shard_client *client = *list;
        *list = client->next_listed;
        client->full = NULL;
        if (!worker->ready) worker->last_ready = client;
        client->next_listed = worker->ready;
        worker->ready = client;
    }
}

void shard_client_cut(struct shard_worker *worker, struct shard_client *client) {
    client->cut = true;
    client->ending = true;
    shard_client_touch(worker, client);
}

void shard_client_bury(struct shard_worker *worker, struct shard_client *client) {
    if (client->buried || client->socket != -1 || client->in_flight) return;

    client->buried = true;
    if (client->before) client->before->after = client->after;
    else if (worker->clients == client) worker->clients = client->after;
    if (client->after) client->after->before = client->before;
    client->after = worker->buried;
    worker->buried = client;
}

/*
 * With bytes of the client unread, the kernel would end the connection by a reset, which may overtake the last reply. So what
 * still comes is read and dropped, until the client closes its end, or for a while.
 */
void shard_client_leave(struct shard_worker *worker, struct shard_client *client) {
    if (client->leaving) return;
    client->leaving = true;
    client->leaves_at = worker->now + LEAVING;
    client->next_leaving = worker->leaving;
    worker->leaving = client;
    if (client->tls) shard_tls_finish(client->tls);
    shutdown(client->socket, SHUT_WR);
    shard_watch(worker, client->socket, &client->events, EPOLLIN, client);
}
