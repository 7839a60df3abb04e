/* Connections to nodes. */
#include "shard_metrics.h"
#include "shard_pinned.h"
#include "shard_session.h"

#ifdef __linux__

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

enum { MESSAGE = 512, FIRST_WAITERS = 64 };

static const struct shard_settings *settings_of(const struct shard_worker *worker) {
    return &worker->shard->settings;
}

/* ---- who waits ---- */

static bool busy(const struct shard_link *link) {
    return link->head != link->tail;
}

static bool push_waiter(struct shard_link *link, struct shard_request *request, uint32_t part) {
    if (link->tail - link->head == link->room) {
        uint32_t room = link->room ? link->room * 2 : FIRST_WAITERS;
        struct shard_waiter *waiters = malloc(room * sizeof *waiters);
        if (!waiters) return false;

        for (uint32_t i = link->head; i != link->tail; i++) waiters[i & (room - 1)] = link->waiters[i & (link->room - 1)];
        free(link->waiters);
        link->waiters = waiters;
        link->room = room;
    }
    link->waiters[link->tail++ & (link->room - 1)] = (struct shard_waiter){request, part, 0};
    return true;
}

static void feed(struct shard_worker *worker, struct shard_waiter waiter, const char *data, size_t size, bool last) {
    if (waiter.request->merge) shard_merge_feed(worker, waiter.request, waiter.part, data, size, last);
    else shard_request_feed(worker, waiter.request, data, size, last);
}

static void fail_waiter(struct shard_worker *worker, struct shard_request *request, const char *error, bool begun) {
    if (request->merge) shard_merge_fail(worker, request, error);
    else shard_request_fail(worker, request, error, begun);
}

/* ---- the connection ---- */

static void disconnect(struct shard_worker *worker, struct shard_link *link) {
    if (link->socket != -1) shard_hang_up(worker, link->socket);
    link->socket = -1;
    link->state = SHARD_DOWN;
    shard_rope_clear(&link->out, &worker->blocks);
}

static void fail_all(struct shard_worker *worker, struct shard_link *link, const char *error) {
    bool begun = link->state == SHARD_UP && link->scan.at > 0 && busy(link) && !link->waiters[link->head & (link->room - 1)].skip;
    if (link->sender) link->sender->stream = NULL; /* what is still to come from it is dropped */
    link->sender = NULL;
    disconnect(worker, link);
    while (busy(link)) {
        struct shard_waiter waiter = link->waiters[link->head++ & (link->room - 1)];
        fail_waiter(worker, waiter.request, error, begun);
        begun = false;
    }
    resp_reply_start(&link->scan, &settings_of(worker)->limits);
    if (link->pin) shard_pin_lost(worker, link->pin, error);
}

void shard_link_abandon(struct shard_worker *worker, struct shard_link *link, const char *error) {
    fail_all(worker, link, error);
}

/* All that wait are told why. Those that were asked may have been obeyed. */
static void give_up(struct shard_worker *worker, struct shard_link *link, const char *why) {
    bool asked = link->state == SHARD_UP;
    char error[MESSAGE];
    snprintf(error, sizeof error, "-ERR node %s %s%s\r\n", link->node->label, why,
             asked ? "; whether it has done what it was asked is unknown" : "; nothing was done");
    if (!asked) link->retry_at = worker->now + settings_of(worker)->retry;
    shard_add(worker, FIGURE_FAILURES, 1);
    shard_metrics_failed(worker, link->node);
    fail_all(worker, link, error);
}

void shard_link_give_up(struct shard_worker *worker, struct shard_link *link, const char *why) {
    give_up(worker, link, why);
}

static void give_up_by(struct shard_worker *worker, struct shard_link *link, const char *what, int number) {
    char why[MESSAGE / 2];
    snprintf(why, sizeof why, "%s: %s", what, strerrordesc_np(number));
    give_up(worker, link, why);
}

static int open_socket(struct shard_worker *worker, struct shard_link *link) {
    const struct shard_node *node = link->node;
    link->socket = shard_take_socket(node->address.ss_family);
    if (link->socket == -1) return errno;

    int on = 1;
    setsockopt(link->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(link->socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    if (connect(link->socket, (const struct sockaddr *)&node->address, node->size) != 0 && errno != EINPROGRESS) return errno;

    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data = {.ptr = link}};
    if (epoll_ctl(worker->epoll, EPOLL_CTL_ADD, link->socket, &event) != 0) return errno;
    link->events = event.events;
    return 0;
}

static bool begin_to_connect(struct shard_worker *worker, struct shard_link *link) {
    link->state = SHARD_CONNECTING;
    link->since = worker->now;
    resp_reply_start(&link->scan, &settings_of(worker)->limits);
    int error = open_socket(worker, link);
    if (error) give_up_by(worker, link, "can't be reached", error);
    return error == 0;
}

static void end_to_connect(struct shard_worker *worker, struct shard_link *link) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(link->socket, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error) {
        give_up_by(worker, link, "can't be reached", error);
        return;
    }
    link->since = worker->now;
    shard_watch(worker, link->socket, &link->events, EPOLLIN, link);
    shard_link_greet(worker, link);
}

