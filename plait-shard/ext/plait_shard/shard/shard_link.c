/* Connections to nodes. */
#include "shard_link.h"
#include "shard_client_input.h"
#include "shard_client_replies.h"
#include "shard_fork.h"
#include "shard_memory.h"
#include "shard_merge.h"
#include "shard_metrics.h"
#include "shard_pinned.h"
#include "shard_redirect.h"
#include "shard_session.h"
#include "shard_stream.h"
#include "shard_tls.h"
#include "shard_topology.h"
#include "shard_worker.h"

#ifdef __linux__

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

enum { MESSAGE = 512, FIRST_WAITERS = 64, MANY_WAITERS = 4096 };

static const char ping[] = "*1\r\n$4\r\nPING\r\n";

static const double LONG = 6; /* times the patience with others */
static const double SLOW = 1; /* seconds without progress of a node that has more than SHARD_MOST to take */
static const double PERIOD = 0.05; /* seconds between looks at those that may take too long */
static const double RESTED = 0.05; /* seconds without use, after which a connection is looked at before it is used */

/* What a node may answer is its own affair: it is passed on, not kept. */
static const struct resp_limits replies = {.bulk = 1ULL << 40, .elements = 1ULL << 40};

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
    link->waiters[link->tail++ & (link->room - 1)] =
        (struct shard_waiter){.request = request, .part = part, .at = link->sent + link->out.size};
    return true;
}

size_t shard_link_shrink(struct shard_link *link) {
    size_t freed = link->room * sizeof *link->waiters;
    if (busy(link) || link->room <= MANY_WAITERS) return 0;
    free(link->waiters);
    link->waiters = NULL;
    link->room = link->head = link->tail = 0;
    return freed;
}

static struct shard_waiter *waiter_at(const struct shard_link *link, uint32_t place) {
    return &link->waiters[place & (link->room - 1)];
}

struct shard_waiter *shard_link_last(const struct shard_link *link) {
    return waiter_at(link, link->tail - 1);
}

void shard_waiter_feed(struct shard_worker *worker, const struct shard_waiter *waiter, const char *data, size_t size, bool last) {
    if (waiter->request->merge) shard_merge_feed(worker, waiter->request, waiter->part, data, size, last);
    else shard_request_feed(worker, waiter->request, data, size, last);
}

void shard_waiter_fail(struct shard_worker *worker, const struct shard_waiter *waiter, const char *error) {
    if (waiter->detour) shard_detour_end(worker, waiter->detour);
    if (!waiter->request) return;
    if (waiter->request->merge) shard_merge_fail(worker, waiter->request, waiter->part, error);
    else shard_request_fail(worker, waiter->request, error);
}

/* ---- lists of them: a turn looks at those only with which something happens ---- */

void shard_link_touch(struct shard_worker *worker, struct shard_link *link) {
    if (link->pin) {
        shard_pin_touch(worker, link->pin);
    } else if (!link->touched) {
        link->touched = true;
        link->next_touched = worker->touched_links;
        worker->touched_links = link;
    }
}

/* Those for streams, and pins, are looked at by their owners. */
static void begin_to_time(struct shard_worker *worker, struct shard_link *link) {
    if (link->own || link->timed) return;
    link->timed = true;
    link->next_timed = worker->timed_links;
    worker->timed_links = link;
}

/* ---- the connection ---- */

static uint32_t events_of(const struct shard_link *link) {
    bool writes = link->out.first || (link->tls && shard_tls_wants_to_write(link->tls));
    return (link->resting ? 0 : EPOLLIN) | (writes ? EPOLLOUT : 0);
}

void shard_link_read(struct shard_worker *worker, struct shard_link *link, bool wanted) {
    if (link->resting != wanted) return;
    link->resting = !wanted;
    link->since = worker->now;
    if (link->state == SHARD_UP) shard_watch(worker, link->socket, &link->events, events_of(link), link);
    if (wanted && link->tls) shard_tls_tell(worker, link->tls);
}

