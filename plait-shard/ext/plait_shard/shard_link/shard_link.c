/* Connections to nodes: the requests that wait, the bytes that go out, and the end of a connection. See shard_link_receive.c. */
#include "shard_link.h"
#include "../shard_client/shard_client_lists.h"
#include "../shard_client/shard_client_replies.h"
#include "../shard_plane/shard_fork.h"
#include "../shard_plane/shard_io.h"
#include "../shard_client/shard_kept.h"
#include "../shard_client/shard_memory.h"
#include "../shard_client/shard_merge.h"
#include "../shard_plane/shard_metrics.h"
#include "../shard_client/shard_own_links.h"
#include "../shard_plane/shard_pin.h"
#include "shard_pinned.h"
#include "shard_redirect.h"
#include "../shard_plane/shard_tls.h"
#include "../shard_plane/shard_topology.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

enum { MESSAGE = 512, FIRST_WAITERS = 64 };

static const char ping[] = "*1\r\n$4\r\nPING\r\n";

static const double LONG = 6; /* times the patience with others */
static const double SLOW = 1; /* seconds without progress of a node that has more than SHARD_MOST to take */
static const double RESTED = 0.05; /* seconds without use, after which a connection is looked at before it is used */

/* What a node may answer is its own affair: it is passed on, not kept. */
const struct resp_limits shard_link_replies = {.bulk = 1ULL << 40, .elements = 1ULL << 40};

static const struct shard_settings *shard_link_settings_of(const struct shard_worker *worker) {
    return &worker->shard->settings;
}

/* ---- waiting requests ---- */

static bool shard_link_push_waiter(struct shard_link *link, struct shard_request *request, uint32_t part) {
    if (link->tail - link->head == link->room) {
        uint32_t room = link->room ? link->room * 2 : FIRST_WAITERS;
        struct shard_waiter *waiters = malloc(room * sizeof *waiters);
        if (!waiters) return false;

        for (uint32_t i = link->head; i != link->tail; i++) waiters[i & (room - 1)] = link->waiters[i & (link->room - 1)];
        free(link->waiters);
        link->waiters = waiters;
        link->room = room;
    }
    link->waiters[link->tail++ & (link->room - 1)] =
        (struct shard_waiter){.request = request, .part = part, .at = link->sent + link->out.size};
    return true;
}

struct shard_waiter *shard_link_last(const struct shard_link *link) {
    return shard_link_waiter(link, link->tail - 1);
}

void shard_waiter_fail(struct shard_worker *worker, const struct shard_waiter *waiter, const char *error) {
    if (waiter->retry) shard_retry_end(worker, waiter->retry);
    if (!waiter->request) return;
    if (waiter->request->merge) shard_merge_fail(worker, waiter->request, waiter->part, error);
    else shard_request_fail(worker, waiter->request, error);
}

/* ---- lists of links: a turn looks only at links that have an event ---- */

void shard_link_touch(struct shard_worker *worker, struct shard_link *link) {
    if (link->pin) {
        shard_pin_touch(worker, link->pin);
    } else if (!link->touched) {
        link->touched = true;
        link->next_touched = worker->touched_links;
        worker->touched_links = link;
    }
}

/* Owners look at the links for streams and at pins. */
void shard_link_time(struct shard_worker *worker, struct shard_link *link) {
    if (link->own || link->timed) return;
    link->timed = true;
    link->next_timed = worker->timed_links;
    worker->timed_links = link;
}

/* ---- the connection ---- */

void shard_link_disconnect(struct shard_worker *worker, struct shard_link *link) {
    shard_tls_free(worker, link->tls);
    link->tls = NULL;
    if (link->socket != -1) shard_hang_up(worker, link->socket);
    link->socket = -1;
    link->state = SHARD_DOWN;
    link->answered = link->unfenced = link->spilt = false;
    link->turn = SHARD_NO_TURN;
    shard_rope_clear(&link->line, &worker->blocks);
    shard_kept_clear(worker, link);
    resp_reply_start(&link->scan, &shard_link_replies);
}

