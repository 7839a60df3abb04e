/* What clients are answered: replies go out in the order of their requests. */
#include "shard_client_replies.h"
#include "shard_client_lists.h"
#include "../shard_plane/shard_io.h"
#include "shard_memory.h"
#include "shard_merge.h"
#include "../shard_plane/shard_metrics.h"
#include "../shard_plane/shard_pin.h"
#include "../shard_plane/shard_tls.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

/* ---- replies ---- */

static bool shard_client_replies_has_reply(const struct shard_request *request) {
    return request->brief_size || request->reply.first;
}

void shard_request_forget(struct shard_worker *worker, struct shard_request *request) {
    request->client->behind -= request->reply.size + request->brief_size;
    request->brief_size = 0;
    shard_rope_clear(&request->reply, &worker->blocks);
}

struct shard_request *shard_request_new(struct shard_worker *worker, struct shard_client *client) {
    struct shard_request *request = worker->requests;
    if (request) {
        worker->requests = request->next;
        worker->spare_requests--;
    } else {
        request = malloc(sizeof *request);
    }
    if (!request) {
        shard_close_client(worker, client);
        return NULL;
    }
    memset(request, 0, offsetof(struct shard_request, brief));
    request->client = client;
    request->command = worker->metrics->current;
    request->since = worker->now;
    if (client->last) client->last->next = request;
    else client->first = request;
    client->last = request;
    client->in_flight++;
    return request;
}

/* Short replies are put one behind another: one piece is written faster than many. */
static bool shard_client_replies_deliver(struct shard_worker *worker, struct shard_request *request) {
    struct shard_client *client = request->client;
    size_t size = request->reply.size, brief_size = request->brief_size;
    client->behind -= size + brief_size;
    request->started = true;
    request->brief_size = 0;
    if (brief_size && !shard_rope_copy(&client->out, &worker->blocks, request->brief, brief_size)) return false;
    return !size || shard_rope_pass(&client->out, &request->reply, &worker->blocks, size);
}

/* The next ones whose replies are here, too; and what has come of the one behind them. */
static void shard_client_replies_advance(struct shard_worker *worker, struct shard_client *client) {
    struct shard_request *request;
    while ((request = client->first) && request->done) {
        if (client->socket == -1 || client->cut) shard_request_forget(worker, request);
        else if (shard_client_replies_has_reply(request) && !shard_client_replies_deliver(worker, request))
            shard_close_client(worker, client);
        client->first = request->next;
        if (!client->first) client->last = NULL;
        client->in_flight--;
        if (request->merge) shard_merge_free(worker, request);
        request->next = worker->requests;
        worker->requests = request;
        worker->spare_requests++;
    }
    if (client->socket == -1) {
        shard_client_bury(worker, client);
        return;
    }
    shard_client_touch(worker, client);
    bool now = request && shard_client_replies_has_reply(request) && !worker->shard->settings.strict && !client->cut;
    if (now && !shard_client_replies_deliver(worker, request)) shard_close_client(worker, client);
    if (request && request->merge) shard_merge_go_on(worker, request);
}

static bool shard_client_replies_feed(struct shard_worker *worker, struct shard_request *request, struct shard_bytes bytes,
                                      bool now) {
    struct shard_client *client = request->client;
    if (!now) {
        client->behind += bytes.size;
        if (!request->reply.first && bytes.size <= sizeof request->brief - request->brief_size) {
            memcpy(request->brief + request->brief_size, bytes.data, bytes.size);
            request->brief_size += (uint8_t)bytes.size;
            return true;
        }
        return shard_rope_copy_briefly(&request->reply, &worker->blocks, bytes.data, bytes.size);
    }
    if (shard_client_replies_has_reply(request) && !shard_client_replies_deliver(worker, request)) return false;
    request->started = request->started || bytes.size;
    return shard_rope_refer(&client->out, &worker->blocks, bytes.data, bytes.size, bytes.owner);
}

void shard_request_feed(struct shard_worker *worker, struct shard_request *request, const char *data, size_t size, bool last) {
    shard_request_take(worker, request, (struct shard_bytes){data, size, NULL}, last);
}

void shard_request_take(struct shard_worker *worker, struct shard_request *request, struct shard_bytes bytes, bool last) {
    struct shard_client *client = request->client;
    bool first = client->first == request;
    if (client->socket != -1 && !client->cut) {
        bool now = first && (last || !worker->shard->settings.strict);
        if (!shard_client_replies_feed(worker, request, bytes, now)) shard_close_client(worker, client);
        else if (now || client->behind > worker->shard->settings.client_bytes) shard_client_touch(worker, client);
        if (!now) shard_weigh_client(worker, client);
    }
    if (!last) return;

    request->done = true;
    shard_metrics_answered(worker, request);
    if (first) shard_client_replies_advance(worker, client);
}

void shard_request_fail(struct shard_worker *worker, struct shard_request *request, const char *error) {
    shard_add(worker, FIGURE_ERRORS, 1);
    if (request->started) shard_client_cut(worker, request->client);
    else shard_request_forget(worker, request);
    shard_request_feed(worker, request, error, strlen(error), true);
}

/* ---- writing ---- */

static void shard_client_replies_watch(struct shard_worker *worker, struct shard_client *client) {
    uint32_t events = client->paused || client->ending ? 0 : EPOLLIN;
    if (client->out.first || (client->tls && shard_tls_wants_to_write(client->tls))) events |= EPOLLOUT;
    if (shard_pin_waits(client)) events |= EPOLLRDHUP;
    shard_watch(worker, client->socket, &client->events, events, client);
}

void shard_client_flush(struct shard_worker *worker, struct shard_client *client) {
    if (client->socket == -1) return;

    size_t size = client->out.size;
    int error = shard_write(client->tls, &client->out, &worker->blocks, client->socket);
    shard_add(worker, FIGURE_OUT, size - client->out.size);
    if (client->out.size < size) client->wrote = worker->now;
    bool lost = error && error != EAGAIN;
    bool too_much = client->out.size + client->behind > worker->shard->settings.client_bytes;
    if (too_much) shard_add(worker, FIGURE_CUT, 1);
    if (lost || too_much || !shard_rope_settle(&client->out, &worker->blocks)) {
        shard_close_client(worker, client);
    } else if (client->ending && !client->out.first && (client->cut || !client->first)) {
        if (client->finished) shard_close_client(worker, client);
        else shard_client_leave(worker, client);
    } else {
        shard_client_replies_watch(worker, client);
        if (client->first && client->first->merge) shard_merge_go_on(worker, client->first);
        shard_weigh_client(worker, client);
        if (client->paused) shard_client_look_again(worker, client);
    }
}