static void disconnect(struct shard_worker *worker, struct shard_link *link) {
    shard_tls_free(worker, link->tls);
    link->tls = NULL;
    if (link->socket != -1) shard_hang_up(worker, link->socket);
    link->socket = -1;
    link->state = SHARD_DOWN;
    link->answered = link->unfenced = link->spilt = false;
    link->turn = SHARD_NO_TURN;
    shard_rope_clear(&link->line, &worker->blocks);
    shard_kept_clear(worker, link);
    resp_reply_start(&link->scan, &replies);
}

static void fail_until(struct shard_worker *worker, struct shard_link *link, uint32_t end, const char *error) {
    while (link->head != end) {
        struct shard_waiter waiter = *waiter_at(link, link->head++);
        shard_waiter_fail(worker, &waiter, error);
    }
}

static void fail_all(struct shard_worker *worker, struct shard_link *link, const char *error) {
    if (link->sender) link->sender->stream = NULL; /* what is still to come from it is dropped */
    link->sender = NULL;
    shard_reads_rescue(worker, link);
    disconnect(worker, link);
    shard_rope_clear(&link->out, &worker->blocks);
    shard_release_link(worker, link);
    fail_until(worker, link, link->tail, error);
    if (link->pin) shard_pin_lost(worker, link->pin, error);
}

void shard_link_abandon(struct shard_worker *worker, struct shard_link *link, const char *error) {
    shard_link_touch(worker, link);
    fail_all(worker, link, error);
}

static void describe(char error[MESSAGE], const struct shard_link *link, const char *why, bool asked) {
    snprintf(error, MESSAGE, "-ERR node %s %s%s\r\n", link->node->label, why,
             asked ? "; whether it has done what it was asked is unknown" : "; nothing was done");
}

static bool begin_to_connect(struct shard_worker *worker, struct shard_link *link);

/*
 * All that wait are told why. Those of whom a byte was sent may have been obeyed; the others are asked anew, once. A node that has
 * answered here is dialled again with the next request: it may have closed what rested (its timeout, CLIENT KILL, a firewall).
 */
static void give_up(struct shard_worker *worker, struct shard_link *link, const char *why) {
    char error[MESSAGE];
    shard_link_touch(worker, link);
    shard_reads_rescue(worker, link);
    shard_topology_doubt(worker);
    bool up = link->state == SHARD_UP;
    uint32_t unsent = link->head;
    while (up && unsent != link->tail && waiter_at(link, unsent)->at < link->sent) unsent++;
    bool again = up && unsent != link->tail && !link->again && !link->own;
    bool answered = up && link->answered;
    shard_add(worker, FIGURE_FAILURES, 1);
    shard_metrics_failed(worker, link->node);
    if (again) shard_rope_drop(&link->out, &worker->blocks, (size_t)(waiter_at(link, unsent)->at - link->sent));
    else shard_rope_clear(&link->out, &worker->blocks);
    if (link->sender) link->sender->stream = NULL;
    link->sender = NULL;
    disconnect(worker, link);
    shard_release_link(worker, link);
    if (!again && !answered) link->retry_at = worker->now + settings_of(worker)->retry;

    describe(error, link, why, true);
    if (up) fail_until(worker, link, unsent, error);
    if (again) {
        link->sent = waiter_at(link, unsent)->at;
        link->again = true;
        begin_to_connect(worker, link);
        return;
    }
    describe(error, link, why, up && link->pin);
    fail_until(worker, link, link->tail, error);
    if (link->pin) shard_pin_lost(worker, link->pin, error);
}

/* strerror(3) is not for threads everywhere. */
static const char *text_of(int number, char *room, size_t size) {
#ifdef __GLIBC__
    return strerror_r(number, room, size);
#else
    return strerror_r(number, room, size) == 0 ? room : "unknown error";
#endif
}

void shard_link_give_up(struct shard_worker *worker, struct shard_link *link, const char *why) {
    give_up(worker, link, why);
}