bool shard_link_ask(struct shard_worker *worker, struct shard_link *link, struct shard_request *request, uint32_t part) {
    char error[MESSAGE];
    bool waits = link->state == SHARD_DOWN && worker->now < link->retry_at;
    if (waits) snprintf(error, sizeof error, "-ERR node %s could not be reached and is not tried again yet; nothing was done\r\n",
                        link->node->label);
    if (!waits && link->state == SHARD_DOWN && !begin_to_connect(worker, link)) {
        snprintf(error, sizeof error, "-ERR node %s can't be reached; nothing was done\r\n", link->node->label);
        waits = true;
    }
    if (waits) {
        fail_waiter(worker, request, error, false);
        return false;
    }
    if (!busy(link)) link->since = worker->now;
    shard_metrics_asked(worker, link->node);
    if (push_waiter(link, request, part)) return true;

    fail_waiter(worker, request, "-ERR out of memory\r\n", false);
    return false;
}

bool shard_link_open(struct shard_worker *worker, struct shard_link *link) {
    return link->state != SHARD_DOWN || begin_to_connect(worker, link);
}

void shard_link_skip(struct shard_link *link, uint32_t replies) {
    link->waiters[(link->tail - 1) & (link->room - 1)].skip = replies;
}

/* ---- what comes and goes ---- */

static bool take_replies(struct shard_worker *worker, struct shard_link *link, const char *data, size_t size) {
    while (size) {
        if (!busy(link)) return link->pin && shard_pin_push(worker, link->pin, data, size);
        struct shard_waiter waiter = link->waiters[link->head & (link->room - 1)];
        size_t used;
        int event = resp_reply_scan(&link->scan, data, size, &used);
        if (event < 0) return false;

        bool last = event == RESP_REPLY;
        if (last) {
            if (waiter.skip) link->waiters[link->head & (link->room - 1)].skip--;
            else link->head++;
            resp_reply_start(&link->scan, &settings_of(worker)->limits);
        }
        if (!waiter.skip) feed(worker, waiter, data, used, last);
        if (link->pin && last && !waiter.skip) shard_pin_replied(worker, link->pin);
        if (link->state != SHARD_UP) return true; /* its client has gone, and it with it */
        data += used;
        size -= used;
    }
    return true;
}

static void receive(struct shard_worker *worker, struct shard_link *link) {
    size_t room;
    char *data = shard_room(worker, &room);
    if (link->state != SHARD_UP) return; /* making room has written to it, and found it broken */

    ssize_t size = recv(link->socket, data, room, 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size < 0) {
        give_up_by(worker, link, "has broken the connection", errno);
    } else if (size == 0) {
        give_up(worker, link, "has closed the connection");
    } else {
        worker->used += (size_t)size;
        link->since = worker->now;
        if (!take_replies(worker, link, data, (size_t)size)) give_up(worker, link, "has sent what is no reply");
    }
}

void shard_link_event(struct shard_worker *worker, struct shard_link *link, uint32_t events) {
    if (link->state == SHARD_CONNECTING && events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) end_to_connect(worker, link);
    if (link->state == SHARD_GREETING && events & (EPOLLIN | EPOLLERR | EPOLLHUP)) shard_link_greeted(worker, link);
    if (link->state == SHARD_UP && events & (EPOLLIN | EPOLLERR | EPOLLHUP)) receive(worker, link);
    if (link->pin) shard_pin_touch(worker, link->pin);
}

void shard_link_flush(struct shard_worker *worker, struct shard_link *link) {
    if (!link->out.first) return;
    size_t size = link->out.size;
    int error = link->state == SHARD_UP ? shard_rope_write(&link->out, &worker->blocks, link->socket) : EAGAIN;
    if (link->out.size != size) link->since = worker->now;
    if (error == EAGAIN) {
        if (!shard_rope_settle(&link->out, &worker->blocks)) give_up(worker, link, "would need more memory than there is");
        else if (link->state == SHARD_UP) shard_watch(worker, link->socket, &link->events, EPOLLIN | EPOLLOUT, link);
    } else if (error) {
        give_up_by(worker, link, "has broken the connection", error);
    } else {
        shard_watch(worker, link->socket, &link->events, EPOLLIN, link);
    }
}

/* What the kernel holds for a node becomes less as long as the node takes some of it. */
static bool still_taken(struct shard_worker *worker, struct shard_link *link) {
    int queued = 0;
    if (link->state != SHARD_UP || ioctl(link->socket, SIOCOUTQ, &queued) != 0 || queued == 0) return false;
    if (link->since == link->queued_since && queued >= link->queued) return false;

    link->queued = queued;
    link->since = link->queued_since = worker->now;
    return true;
}

bool shard_link_check(struct shard_worker *worker, struct shard_link *link) {
    if (link->state == SHARD_DOWN || (link->state == SHARD_UP && !busy(link))) return false;

    const struct shard_settings *settings = settings_of(worker);
    double patience = link->state == SHARD_CONNECTING ? settings->connect_timeout : settings->timeout;
    if (patience <= 0 || worker->now - link->since < patience || still_taken(worker, link)) return true;

    char why[MESSAGE / 2];
    snprintf(why, sizeof why, "%s %g s", link->state == SHARD_UP ? "has sent nothing for" : "can't be reached within", patience);
    give_up(worker, link, why);
    return false;
}

void shard_link_close(struct shard_worker *worker, struct shard_link *link) {
    fail_all(worker, link, "-ERR the shard no longer asks this node\r\n");
    free(link->waiters);
    link->waiters = NULL;
    link->room = link->head = link->tail = 0;
}

#endif
