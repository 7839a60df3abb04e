/* Which way a command goes. */
#include "shard_route.h"
#include "shard_acknowledge.h"
#include "../shard_client/shard_client_replies.h"
#include "../shard_link/shard_find.h"
#include "../shard_plane/shard_hot.h"
#include "../shard_link/shard_link.h"
#include "../shard_client/shard_local.h"
#include "../shard_plane/shard_metrics.h"
#include "../shard_plane/shard_pin.h"
#include "../shard_link/shard_pinned.h"
#include "../shard_link/shard_reader.h"
#include "../shard_client/shard_reply.h"
#include "shard_session.h"
#include "shard_split.h"
#include "../shard_link/shard_subscription.h"
#include "../shard_plane/shard_topology.h"
#include "../shard_link/shard_transaction.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { SHOWN = 128 };

/* ---- what can't be done, in the words of Redis ---- */

static int shard_route_shown(struct resp_span word) {
    return word.size < SHOWN ? (int)word.size : SHOWN;
}

/* A browser that was made to send a form here: what follows is not meant as commands. */
static bool shard_route_is_http(const struct shard_call *call) {
    return shard_word_is(call->data, call->words[0], "POST") || shard_word_is(call->data, call->words[0], "Host:");
}

static void shard_route_refuse_subcommand(struct shard_call *call, const struct shard_command *container) {
    char name[40];
    size_t size = strnlen(container->name, sizeof name - 1);
    name[size] = 0;
    for (size_t i = 0; i < size; i++) name[i] = (char)(container->name[i] >= 'a' ? container->name[i] - 32 : container->name[i]);
    shard_refuse(call, "ERR unknown subcommand '%.*s'. Try %s HELP.", shard_route_shown(call->words[1]),
                 call->data + call->words[1].at, name);
}

static void shard_route_refuse_unknown(struct shard_call *call) {
    const struct shard_command *container = shard_command_find(call->data, call->words, 1);
    if (container) {
        shard_route_refuse_subcommand(call, container);
        return;
    }
    if (shard_route_is_http(call)) {
        shard_close_client(call->worker, call->client);
        return;
    }
    char arguments[SHOWN + 8];
    size_t size = 0;
    arguments[0] = 0;
    for (uint32_t i = 1; i < call->count && size < SHOWN; i++) {
        int part = call->words[i].size < SHOWN - size ? (int)call->words[i].size : (int)(SHOWN - size);
        int written = snprintf(arguments + size, sizeof arguments - size, "'%.*s' ", part, call->data + call->words[i].at);
        size += (size_t)written < sizeof arguments - size ? (size_t)written : sizeof arguments - size - 1;
    }
    shard_refuse(call, "ERR unknown command '%.*s', with args beginning with: %s", shard_route_shown(call->words[0]),
                 call->data + call->words[0].at, arguments);
}

/* ---- to one node ---- */

static void shard_route_send_to(struct shard_call *call, uint32_t node) {
    struct shard_worker *worker = call->worker;
    struct shard_link *link = shard_link_to(call, shard_reader_of(call, node));
    struct shard_request *request = shard_request_new(worker, call->client);
    if (!request || !shard_link_ask(worker, link, request, 0)) return;

    if (!shard_rope_refer(&link->out, &worker->blocks, call->data, call->size, call->owner)) {
        shard_link_abandon(worker, link, "-ERR out of memory\r\n");
        return;
    }
    if (link->out.size > SHARD_HIGH) call->client->full = link;
}

static void shard_route_found(struct shard_call *call) {
    uint32_t node;
    if (shard_find_node(call, &node)) shard_route_send_to(call, node);
}

static void shard_route_route(struct shard_call *call) {
    const struct shard_command *command = call->command;
    if (command->key) {
        struct resp_span key = call->words[command->key];
        shard_route_send_to(call, placement_node(&call->worker->topology->placement, call->data + key.at, key.size));
    } else {
        shard_route_found(call);
    }
}

static bool shard_route_word_is(const struct shard_call *call, uint32_t place, const char *name) {
    return place < call->count && shard_word_is(call->data, call->words[place], name);
}

static uint32_t shard_route_find_word(const struct shard_call *call, uint32_t from, const char *name) {
    while (from < call->count && !shard_word_is(call->data, call->words[from], name)) from++;
    return from;
}

/*
 * Others use the connection to the node, too. Names of groups and consumers may be "block" or "streams"; what is said wrongly may
 * say anything, and be refused by the server, unless it could wait there.
 */
static void shard_route_streams(struct shard_call *call) {
    static const struct {
        const char *name;
        uint32_t words;
    } options[] = {{"BLOCK", 2}, {"COUNT", 2}, {"NOACK", 1}, {"GROUP", 3}, {"CLAIM", 2}};
    enum { OPTIONS = sizeof options / sizeof *options };
    bool waits = false;
    for (uint32_t at = 1; at < call->count && !shard_route_word_is(call, at, "STREAMS");) {
        size_t i = 0;
        while (i < OPTIONS && !shard_route_word_is(call, at, options[i].name)) i++;
        waits = waits || i == 0 || (i == OPTIONS && shard_route_find_word(call, 1, "BLOCK") < call->count);
        at = i < OPTIONS ? at + options[i].words : call->count;
    }
    if (waits) shard_wait(call);
    else shard_route_route(call);
}

