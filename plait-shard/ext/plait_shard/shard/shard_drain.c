/* See shard_drain.h. */
#include "shard_drain.h"
#include "shard_client.h"
#include "../shard_plane/shard_fork.h"
#include "../shard_plane/shard_pin.h"
#include "../shard_plane/shard_tls.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

void shard_drain_heard(struct shard_worker *worker) {
    uint64_t count;
    ssize_t size = read(worker->wakeup, &count, sizeof count);
    (void)size;
}

static void shard_drain_stop_listening(struct shard_worker *worker) {
    if (worker->listener == -1) return;

    epoll_ctl(worker->epoll, EPOLL_CTL_DEL, worker->listener, NULL);
    shard_close(worker->listener);
    worker->listener = -1;
    atomic_store_explicit(&worker->deaf, true, memory_order_release);
}

/* Neither has it sent anything that is not answered, nor is there a state that it would lose. */
static bool shard_drain_is_idle(const struct shard_client *client) {
    char byte;
    bool bound = client->pin || client->transaction; /* one that has to give the password first has no state yet */
    bool owes = client->first || client->out.first || client->in || client->left || client->gather || bound;
    if (client->tls && (shard_tls_is_shaking(client->tls) || shard_tls_has_more(client->tls))) return false;
    return client->socket != -1 && !owes && recv(client->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0;
}

bool shard_drain_turn(struct shard_worker *worker) {
    int draining = atomic_load_explicit(&worker->shard->draining, memory_order_acquire);
    if (draining == SHARD_SERVES) return false;

    shard_drain_stop_listening(worker);
    if (draining == SHARD_LINGERS) return false;
    struct shard_client *next;
    for (struct shard_client *client = worker->clients; client; client = next) {
        next = client->after;
        if (shard_drain_is_idle(client)) shard_client_close(worker, client);
    }
    shard_bury(worker);
    return worker->clients != NULL;
}
