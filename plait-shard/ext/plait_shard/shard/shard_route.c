/* Which way a command goes. */
#include "shard_route.h"
#include "shard_acknowledge.h"
#include "shard_client.h"
#include "shard_client_replies.h"
#include "shard_hot.h"
#include "shard_link.h"
#include "shard_local.h"
#include "shard_metrics.h"
#include "shard_pinned.h"
#include "shard_session.h"
#include "shard_split.h"
#include "shard_topology.h"

#ifdef __linux__

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MESSAGE = 1024, SHOWN = 128 };

static const char ACROSS[] = "CROSSSLOT Keys in request don't hash to the same slot (%s)";

/* ---- answers of our own ---- */

void shard_answer(struct shard_call *call, const char *reply, size_t size) {
    struct shard_client *client = call->client;
    if (client->socket == -1) return;
    if (!client->first) {
        if (shard_rope_copy(&client->out, &call->worker->blocks, reply, size)) shard_client_touch(call->worker, client);
        else shard_client_close(call->worker, client);
        return;
    }
    struct shard_request *request = shard_request_new(call->worker, client);
    if (request) shard_request_feed(call->worker, request, reply, size, true);
}

/* A line has neither CR nor LF in it, whatever the client has sent. */
static size_t make_line(char *line, size_t size) {
    for (size_t i = 1; i < size; i++) {
        if (line[i] == '\r' || line[i] == '\n') line[i] = ' ';
    }
    memcpy(line + size, "\r\n", 2);
    return size + 2;
}

void shard_refuse(struct shard_call *call, const char *format, ...) {
    char line[MESSAGE + 2] = "-";
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(line + 1, MESSAGE - 1, format, arguments) + 1;
    va_end(arguments);
    shard_add(call->worker, FIGURE_ERRORS, 1);
    shard_answer(call, line, make_line(line, size < MESSAGE ? (size_t)size : MESSAGE - 1));
}

/* ---- what can't be done, in the words of Redis ---- */

static int shown(struct resp_span word) {
    return word.size < SHOWN ? (int)word.size : SHOWN;
}

/* A browser that was made to send a form here: what follows is not meant as commands. */
static bool is_http(const struct shard_call *call) {
    return shard_word_is(call->data, call->words[0], "POST") || shard_word_is(call->data, call->words[0], "Host:");
}