static void shard_link_fail_until(struct shard_worker *worker, struct shard_link *link, uint32_t end, const char *error) {
    while (link->head != end) {
        struct shard_waiter waiter = *shard_link_waiter(link, link->head++);
        shard_waiter_fail(worker, &waiter, error);
    }
}

static void shard_link_fail_all(struct shard_worker *worker, struct shard_link *link, const char *error) {
    if (link->sender) link->sender->stream = NULL; /* what is still to come from it is dropped */
    link->sender = NULL;
    shard_reads_rescue(worker, link);
    shard_link_disconnect(worker, link);
    shard_rope_clear(&link->out, &worker->blocks);
    shard_release_link(worker, link);
    shard_link_fail_until(worker, link, link->tail, error);
    if (link->pin) shard_pin_lost(worker, link->pin, error);
}

void shard_link_abandon(struct shard_worker *worker, struct shard_link *link, const char *error) {
    shard_link_touch(worker, link);
    shard_link_fail_all(worker, link, error);
}

static void shard_link_describe(char error[MESSAGE], const struct shard_link *link, const char *why, bool asked) {
    snprintf(error, MESSAGE, "-ERR node %s %s%s\r\n", link->node->label, why,
             asked ? "; whether it has done what it was asked is unknown" : "; nothing was done");
}

static bool shard_link_begin_to_connect(struct shard_worker *worker, struct shard_link *link);

/*
 * A request of which a byte was sent gets an error, since the node may have obeyed it; the others are asked again, once. The next
 * request connects again to a node that has answered here: it may have closed an idle connection (timeout, CLIENT KILL, a firewall).
 */
void shard_link_give_up(struct shard_worker *worker, struct shard_link *link, const char *why) {
    char error[MESSAGE];
    shard_link_touch(worker, link);
    shard_reads_rescue(worker, link);
    shard_topology_doubt(worker);
    bool up = link->state == SHARD_UP;
    uint32_t unsent = link->head;
    while (up && unsent != link->tail && shard_link_waiter(link, unsent)->at < link->sent) unsent++;
    bool again = up && unsent != link->tail && !link->again && !link->own;
    bool answered = up && link->answered;
    shard_add(worker, FIGURE_FAILURES, 1);
    shard_metrics_failed(worker, link->node);
    if (again) shard_rope_drop(&link->out, &worker->blocks, (size_t)(shard_link_waiter(link, unsent)->at - link->sent));
    else shard_rope_clear(&link->out, &worker->blocks);
    if (link->sender) link->sender->stream = NULL;
    link->sender = NULL;
    shard_link_disconnect(worker, link);
    shard_release_link(worker, link);
    if (!again && !answered) link->retry_at = worker->now + shard_link_settings_of(worker)->retry;

    shard_link_describe(error, link, why, true);
    if (up) shard_link_fail_until(worker, link, unsent, error);
    if (again) {
        link->sent = shard_link_waiter(link, unsent)->at;
        link->again = true;
        shard_link_begin_to_connect(worker, link);
        return;
    }
    shard_link_describe(error, link, why, up && link->pin);
    shard_link_fail_until(worker, link, link->tail, error);
    if (link->pin) shard_pin_lost(worker, link->pin, error);
}

/* strerror(3) is not for threads everywhere. */
static const char *shard_link_text_of(int number, char *room, size_t size) {
#ifdef __GLIBC__
    return strerror_r(number, room, size);
#else
    return strerror_r(number, room, size) == 0 ? room : "unknown error";
#endif
}

void shard_link_give_up_by(struct shard_worker *worker, struct shard_link *link, const char *what, int number) {
    char why[MESSAGE / 2], text[MESSAGE / 4];
    snprintf(why, sizeof why, "%s: %s", what, shard_link_text_of(number, text, sizeof text));
    shard_link_give_up(worker, link, why);
}

