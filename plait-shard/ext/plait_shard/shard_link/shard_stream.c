/*
 * A command whose last argument is large goes to its node while it arrives, on a connection that no other client uses meanwhile:
 * a slow sender keeps no other client waiting. Two connections have no order between them. So the client's commands before it are
 * answered first, and the commands behind it wait for its answer.
 */
#include "shard_stream.h"
#include "../shard_client/shard_client_lists.h"
#include "../shard_client/shard_client_replies.h"
#include "shard_link.h"
#include "../shard_plane/shard_metrics.h"
#include "../shard_client/shard_own_links.h"
#include "../shard_plane/shard_pin.h"
#include "../shard_plane/shard_topology.h"

#include <stdlib.h>

enum { TERMINATOR = 2 };

static const double IDLE = 5; /* seconds until an idle connection is closed */

/* ---- connections ---- */

/* Its answer is too large to be kept here: the client for which the node waits; NULL: there is none. */
static struct shard_client *shard_stream_reader(const struct shard_link *link) {
    if (!link->resting || !shard_link_is_busy(link)) return NULL;
    const struct shard_request *request = shard_link_waiter(link, link->head)->request;
    return request && request->client->socket != -1 && request->client->out.first ? request->client : NULL;
}

/* Where other clients wait for a connection, no client keeps one without sending anything, or without reading its answer. */
static void shard_stream_hurry(struct shard_worker *worker, const struct shard_link *link) {
    double patience = worker->shard->settings.timeout;
    bool crowded = worker->taken[link->node - worker->shard->settings.nodes] >= SHARD_OWN_LINKS;
    if (!crowded || patience <= 0 || worker->now - link->heard < patience) return;

    struct shard_client *reader = link->sender ? NULL : shard_stream_reader(link);
    if (reader && worker->awaiting && worker->now - reader->wrote >= patience) {
        shard_add(worker, FIGURE_CUT, 1);
        shard_close_client(worker, reader);
    } else if (link->sender) {
        shard_close_client(worker, link->sender);
    }
}

bool shard_streams_check(struct shard_worker *worker) {
    bool due = false;
    struct shard_link **at = &worker->streams;
    while (*at) {
        struct shard_link *link = *at;
        if (!link->taken && !link->touched && (link->state == SHARD_DOWN || worker->now - link->since > IDLE)) {
            *at = link->next;
            shard_pool_leave(link->pool);
            shard_link_close(worker, link);
            free(link);
            continue;
        }
        if (link->sender && !link->out.first) link->since = worker->now; /* it is the client that is slow */
        if (link->resting) link->since = worker->now;
        if (link->sender || link->resting) shard_stream_hurry(worker, link);
        shard_link_check(worker, link);
        due = true;
        at = &link->next;
    }
    return due;
}

void shard_streams_close(struct shard_worker *worker) {
    while (worker->streams) {
        struct shard_link *link = worker->streams;
        worker->streams = link->next;
        shard_link_close(worker, link);
        free(link);
    }
}

/* ---- commands ---- */

/* What one key and its last argument make up; its key is here. */
static const struct shard_command *shard_stream_streamable(const struct resp_command *scan, const char *data) {
    const struct shard_command *command = shard_command_find(data, scan->spans, scan->found);
    if (!command || command->way != SHARD_ROUTED || !shard_command_fits(command, scan->count)) return NULL;
    return command->key && (uint32_t)command->key + 1 < scan->found ? command : NULL;
}

bool shard_stream_wanted(const struct shard_worker *worker, const struct shard_client *client, const char *data, size_t size) {
    const struct resp_command *scan = &client->command;
    if (worker->shard->settings.strict || scan->stage != RESP_IN_BULK || scan->found != scan->count || shard_is_bound(client)) return false;
    if (worker->now < worker->moving_until) return false;
    return resp_command_needs(scan) - size >= worker->shard->settings.chunk && shard_stream_streamable(scan, data);
}

bool shard_stream_begin(struct shard_worker *worker, struct shard_client *client, const char *data, size_t size,
                        struct shard_buffer *owner) {
    const struct resp_command *scan = &client->command;
    struct resp_span key = scan->spans[shard_stream_streamable(scan, data)->key];
    uint32_t node = placement_node(&worker->topology->placement, data + key.at, key.size);
    if (!shard_own_links(worker, node + 1)) {
        client->awaits = node + 1;
        return false;
    }
    shard_metrics_take(worker, shard_stream_streamable(scan, data));
    struct shard_request *request = shard_request_new(worker, client);
    struct shard_link *link = request ? shard_take_link(worker, client->pool, node) : NULL;
    if (!link) {
        if (request) shard_request_fail(worker, request, "-ERR out of memory\r\n");
        shard_close_client(worker, client);
        return true;
    }
    shard_add(worker, FIGURE_COMMANDS, 1);
    client->left = resp_command_needs(scan) - size;
    if (!shard_link_ask(worker, link, request, 0)) return true; /* the rest is read and dropped */

    link->sender = client;
    link->heard = worker->now;
    client->stream = link;
    if (!shard_rope_refer(&link->out, &worker->blocks, data, size, owner)) shard_close_client(worker, client);
    return true;
}

static void shard_stream_drop(struct shard_worker *worker, struct shard_client *client, const char *error) {
    struct shard_link *link = client->stream;
    if (link) shard_link_abandon(worker, link, error);
}

void shard_stream_leave(struct shard_worker *worker, struct shard_client *client) {
    shard_stream_drop(worker, client, "-ERR the client has gone\r\n");
}

/* Its own end of the argument is not passed on before it is known to be one. */
static bool shard_stream_take_terminator(struct shard_client *client, const char *data, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (data[i] != (client->left == TERMINATOR ? '\r' : '\n')) return false;
        client->left--;
    }
    return true;
}

/* The node is on the wire in the middle of an argument: only the end of the connection tells it that no more will come. */
static void shard_stream_break_off(struct shard_worker *worker, struct shard_client *client) {
    static const char error[] = "-ERR Protocol error: expected CRLF behind an argument\r\n";
    client->ending = true;
    client->left = 0;
    if (client->stream) shard_stream_drop(worker, client, error);
    shard_client_touch(worker, client);
}

size_t shard_stream_pass(struct shard_worker *worker, struct shard_client *client, const char *data, size_t size,
                         struct shard_buffer *owner) {
    uint64_t rest = client->left - (client->left > TERMINATOR ? TERMINATOR : client->left);
    size_t body = size < rest ? size : (size_t)rest;
    size_t end = size - body < client->left - body ? size - body : (size_t)(client->left - body);
    struct shard_link *link = client->stream;
    client->left -= body;
    if (link) shard_link_touch(worker, link);
    bool enough = !link || !body || shard_rope_refer(&link->out, &worker->blocks, data, body, owner);
    if (!shard_stream_take_terminator(client, data + body, end)) {
        shard_stream_break_off(worker, client);
        return size;
    }
    if (link && enough && client->left == 0) enough = shard_rope_copy(&link->out, &worker->blocks, "\r\n", TERMINATOR);
    if (!enough) shard_close_client(worker, client);
    if (client->stream) link->heard = worker->now;
    if (client->left == 0 && client->stream) {
        client->stream = NULL;
        link->sender = NULL;
        link->since = worker->now;
    }
    if (link && enough && link->out.size > SHARD_HIGH) client->full = link;
    return body + end;
}