/* ---- all ---- */

/* What would change nodes for everybody, for good. Of another user it is for the nodes to judge. */
static void shard_route_configure(struct shard_call *call) {
    if (call->worker->shard->settings.config || call->client->pool->user) shard_send_to_all(call);
    else shard_refuse(call, "ERR this changes all nodes: the shard takes it only with config: true");
}

/* While the node of some keys is not known, an answer for all keys would silently be an answer for some. */
static bool shard_route_is_incomplete(const struct shard_call *call) {
    return call->command->traits & SHARD_ALL_KEYS && call->worker->topology->partial;
}

/*
 * A shard has the database 0 only. What its nodes know of the placement is in another, and has to outlive FLUSHALL: see fence.rb.
 */
static void shard_route_flush_all(struct shard_call *call) {
    static const char head[] = "$7\r\nFLUSHDB\r\n";
    if (!call->worker->shard->settings.nodes[0].fence_size) {
        shard_send_to_all(call);
        return;
    }
    struct shard_call other = *call;
    size_t rest = call->words[0].at + call->words[0].size + 2;
    struct shard_buffer *command = shard_buffer_new(RESP_HEADER + sizeof head + call->size - rest);
    if (!command) {
        shard_refuse(call, "ERR out of memory");
        return;
    }
    command->size = resp_write_header(command->bytes, '*', call->count);
    memcpy(command->bytes + command->size, head, sizeof head - 1);
    memcpy(command->bytes + command->size + sizeof head - 1, call->data + rest, call->size - rest);
    command->size += sizeof head - 1 + call->size - rest;
    other.data = command->bytes;
    other.size = command->size;
    other.owner = command;
    shard_send_to_all(&other);
    shard_buffer_drop(command);
}

static void shard_route_first(struct shard_call *call) {
    shard_route_send_to(call, shard_first_well(call->worker));
}

static void shard_route_refuse(struct shard_call *call) {
    shard_refuse(call, "ERR '%s' can't be used through the shard", call->command->name);
}

static void (*const ways[SHARD_WAYS])(struct shard_call *call) = {
    [SHARD_ROUTED] = shard_route_route,
    [SHARD_WAITS] = shard_wait,
    [SHARD_REFUSED] = shard_route_refuse,
    [SHARD_SPLIT] = shard_split,
    [SHARD_ALL_NODES] = shard_send_to_all,
    [SHARD_CONFIG] = shard_route_configure,
    [SHARD_FLUSHALL] = shard_route_flush_all,
    [SHARD_ACKNOWLEDGE] = shard_acknowledge,
    [SHARD_SCAN] = shard_scan,
    [SHARD_FIRST] = shard_route_first,
    [SHARD_STREAMS] = shard_route_streams,
    [SHARD_SORT] = shard_route_found,
    [SHARD_SUBSCRIBE] = shard_subscribe,
    [SHARD_SSUBSCRIBE] = shard_subscribe,
    [SHARD_UNSUBSCRIBE] = shard_subscribe,
    [SHARD_MULTI] = shard_multi,
    [SHARD_EXEC] = shard_exec,
    [SHARD_DISCARD] = shard_discard,
    [SHARD_WATCH] = shard_watch_keys,
    [SHARD_UNWATCH] = shard_unwatch,
    [SHARD_PING] = shard_ping,
    [SHARD_ECHO] = shard_echo,
    [SHARD_QUIT] = shard_quit,
    [SHARD_SELECT] = shard_select,
    [SHARD_TIME] = shard_time,
    [SHARD_AUTH] = shard_auth,
    [SHARD_HELLO] = shard_hello,
    [SHARD_RESET] = shard_reset,
    [SHARD_TELL_ID] = shard_tell_id,
    [SHARD_TELL_NAME] = shard_tell_name,
    [SHARD_SET_NAME] = shard_set_name,
    [SHARD_TELL_CLIENT] = shard_tell_client,
    [SHARD_LIST_CLIENTS] = shard_list_clients,
    [SHARD_ACCEPT] = shard_accept_it,
};

static void shard_route_go(struct shard_call *call) {
    if (shard_route_is_incomplete(call)) {
        shard_topology_doubt(call->worker);
        shard_refuse(call, "CLUSTERDOWN of some slots it is not known which node has them: the answer would not be whole");
        return;
    }
    ways[call->command->way](call);
}

/* A command of a client whose commands may have another meaning. False: it goes its usual way. */
static bool shard_route_bound_takes(struct shard_call *call) {
    const struct shard_pin *pin = call->client->pin;
    if (call->client->locked) return shard_locked_takes(call);
    return pin && pin->use == SHARD_PIN_SUBSCRIBED ? shard_subscription_takes(call) : shard_transaction_takes(call);
}

void shard_dispatch(struct shard_call *call) {
    shard_add(call->worker, FIGURE_COMMANDS, 1);
    shard_metrics_take(call->worker, call->command);
    if (shard_is_bound(call->client) && shard_route_bound_takes(call)) return;
    if (!call->command) shard_route_refuse_unknown(call);
    else if (!shard_command_fits(call->command, call->count)) {
        shard_refuse(call, "ERR wrong number of arguments for '%s' command", call->command->name);
    } else {
        if (--call->worker->until_look == 0) shard_hot_look(call);
        shard_route_go(call);
    }
}
