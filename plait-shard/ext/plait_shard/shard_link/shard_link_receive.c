/* Connections to nodes: how they are made, and what comes on them. */
#include "shard_link_receive.h"
#include "shard_flush.h"
#include "../shard_plane/shard_io.h"
#include "../shard_client/shard_kept.h"
#include "shard_link.h"
#include "../shard_client/shard_merge.h"
#include "../shard_client/shard_own_links.h"
#include "../shard_plane/shard_pin.h"
#include "shard_pinned.h"
#include "shard_pool.h"
#include "shard_redirect.h"
#include "shard_subscription.h"
#include "../shard_plane/shard_tls.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { MESSAGE = 256 };

static const double PERIOD = 0.05; /* seconds between looks at links that may take too long */

/* Where no socket listens on a port that the kernel chooses, the kernel may choose the same port for the connection to it. */
static bool shard_link_receive_is_to_itself(const struct shard_link *link) {
    struct sockaddr_storage ours = {0}, theirs = {0};
    socklen_t size = sizeof ours, other_size = sizeof theirs;
    if (getsockname(link->socket, (struct sockaddr *)&ours, &size) != 0) return false;
    if (getpeername(link->socket, (struct sockaddr *)&theirs, &other_size) != 0) return false;
    return size == other_size && memcmp(&ours, &theirs, size) == 0;
}

static void shard_link_receive_shake_hands(struct shard_worker *worker, struct shard_link *link) {
    char why[MESSAGE];
    switch (shard_tls_shake(link->tls)) {
    case SHARD_TLS_AGAIN:
        shard_watch(worker, link->socket, &link->events, EPOLLIN | (shard_tls_wants_to_write(link->tls) ? EPOLLOUT : 0), link);
        break;
    case SHARD_TLS_FAILED:
        snprintf(why, sizeof why, "can't be spoken to over TLS: %s", shard_tls_error(link->tls));
        shard_link_give_up(worker, link, why);
        break;
    default:
        shard_watch(worker, link->socket, &link->events, EPOLLIN, link);
        shard_link_greet(worker, link);
    }
}

static void shard_link_receive_begin_tls(struct shard_worker *worker, struct shard_link *link) {
    void **session = &worker->sessions[link->node - worker->shard->settings.nodes];
    link->tls = shard_tls_connect(worker, worker->shard->settings.tls_nodes, link->socket, link, link->node->host, session);
    if (link->tls) shard_link_receive_shake_hands(worker, link);
    else shard_link_give_up_by(worker, link, "can't be reached", ENOMEM);
}

static void shard_link_receive_end_to_connect(struct shard_worker *worker, struct shard_link *link) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(link->socket, SOL_SOCKET, SO_ERROR, &error, &size);
    if (!error && shard_link_receive_is_to_itself(link)) error = ECONNREFUSED;
    if (error) {
        shard_link_give_up_by(worker, link, "can't be reached", error);
        return;
    }
    link->since = worker->now;
    if (worker->shard->settings.tls_nodes) {
        shard_link_receive_begin_tls(worker, link);
    } else {
        shard_watch(worker, link->socket, &link->events, EPOLLIN, link);
        shard_link_greet(worker, link);
    }
}

static void shard_link_receive_disconnect_sender(struct shard_worker *worker, struct shard_link *link) {
    link->sender->stream = NULL; /* the rest is read and dropped */
    link->sender = NULL;
    shard_rope_clear(&link->out, &worker->blocks);
    shard_link_disconnect(worker, link);
}

static void shard_link_receive_end_of_reply(struct shard_worker *worker, struct shard_link *link) {
    struct shard_waiter *waiter = shard_link_waiter(link, link->head);
    resp_reply_start(&link->scan, &shard_link_replies);
    if (waiter->skip) {
        waiter->skip--;
        waiter->skipped++;
        return;
    }
    link->head++;
    link->answered = true;
    link->again = false;
    if (link->kept.first) shard_kept_drop(worker, link, shard_link_is_busy(link) ? shard_link_waiter(link, link->head)->at : link->kept_to);
    if (!link->own) return;
    /* Before the command was whole: the rest of it would be the beginning of the next command. */
    if (link->sender) shard_link_receive_disconnect_sender(worker, link);
    else if (link->unfenced) shard_link_disconnect(worker, link);
    shard_release_link(worker, link);
}