static int shard_link_open_socket(struct shard_worker *worker, struct shard_link *link) {
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

static bool shard_link_begin_to_connect(struct shard_worker *worker, struct shard_link *link) {
    link->state = SHARD_CONNECTING;
    link->since = worker->now;
    shard_link_time(worker, link);
    link->resting = false;
    resp_reply_start(&link->scan, &shard_link_replies);
    int error = shard_link_open_socket(worker, link);
    if (error) shard_link_give_up_by(worker, link, "can't be reached", error);
    return error == 0;
}

/* Why the node is not asked now, or NULL. */
static const char *shard_link_refusal(const struct shard_worker *worker, const struct shard_link *link) {
    if (link->suspect) return "was silent and has not answered since";
    if (link->state == SHARD_DOWN && worker->now < link->retry_at) {
        const char *barred = shard_link_shared(worker, link)->barred;
        return barred ? barred : "could not be reached and is not tried again yet";
    }
    if (link->out.size > SHARD_MOST && worker->now - link->since > SLOW) return "takes nothing, and much waits for it";
    if (shard_is_overfull(worker, link)) return "is behind, and the shard has no room for more";
    return NULL;
}

bool shard_link_is_well(const struct shard_worker *worker, const struct shard_link *link) {
    return !shard_link_refusal(worker, link);
}

/*
 * The node has closed the connection, which epoll has not reported yet: bytes sent there would be lost. A pin's state is
 * lost, too: its owner gets the error.
 */
static bool shard_link_is_closed(const struct shard_worker *worker, const struct shard_link *link) {
    if (link->state != SHARD_UP || shard_link_is_busy(link) || (link->pin && link->pin->settled)) return false;
    if (!link->own && worker->now - link->since < RESTED) return false;
    struct pollfd look = {.fd = link->socket, .events = POLLRDHUP};
    return poll(&look, 1, 0) == 1;
}

bool shard_link_ask(struct shard_worker *worker, struct shard_link *link, struct shard_request *request, uint32_t part) {
    struct shard_waiter waiter = {.request = request, .part = part};
    const char *why = shard_link_refusal(worker, link);
    if (why) {
        char error[MESSAGE];
        shard_link_describe(error, link, why, false);
        shard_release_link(worker, link);
        shard_waiter_fail(worker, &waiter, error);
        return false;
    }
    if (shard_link_is_closed(worker, link)) shard_link_disconnect(worker, link);
    if (!shard_link_is_busy(link)) link->since = worker->now;
    shard_metrics_asked(worker, link->node);
    if (!shard_link_push_waiter(link, request, part)) {
        shard_release_link(worker, link);
        shard_waiter_fail(worker, &waiter, "-ERR out of memory\r\n");
        return false;
    }
    shard_link_touch(worker, link);
    shard_link_time(worker, link);
    return link->state != SHARD_DOWN || shard_link_begin_to_connect(worker, link);
}

bool shard_link_open(struct shard_worker *worker, struct shard_link *link) {
    if (shard_link_is_closed(worker, link)) shard_link_disconnect(worker, link);
    return link->state != SHARD_DOWN || shard_link_begin_to_connect(worker, link);
}

void shard_link_skip(struct shard_link *link, uint32_t replies) {
    shard_link_last(link)->skip = replies;
}

/* ---- what comes and goes ---- */

void shard_links_flush(struct shard_worker *worker) {
    while (worker->touched_links) {
        struct shard_link *link = worker->touched_links;
        worker->touched_links = link->next_touched;
        link->touched = false;
        shard_link_flush(worker, link);
    }
}

void shard_link_flush(struct shard_worker *worker, struct shard_link *link) {
    if (!link->out.first && !link->weighed && !link->blocked) return;
    size_t size = link->out.size;
    bool up = link->state == SHARD_UP && link->out.first;
    if (up) shard_kept_add(worker, link);
    int error = up ? shard_write(link->tls, &link->out, &worker->blocks, link->socket) : EAGAIN;
    link->sent += size - link->out.size;
    if (link->out.size != size) link->since = worker->now;
    if (error && error != EAGAIN) shard_link_give_up_by(worker, link, "has broken the connection", error);
    if (!shard_rope_settle(&link->out, &worker->blocks)) shard_link_fail_all(worker, link, "-ERR out of memory\r\n");
    if (link->state == SHARD_UP) shard_watch(worker, link->socket, &link->events, shard_link_events(link), link);
    shard_weigh_link(worker, link);
    if (link->blocked && link->out.size < SHARD_HIGH / 2) shard_wake(worker, &link->blocked, UINT32_MAX);
}

/* What the kernel holds for a node becomes less as long as the node takes some of it. */
static bool shard_link_still_taken(struct shard_worker *worker, struct shard_link *link) {
    int queued = 0;
    if (link->state != SHARD_UP || ioctl(link->socket, SIOCOUTQ, &queued) != 0 || queued == 0) return false;
    if (link->since == link->queued_since && queued >= link->queued) return false;

    link->queued = queued;
    link->since = link->queued_since = worker->now;
    return true;
}

/* Where a node gets no requests because it was silent, the shard asks it with a PING. */
static bool shard_link_ask_suspect(struct shard_worker *worker, struct shard_link *link) {
    if (worker->now < link->retry_at || !shard_link_push_waiter(link, NULL, 0)) return true;
    if (!shard_rope_copy(&link->out, &worker->blocks, ping, sizeof ping - 1)) shard_link_fail_all(worker, link, "");
    else shard_link_begin_to_connect(worker, link);
    return true;
}

void shard_link_probe(struct shard_worker *worker, struct shard_link *link) {
    double patience = shard_link_settings_of(worker)->timeout;
    if (patience <= 0 || shard_link_is_busy(link) || shard_link_refusal(worker, link) ||
        worker->now - link->since < patience / 2) return;
    if (!shard_link_push_waiter(link, NULL, 0)) return;

    link->since = worker->now;
    shard_link_touch(worker, link);
    shard_link_time(worker, link);
    if (!shard_rope_copy(&link->out, &worker->blocks, ping, sizeof ping - 1)) shard_link_fail_all(worker, link, "");
    else if (link->state == SHARD_DOWN) shard_link_begin_to_connect(worker, link);
}

/* As which command it is used: one that waits on a connection of its own. */
static enum shard_link_use shard_link_use_of(const struct shard_link *link) {
    const struct shard_request *request = link->own && shard_link_is_busy(link) ? shard_link_waiter(link, link->head)->request : NULL;
    return request && request->merge && request->command ? request->command->link : SHARD_SHARED;
}

bool shard_link_is_about_scripts(const struct shard_link *link) {
    return shard_link_use_of(link) == SHARD_OWN_SCRIPTS;
}

/* A client that scans or deletes all keys expects to wait, and keeps no other client from being answered here. */
static double shard_link_times_of(const struct shard_link *link) {
    return shard_link_use_of(link) == SHARD_OWN_LONG ? LONG : 1;
}

bool shard_link_check(struct shard_worker *worker, struct shard_link *link) {
    if (link->suspect && link->state == SHARD_DOWN) return shard_link_ask_suspect(worker, link);
    if (link->state == SHARD_DOWN || (link->state == SHARD_UP && !shard_link_is_busy(link))) return false;

    const struct shard_settings *settings = shard_link_settings_of(worker);
    double patience = link->state == SHARD_CONNECTING
        ? settings->connect_timeout : settings->timeout * shard_link_times_of(link);
    if (patience <= 0 || worker->now - link->since < patience || shard_link_still_taken(worker, link)) return true;

    char why[MESSAGE / 2];
    const char *late = link->tls ? "does not shake hands over TLS within" : "can't be reached within";
    snprintf(why, sizeof why, "%s %g s", link->state == SHARD_UP ? "has sent nothing for" : late, patience);
    link->again = true; /* what was not sent would only wait once more */
    link->suspect = !link->own;
    shard_link_give_up(worker, link, why);
    return true;
}

void shard_link_close(struct shard_worker *worker, struct shard_link *link) {
    link->suspect = false;
    shard_link_fail_all(worker, link, "-ERR the shard no longer asks this node\r\n");
    shard_weigh_link(worker, link);
    shard_wake(worker, &link->blocked, UINT32_MAX);
    free(link->waiters);
    link->waiters = NULL;
    free(link->barred);
    link->barred = NULL;
    link->room = link->head = link->tail = 0;
}