static void give_up_by(struct shard_worker *worker, struct shard_link *link, const char *what, int number) {
    char why[MESSAGE / 2], text[MESSAGE / 4];
    snprintf(why, sizeof why, "%s: %s", what, text_of(number, text, sizeof text));
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
    begin_to_time(worker, link);
    link->resting = false;
    resp_reply_start(&link->scan, &replies);
    int error = open_socket(worker, link);
    if (error) give_up_by(worker, link, "can't be reached", error);
    return error == 0;
}

/* Where nobody listens on a port of the kernel's own choice, it may choose just that one for the connection to it. */
static bool is_to_itself(const struct shard_link *link) {
    struct sockaddr_storage ours = {0}, theirs = {0};
    socklen_t size = sizeof ours, other_size = sizeof theirs;
    if (getsockname(link->socket, (struct sockaddr *)&ours, &size) != 0) return false;
    if (getpeername(link->socket, (struct sockaddr *)&theirs, &other_size) != 0) return false;
    return size == other_size && memcmp(&ours, &theirs, size) == 0;
}

static void shake_hands(struct shard_worker *worker, struct shard_link *link) {
    char why[MESSAGE / 2];
    switch (shard_tls_shake(link->tls)) {
    case SHARD_TLS_AGAIN:
        shard_watch(worker, link->socket, &link->events, EPOLLIN | (shard_tls_wants_to_write(link->tls) ? EPOLLOUT : 0), link);
        break;
    case SHARD_TLS_FAILED:
        snprintf(why, sizeof why, "can't be spoken to over TLS: %s", shard_tls_error(link->tls));
        give_up(worker, link, why);
        break;
    default:
        shard_watch(worker, link->socket, &link->events, EPOLLIN, link);
        shard_link_greet(worker, link);
    }
}

static void begin_tls(struct shard_worker *worker, struct shard_link *link) {
    void **session = &worker->sessions[link->node - settings_of(worker)->nodes];
    link->tls = shard_tls_connect(worker, settings_of(worker)->tls_nodes, link->socket, link, link->node->host, session);
    if (link->tls) shake_hands(worker, link);
    else give_up_by(worker, link, "can't be reached", ENOMEM);
}

static void end_to_connect(struct shard_worker *worker, struct shard_link *link) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(link->socket, SOL_SOCKET, SO_ERROR, &error, &size);
    if (!error && is_to_itself(link)) error = ECONNREFUSED;
    if (error) {
        give_up_by(worker, link, "can't be reached", error);
        return;
    }
    link->since = worker->now;
    if (settings_of(worker)->tls_nodes) {
        begin_tls(worker, link);
    } else {
        shard_watch(worker, link->socket, &link->events, EPOLLIN, link);
        shard_link_greet(worker, link);
    }
}

/* Why the node is not asked now, or NULL. */
static const char *refusal(const struct shard_worker *worker, const struct shard_link *link) {
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
    return !refusal(worker, link);
}

/* The node has closed it, which epoll has not told yet: what is sent there would be lost. A pin's state would be, too: it is told. */
static bool is_closed(const struct shard_worker *worker, const struct shard_link *link) {
    if (link->state != SHARD_UP || busy(link) || (link->pin && link->pin->settled)) return false;
    if (!link->own && worker->now - link->since < RESTED) return false;
    struct pollfd look = {.fd = link->socket, .events = POLLRDHUP};
    return poll(&look, 1, 0) == 1;
}

bool shard_link_ask(struct shard_worker *worker, struct shard_link *link, struct shard_request *request, uint32_t part) {
    struct shard_waiter waiter = {.request = request, .part = part};
    const char *why = refusal(worker, link);
    if (why) {
        char error[MESSAGE];
        describe(error, link, why, false);
        shard_release_link(worker, link);
        shard_waiter_fail(worker, &waiter, error);
        return false;
    }
    if (is_closed(worker, link)) disconnect(worker, link);
    if (!busy(link)) link->since = worker->now;
    shard_metrics_asked(worker, link->node);
    if (!push_waiter(link, request, part)) {
        shard_release_link(worker, link);
        shard_waiter_fail(worker, &waiter, "-ERR out of memory\r\n");
        return false;
    }
    shard_link_touch(worker, link);
    begin_to_time(worker, link);
    return link->state != SHARD_DOWN || begin_to_connect(worker, link);
}