static void refuse_unknown(struct shard_call *call) {
    if (is_http(call)) {
        shard_client_close(call->worker, call->client);
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
    shard_refuse(call, "ERR unknown command '%.*s', with args beginning with: %s", shown(call->words[0]),
                 call->data + call->words[0].at, arguments);
}

static void refuse_subcommand(struct shard_call *call, const struct shard_command *container) {
    char name[40];
    size_t size = strnlen(container->name, sizeof name - 1);
    name[size] = 0;
    for (size_t i = 0; i < size; i++) name[i] = (char)(container->name[i] >= 'a' ? container->name[i] - 32 : container->name[i]);
    shard_refuse(call, "ERR unknown subcommand '%.*s'. Try %s HELP.", shown(call->words[1]), call->data + call->words[1].at, name);
}

/* ---- to one node ---- */

static void send_to(struct shard_call *call, uint32_t node) {
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

struct search {
    const struct shard_call *call;
    uint32_t node;
    uint32_t place;
    bool any;
};

/* Returns 1 when it is on another node than those before it, or in another slot of a cluster. */
static int look_at(void *argument, uint32_t number) {
    struct search *search = argument;
    const struct shard_call *call = search->call;
    struct resp_span word = call->words[number];
    const struct placement *placement = &call->worker->topology->placement;
    uint32_t place = placement_place(placement, call->data + word.at, word.size);
    uint32_t node = placement->points[place].node;
    bool cluster = call->worker->shard->settings.cluster;
    bool other = search->any && (cluster ? place != search->place : node != search->node);
    search->any = true;
    search->node = node;
    search->place = place;
    return other;
}

static uint32_t first_well(const struct shard_worker *worker) {
    const struct shard_topology *topology = worker->topology;
    for (uint32_t i = 0; i < topology->master_count; i++) {
        const struct shard_link *link = &worker->links[topology->masters[i]];
        if (!link->suspect && worker->now >= link->retry_at) return topology->masters[i];
    }
    return topology->masters[0];
}

/* A script that names no key may use any: on one node it would be silently wrong. */
static bool names_no_key(const struct shard_call *call) {
    bool script = strncmp(call->command->name, "eval", 4) == 0 || strncmp(call->command->name, "fcall", 5) == 0;
    return script && shard_word_is(call->data, call->words[2], "0");
}

/* COPY from to [DB n] [REPLACE]; the shard has one database only. */
static bool names_a_database(const struct shard_call *call) {
    if (strcmp(call->command->name, "copy") != 0) return false;
    for (uint32_t i = 3; i + 1 < call->count; i++) {
        struct resp_span number = call->words[i + 1];
        bool none = number.size == 0 || call->data[number.at] < '0' || call->data[number.at] > '9'; /* the server says so */
        if (shard_word_is(call->data, call->words[i], "DB")) return !none && !shard_word_is(call->data, number, "0");
    }
    return false;
}

static void refuse_across(struct shard_call *call) {
    bool cluster = call->worker->shard->settings.cluster;
    shard_refuse(call, ACROSS, cluster ? "a cluster wants keys of one command in one slot" : "they are on different nodes");
}

static bool find_keys(struct shard_call *call, uint32_t *node) {
    const struct shard_command *command = call->command;
    struct search search = {.call = call};
    bool across = shard_command_keys(command, call->data, call->words, call->count, look_at, &search);
    bool elsewhere = !across && names_a_database(call);
    bool keyless = !across && !call->worker->shard->settings.keyless && names_no_key(call);
    if (across) refuse_across(call);
    else if (elsewhere) shard_refuse(call, "ERR COPY to a database is denied: the shard has the database 0 only");
    else if (keyless) shard_refuse(call, "ERR '%s' names no key, so that it has no node", command->name);
    call->place = search.place;
    *node = search.any ? search.node : first_well(call->worker); /* without a key all would say that it is wrong */
    return !across && !elsewhere && !keyless;
}

/* BY and GET name keys by patterns, which may be anywhere. */
static bool find_sorted(struct shard_call *call, uint32_t *node) {
    struct search search = {.call = call};
    look_at(&search, 1);
    for (uint32_t i = 2; i + 1 < call->count; i++) {
        bool by = shard_word_is(call->data, call->words[i], "BY");
        struct resp_span pattern = call->words[i + 1];
        if (!by && !shard_word_is(call->data, call->words[i], "GET")) {
            bool stores = strcmp(call->command->name, "sort") == 0; /* of SORT_RO the server says that it does not */
            if (!stores || !shard_word_is(call->data, call->words[i], "STORE")) continue;
            if (look_at(&search, i + 1)) {
                refuse_across(call);
                return false;
            }
        } else if (memchr(call->data + pattern.at, '*', pattern.size)) {
            shard_refuse(call, "ERR %s option of SORT denied: the keys of its pattern may be on other nodes", by ? "BY" : "GET");
            return false;
        }
        i++;
    }
    *node = search.node;
    call->place = search.place;
    return true;
}

bool shard_find_node(struct shard_call *call, uint32_t *node) {
    return call->command->way == SHARD_SORT ? find_sorted(call, node) : find_keys(call, node);
}

static void route_found(struct shard_call *call) {
    uint32_t node;
    if (shard_find_node(call, &node)) send_to(call, node);
}

static void route(struct shard_call *call) {
    const struct shard_command *command = call->command;
    if (command->key) {
        struct resp_span key = call->words[command->key];
        send_to(call, placement_node(&call->worker->topology->placement, call->data + key.at, key.size));
    } else {
        route_found(call);
    }
}

static bool word_is(const struct shard_call *call, uint32_t place, const char *name) {
    return place < call->count && shard_word_is(call->data, call->words[place], name);
}

static uint32_t find_word(const struct shard_call *call, uint32_t from, const char *name) {
    while (from < call->count && !shard_word_is(call->data, call->words[from], name)) from++;
    return from;
}

/*
 * Others use the connection to the node, too. Names of groups and consumers may be "block" or "streams"; what is said wrongly may
 * say anything, and be refused by the server, unless it could wait there.
 */
static void route_streams(struct shard_call *call) {
    static const struct {
        const char *name;
        uint32_t words;
    } options[] = {{"BLOCK", 2}, {"COUNT", 2}, {"NOACK", 1}, {"GROUP", 3}, {"CLAIM", 2}};
    enum { OPTIONS = sizeof options / sizeof *options };
    bool waits = false;
    for (uint32_t at = 1; at < call->count && !word_is(call, at, "STREAMS");) {
        size_t i = 0;
        while (i < OPTIONS && !word_is(call, at, options[i].name)) i++;
        waits = waits || i == 0 || (i == OPTIONS && find_word(call, 1, "BLOCK") < call->count);
        at = i < OPTIONS ? at + options[i].words : call->count;
    }
    if (waits) shard_wait(call);
    else route(call);
}

/* ---- all ---- */

/* What would change nodes for everybody, for good. Of another user it is for the nodes to judge. */
static void configure(struct shard_call *call) {
    if (call->worker->shard->settings.config || call->client->lane->user) shard_send_to_all(call);
    else shard_refuse(call, "ERR this changes all nodes: the shard takes it only with config: true");
}

/* While there are keys of which it is not known who has them, an answer for all would silently be one for some. */
static bool is_incomplete(const struct shard_call *call) {
    enum shard_way way = call->command->way;
    bool of_all_keys = way == SHARD_ALL_COUNT || way == SHARD_ALL_ARRAYS || way == SHARD_LONG || way == SHARD_SCAN;
    return of_all_keys && call->worker->topology->partial;
}

/*
 * A shard has the database 0 only. What its nodes know of the placement is in another, and has to outlive FLUSHALL: see fence.rb.
 */
static void delete_all(struct shard_call *call) {
    static const char head[] = "$7\r\nFLUSHDB\r\n";
    if (strcmp(call->command->name, "flushall") != 0 || !call->worker->shard->settings.nodes[0].fence_size) {
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

static void go(struct shard_call *call) {
    if (is_incomplete(call)) {
        shard_topology_doubt(call->worker);
        shard_refuse(call, "CLUSTERDOWN of some slots it is not known which node has them: the answer would not be whole");
        return;
    }
    switch (call->command->way) {
    case SHARD_ROUTED: route(call); break;
    case SHARD_MGET: case SHARD_MSET: case SHARD_COUNT: shard_split(call); break;
    case SHARD_ALL_COUNT: case SHARD_ALL_SAME: case SHARD_ALL_ARRAYS: case SHARD_ALL_ONE: case SHARD_ALL_LEAST: case SHARD_INFO:
    case SHARD_PAIRS: shard_send_to_all(call); break;
    case SHARD_LONG: delete_all(call); break;
    case SHARD_RUNNING: case SHARD_KILL: shard_send_to_all(call); break;
    case SHARD_CONFIG: case SHARD_CONFIG_MOST: configure(call); break;
    case SHARD_ALL_WAIT: shard_acknowledge(call); break;
    case SHARD_SCAN: shard_scan(call); break;
    case SHARD_FIRST: send_to(call, first_well(call->worker)); break;
    case SHARD_STREAMS: route_streams(call); break;
    case SHARD_SORT: route_found(call); break;
    case SHARD_WAITS: shard_wait(call); break;
    case SHARD_TRANSACTS: shard_transact(call); break;
    case SHARD_SUBSCRIBES: shard_subscribe(call); break;
    case SHARD_LOCAL: shard_answer_here(call); break;
    case SHARD_SESSION: shard_session(call); break;
    default: shard_refuse(call, "ERR '%s' can't be used through the shard", call->command->name);
    }
}

void shard_dispatch(struct shard_call *call) {
    const struct shard_command *container;
    shard_add(call->worker, FIGURE_COMMANDS, 1);
    call->command = shard_command_find(call->data, call->words, call->count, &container);
    shard_metrics_take(call->worker, call->command);
    if (shard_is_bound(call->client) && shard_bound_takes(call)) return;
    if (!call->command && container) refuse_subcommand(call, container);
    else if (!call->command) refuse_unknown(call);
    else if (!shard_command_fits(call->command, call->count)) {
        shard_refuse(call, "ERR wrong number of arguments for '%s' command", call->command->name);
    } else {
        if (--call->worker->until_look == 0) shard_hot_look(call);
        go(call);
    }
}

#endif