/* A push answers no command. Where nothing has subscribed, it is for no client. */
static bool shard_link_receive_is_unasked_push(const struct shard_link *link, char first) {
    char type = link->scan.type ? link->scan.type : first;
    return type == '>' && !(link->pin && link->pin->use == SHARD_PIN_SUBSCRIBED);
}

static bool shard_link_receive_take_replies(struct shard_worker *worker, struct shard_link *link, const char *data,
                                            size_t size) {
    while (size) {
        bool unasked = shard_link_receive_is_unasked_push(link, *data);
        if (!unasked && !shard_link_is_busy(link)) return link->pin && shard_pin_push(worker, link->pin, data, size);
        size_t used;
        int event = resp_reply_scan(&link->scan, data, size, &used);
        if (event < 0) return false;
        if (unasked) {
            if (event == RESP_REPLY) resp_reply_start(&link->scan, &shard_link_replies);
            data += used;
            size -= used;
            continue;
        }
        struct shard_waiter waiter = *shard_link_waiter(link, link->head);
        bool last = event == RESP_REPLY;
        enum shard_verdict verdict = SHARD_PASS;
        struct shard_retry *retry = NULL;
        if (link->scan.type == '-' && shard_is_redirected(worker)) {
            verdict = shard_redirect_look(worker, link, (struct shard_bytes){data, used, NULL}, last, &retry);
            if (link->state != SHARD_UP) return true;
        } else if (!waiter.skip && link->turn) {
            link->turn = SHARD_NO_TURN;
        }
        if (last) shard_link_receive_end_of_reply(worker, link);
        if (last && verdict == SHARD_PASS && !waiter.skip && waiter.retry) shard_retry_end(worker, waiter.retry);
        if (verdict == SHARD_PASS && !waiter.skip && waiter.request) shard_waiter_feed(worker, &waiter, data, used, last);
        else if (verdict == SHARD_PASS && !waiter.skip && last) link->suspect = false;
        if (link->pin && last && !waiter.skip) shard_pin_replied(worker, link->pin);
        if (verdict == SHARD_TURN) shard_retry_go(worker, retry);
        if (link->state != SHARD_UP) return true;
        data += used;
        size -= used;
    }
    return true;
}

static void shard_link_receive_receive(struct shard_worker *worker, struct shard_link *link) {
    size_t room;
    char *data = shard_room(worker, &room);
    if (link->state != SHARD_UP) return; /* making room has written to it, and found it broken */

    ssize_t size = shard_receive(worker, link->socket, link->tls, data, room);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size < 0) {
        shard_link_give_up_by(worker, link, "has broken the connection", errno);
    } else if (size == 0) {
        shard_link_give_up(worker, link, "has closed the connection");
    } else {
        worker->used += (size_t)size;
        link->since = worker->now;
        if (!shard_link_receive_take_replies(worker, link, data, (size_t)size)) {
            shard_link_give_up(worker, link, "has sent what is no reply");
        }
    }
}

void shard_link_event(struct shard_worker *worker, struct shard_link *link, uint32_t events) {
    if (link->state == SHARD_CONNECTING && link->tls) shard_link_receive_shake_hands(worker, link);
    else if (link->state == SHARD_CONNECTING && events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
        shard_link_receive_end_to_connect(worker, link);
    if (link->state == SHARD_GREETING && events & (EPOLLIN | EPOLLERR | EPOLLHUP)) shard_link_greeted(worker, link);
    uint32_t reads = link->resting ? 0 : EPOLLIN;
    if (link->state == SHARD_UP && events & (reads | EPOLLERR | EPOLLHUP)) shard_link_receive_receive(worker, link);
    shard_link_touch(worker, link);
}

bool shard_links_check(struct shard_worker *worker) {
    if (!worker->timed_links && !worker->deserted) return false;
    if (worker->now < worker->links_at) return true;

    struct shard_link *list = worker->timed_links, *next;
    worker->links_at = worker->now + PERIOD;
    worker->timed_links = NULL;
    for (struct shard_link *link = list; link; link = next) {
        next = link->next_timed;
        link->timed = false;
        if (shard_link_check(worker, link)) shard_link_time(worker, link);
    }
    if (worker->deserted) shard_pools_free(worker);
    return worker->timed_links || worker->deserted;
}