bool shard_link_open(struct shard_worker *worker, struct shard_link *link) {
    if (is_closed(worker, link)) disconnect(worker, link);
    return link->state != SHARD_DOWN || begin_to_connect(worker, link);
}

void shard_link_skip(struct shard_link *link, uint32_t replies) {
    shard_link_last(link)->skip = replies;
}

/* ---- what comes and goes ---- */

static void disconnect_sender(struct shard_worker *worker, struct shard_link *link) {
    link->sender->stream = NULL; /* the rest is read and dropped */
    link->sender = NULL;
    shard_rope_clear(&link->out, &worker->blocks);
    disconnect(worker, link);
}

static void end_of_reply(struct shard_worker *worker, struct shard_link *link) {
    struct shard_waiter *waiter = waiter_at(link, link->head);
    resp_reply_start(&link->scan, &replies);
    if (waiter->skip) {
        waiter->skip--;
        waiter->skipped++;
        return;
    }
    link->head++;
    link->answered = true;
    link->again = false;
    if (link->kept.first) shard_kept_drop(worker, link, busy(link) ? waiter_at(link, link->head)->at : link->kept_to);
    if (!link->own) return;
    /* Before the command was whole: what is still to come of it would be the beginning of somebody else's. */
    if (link->sender) disconnect_sender(worker, link);
    else if (link->unfenced) disconnect(worker, link);
    shard_release_link(worker, link);
}

static bool take_replies(struct shard_worker *worker, struct shard_link *link, const char *data, size_t size) {
    while (size) {
        if (!busy(link)) return link->pin && shard_pin_push(worker, link->pin, data, size);
        struct shard_waiter waiter = *waiter_at(link, link->head);
        size_t used;
        int event = resp_reply_scan(&link->scan, data, size, &used);
        if (event < 0) return false;

        bool last = event == RESP_REPLY;
        enum shard_verdict verdict = SHARD_PASS;
        struct shard_detour *detour = NULL;
        if (link->scan.type == '-' && shard_is_redirected(worker)) {
            verdict = shard_redirect_look(worker, link, (struct shard_bytes){data, used, NULL}, last, &detour);
            if (link->state != SHARD_UP) return true;
        } else if (!waiter.skip && link->turn) {
            link->turn = SHARD_NO_TURN;
        }
        if (last) end_of_reply(worker, link);
        if (last && verdict == SHARD_PASS && !waiter.skip && waiter.detour) shard_detour_end(worker, waiter.detour);
        if (verdict == SHARD_PASS && !waiter.skip && waiter.request) shard_waiter_feed(worker, &waiter, data, used, last);
        else if (verdict == SHARD_PASS && !waiter.skip && last) link->suspect = false;
        if (link->pin && last && !waiter.skip) shard_pin_replied(worker, link->pin);
        if (verdict == SHARD_TURN) shard_detour_go(worker, detour);
        if (link->state != SHARD_UP) return true;
        data += used;
        size -= used;
    }
    return true;
}

static void receive(struct shard_worker *worker, struct shard_link *link) {
    size_t room;
    char *data = shard_room(worker, &room);
    if (link->state != SHARD_UP) return; /* making room has written to it, and found it broken */

    ssize_t size = shard_receive(worker, link->socket, link->tls, data, room);
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
    if (link->state == SHARD_CONNECTING && link->tls) shake_hands(worker, link);
    else if (link->state == SHARD_CONNECTING && events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) end_to_connect(worker, link);
    if (link->state == SHARD_GREETING && events & (EPOLLIN | EPOLLERR | EPOLLHUP)) shard_link_greeted(worker, link);
    uint32_t reads = link->resting ? 0 : EPOLLIN;
    if (link->state == SHARD_UP && events & (reads | EPOLLERR | EPOLLHUP)) receive(worker, link);
    shard_link_touch(worker, link);
}

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
    if (error && error != EAGAIN) give_up_by(worker, link, "has broken the connection", error);
    if (!shard_rope_settle(&link->out, &worker->blocks)) fail_all(worker, link, "-ERR out of memory\r\n");
    if (link->state == SHARD_UP) shard_watch(worker, link->socket, &link->events, events_of(link), link);
    shard_weigh_link(worker, link);
    if (link->blocked && link->out.size < SHARD_HIGH / 2) shard_wake(worker, &link->blocked, UINT32_MAX);
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

