/* Connections of clients: how they begin, and how they end. */
#include "shard_client.h"
#include "shard_client_input.h"
#include "../shard_client/shard_client_lists.h"
#include "../shard_client/shard_client_replies.h"
#include "../shard_plane/shard_fork.h"
#include "../shard_command/shard_gather.h"
#include "../shard_plane/shard_io.h"
#include "../shard_client/shard_memory.h"
#include "../shard_client/shard_merge.h"
#include "../shard_link/shard_pinned.h"
#include "../shard_command/shard_session.h"
#include "../shard_link/shard_stream.h"
#include "../shard_plane/shard_tls.h"
#include "../shard_plane/shard_tls_context.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>

enum { ACCEPTED_AT_ONCE = 64 };

static const double DEAF = 0.05; /* seconds without a look at the listener when there are no descriptors */

/* ---- the beginning and the end ---- */

static bool shard_client_add(struct shard_worker *worker, int socket) {
    struct shard_client *client = calloc(1, sizeof *client);
    if (!client) return false;

    struct shard_tls_context *context = worker->shard->settings.tls_clients;
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = client}};
    client->kind = SHARD_CLIENT;
    if (context) client->tls = shard_tls_accept(worker, context, socket, client);
    if ((context && !client->tls) || epoll_ctl(worker->epoll, EPOLL_CTL_ADD, socket, &event) != 0) {
        shard_tls_free(worker, client->tls);
        free(client);
        return false;
    }
    client->socket = socket;
    client->events = EPOLLIN;
    shard_session_begin(worker, client);
    client->after = worker->clients;
    if (worker->clients) worker->clients->before = client;
    worker->clients = client;
    shard_add(worker, FIGURE_CLIENTS, 1);
    shard_add(worker, FIGURE_ACCEPTED, 1);
    return true;
}

/* Without descriptors the event would come again at once, and again. */
static void shard_client_go_deaf(struct shard_worker *worker) {
    struct epoll_event event = {.events = 0, .data = {.ptr = &worker->listener_kind}};
    epoll_ctl(worker->epoll, EPOLL_CTL_MOD, worker->listener, &event);
    worker->deaf_until = worker->now + DEAF;
}

/* A client that speaks TLS could not read it. */
static void shard_client_reject(struct shard_worker *worker, int socket) {
    static const char reply[] = "-ERR max number of clients reached\r\n";
    char unread[1024];
    if (!worker->shard->settings.tls_clients) send(socket, reply, sizeof reply - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(socket, SHUT_WR);
    while (recv(socket, unread, sizeof unread, MSG_DONTWAIT) > 0) continue; /* else the kernel might take the reply back */
    shard_close(socket);
}

void shard_accept(struct shard_worker *worker) {
    for (int left = ACCEPTED_AT_ONCE; left; left--) {
        int socket = shard_take_client(worker->listener);
        if (socket == -1) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) shard_client_go_deaf(worker);
            return;
        }
        int on = 1;
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        bool full = worker->figures[FIGURE_CLIENTS] >= worker->shard->settings.clients;
        if (full || !shard_client_add(worker, socket)) shard_client_reject(worker, socket);
    }
}

/* When no list of this turn can have it any longer. */
void shard_bury(struct shard_worker *worker) {
    struct shard_client *kept = NULL;
    while (worker->buried) {
        struct shard_client *client = worker->buried;
        worker->buried = client->after;
        if (client->touched || client->listed || client->leaving || client->retrying) {
            client->after = kept;
            kept = client;
        } else {
            free(client);
        }
    }
    worker->buried = kept;
}

void shard_client_close(struct shard_worker *worker, struct shard_client *client) {
    if (client->socket == -1) return;

    shard_tls_free(worker, client->tls);
    client->tls = NULL;
    shard_hang_up(worker, client->socket);
    client->socket = -1;
    client->left = 0;
    shard_stream_leave(worker, client);
    shard_gather_leave(worker, client);
    shard_pin_leave(worker, client);
    shard_transaction_drop(worker, client);
    shard_session_end(client);
    shard_client_drop_input(client);
    shard_rope_clear(&client->out, &worker->blocks);
    for (struct shard_request *request = client->first; request; request = request->next) {
        shard_request_forget(worker, request);
        if (request->merge) shard_merge_forget(worker, request);
    }
    shard_add(worker, FIGURE_CLIENTS, (uint64_t)-1);
    shard_weigh_client(worker, client);
    shard_client_bury(worker, client);
}

/* ---- leaving ---- */

bool shard_clients_leave(struct shard_worker *worker) {
    struct shard_client **at = &worker->leaving;
    while (*at) {
        struct shard_client *client = *at;
        if (client->socket != -1 && worker->now >= client->leaves_at) shard_client_close(worker, client);
        if (client->socket != -1) {
            at = &client->next_leaving;
        } else {
            *at = client->next_leaving;
            client->leaving = false;
        }
    }
    return worker->leaving != NULL;
}
