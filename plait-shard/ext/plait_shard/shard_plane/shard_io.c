/* What threads do with descriptors. */
#include "shard_io.h"
#include "shard_fork.h"
#include "shard_tls.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

void shard_watch(struct shard_worker *worker, int socket, uint32_t *known, uint32_t events, void *owner) {
    if (*known == events) return;

    struct epoll_event event = {.events = events, .data = {.ptr = owner}};
    epoll_ctl(worker->epoll, EPOLL_CTL_MOD, socket, &event);
    *known = events;
}

/* A set forgets a socket by itself only once all copies of it are closed; until then it would tell of what was freed. */
void shard_hang_up(struct shard_worker *worker, int socket) {
    epoll_ctl(worker->epoll, EPOLL_CTL_DEL, socket, NULL);
    shutdown(socket, SHUT_RDWR);
    shard_close(socket);
}

uint32_t shard_link_events(const struct shard_link *link) {
    bool writes = link->out.first || (link->tls && shard_tls_wants_to_write(link->tls));
    return (link->resting ? 0 : EPOLLIN) | (writes ? EPOLLOUT : 0);
}

void shard_link_read(struct shard_worker *worker, struct shard_link *link, bool wanted) {
    if (link->resting != wanted) return;
    link->resting = !wanted;
    link->since = link->heard = worker->now;
    if (link->state == SHARD_UP) shard_watch(worker, link->socket, &link->events, shard_link_events(link), link);
    if (wanted && link->tls) shard_tls_tell(worker, link->tls);
}

void shard_ring_one(const struct shard_worker *worker) {
    uint64_t one = 1;
    while (worker->wakeup != -1 && write(worker->wakeup, &one, sizeof one) == -1 && errno == EINTR) continue;
}

void shard_ring(struct shard *shard) {
    for (uint32_t i = 0; i < shard->threads; i++) shard_ring_one(&shard->workers[i]);
}