/* Whoever is sent nothing because it was silent is asked by us whether it is well. */
static bool ask_suspect(struct shard_worker *worker, struct shard_link *link) {
    if (worker->now < link->retry_at || !push_waiter(link, NULL, 0)) return true;
    if (!shard_rope_copy(&link->out, &worker->blocks, ping, sizeof ping - 1)) fail_all(worker, link, "");
    else begin_to_connect(worker, link);
    return true;
}

void shard_link_probe(struct shard_worker *worker, struct shard_link *link) {
    double patience = settings_of(worker)->timeout;
    if (patience <= 0 || busy(link) || refusal(worker, link) || worker->now - link->since < patience / 2) return;
    if (!push_waiter(link, NULL, 0)) return;

    link->since = worker->now;
    shard_link_touch(worker, link);
    begin_to_time(worker, link);
    if (!shard_rope_copy(&link->out, &worker->blocks, ping, sizeof ping - 1)) fail_all(worker, link, "");
    else if (link->state == SHARD_DOWN) begin_to_connect(worker, link);
}

/* Of the command that waits on a connection of its own. */
static const struct shard_merge *merge_of(const struct shard_link *link) {
    const struct shard_request *request = link->own && busy(link) ? waiter_at(link, link->head)->request : NULL;
    return request ? request->merge : NULL;
}

bool shard_link_is_about_scripts(const struct shard_link *link) {
    const struct shard_merge *merge = merge_of(link);
    return merge && (merge->way == SHARD_RUNNING || merge->way == SHARD_KILL);
}

/* Who has all the keys looked at, or deleted, knows that it takes long, and keeps nobody else from being answered here. */
static double times_of(const struct shard_link *link) {
    const struct shard_merge *merge = merge_of(link);
    return merge && (merge->way == SHARD_ALL_ARRAYS || merge->way == SHARD_LONG) ? LONG : 1;
}

bool shard_link_check(struct shard_worker *worker, struct shard_link *link) {
    if (link->suspect && link->state == SHARD_DOWN) return ask_suspect(worker, link);
    if (link->state == SHARD_DOWN || (link->state == SHARD_UP && !busy(link))) return false;

    const struct shard_settings *settings = settings_of(worker);
    double patience = link->state == SHARD_CONNECTING ? settings->connect_timeout : settings->timeout * times_of(link);
    if (patience <= 0 || worker->now - link->since < patience || still_taken(worker, link)) return true;

    char why[MESSAGE / 2];
    const char *late = link->tls ? "does not shake hands over TLS within" : "can't be reached within";
    snprintf(why, sizeof why, "%s %g s", link->state == SHARD_UP ? "has sent nothing for" : late, patience);
    link->again = true; /* what was not sent would only wait once more */
    link->suspect = !link->own;
    give_up(worker, link, why);
    return true;
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
        if (shard_link_check(worker, link)) begin_to_time(worker, link);
    }
    if (worker->deserted) shard_lanes_free(worker);
    return worker->timed_links || worker->deserted;
}

void shard_link_close(struct shard_worker *worker, struct shard_link *link) {
    link->suspect = false;
    fail_all(worker, link, "-ERR the shard no longer asks this node\r\n");
    shard_weigh_link(worker, link);
    shard_wake(worker, &link->blocked, UINT32_MAX);
    free(link->waiters);
    link->waiters = NULL;
    free(link->barred);
    link->barred = NULL;
    link->room = link->head = link->tail = 0;
}

#endif
