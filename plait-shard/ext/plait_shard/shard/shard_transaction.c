/*
 * MULTI … EXEC. The commands between are kept here, and sent with EXEC, one behind another: on the connection that all share
 * nothing can come between them, so that no connection need be held for a client that thinks. Only who watches keys has one of its
 * own, as the node knows of that by the connection.
 */
#include "shard_client_replies.h"
#include "shard_find.h"
#include "shard_link.h"
#include "shard_pinned.h"
#include "shard_reply.h"
#include "shard_topology.h"

#ifdef __linux__

#include <stdlib.h>
#include <string.h>

static const char MULTI[] = "*1\r\n$5\r\nMULTI\r\n";
static const char EXEC[] = "*1\r\n$4\r\nEXEC\r\n";
static const char UNWATCH[] = "*1\r\n$7\r\nUNWATCH\r\n";

static void answer(struct shard_call *call, const char *line) {
    shard_answer(call, line, strlen(line));
}

static bool is(const struct shard_call *call, const char *name) {
    return call->command && strcmp(call->command->name, name) == 0;
}

/* ---- WATCH ---- */

static void watch(struct shard_call *call) {
    struct shard_pin *pin = call->client->pin;
    uint32_t node;
    if (!pin && shard_hold_back(call)) return;
    if (!shard_find_node(call, &node)) return;
    if (pin && pin->node != node) {
        shard_refuse(call, "CROSSSLOT Keys in request don't hash to the same slot (keys that are watched already are on another node)");
        return;
    }
    if (!pin) pin = shard_pin_take(call, node, SHARD_PIN_WATCHES);
    if (pin) shard_pin_send(call, pin);
}

/* What comes behind goes to connections that others share: not before this is answered. */
static void leave_with(struct shard_call *call, const char *words) {
    struct shard_call last = *call;
    last.data = words;
    last.size = strlen(words);
    last.owner = NULL;
    call->client->pin->leaving = true;
    call->client->alone = true;
    shard_pin_send(&last, call->client->pin);
}

static void unwatch(struct shard_call *call) {
    if (call->client->pin) leave_with(call, UNWATCH);
    else answer(call, "+OK\r\n");
}

/* ---- MULTI ---- */

static void begin(struct shard_call *call) {
    call->client->transaction = calloc(1, sizeof *call->client->transaction);
    if (call->client->transaction) answer(call, "+OK\r\n");
    else shard_refuse(call, "ERR out of memory");
}

static void discard(struct shard_call *call) {
    shard_transaction_drop(call->worker, call->client);
    unwatch(call);
}

static void abort_it(struct shard_call *call) {
    shard_transaction_drop(call->worker, call->client);
    shard_pin_leave(call->worker, call->client); /* it watches no longer */
    shard_refuse(call, "EXECABORT Transaction discarded because of previous errors.");
}

/* MULTI, the commands and EXEC; only the last answer is the client's. */
static void send_all(struct shard_call *call, struct shard_link *link) {
    struct shard_worker *worker = call->worker;
    struct shard_transaction *transaction = call->client->transaction;
    struct shard_request *request = shard_request_new(worker, call->client);
    if (request && shard_link_ask(worker, link, request, 0)) {
        shard_link_skip(link, transaction->count + 1);
        bool enough = shard_rope_copy(&link->out, &worker->blocks, MULTI, sizeof MULTI - 1);
        shard_rope_move(&link->out, &transaction->queue);
        enough = enough && shard_rope_copy(&link->out, &worker->blocks, EXEC, sizeof EXEC - 1);
        if (!enough) shard_link_close(worker, link);
    }
    shard_transaction_drop(worker, call->client);
}

/* As it is now: it may have been placed long ago. */
static uint32_t node_of(const struct shard_worker *worker, const struct shard_transaction *transaction) {
    const struct shard_topology *topology = worker->topology;
    if (!transaction->placed) return topology->masters[0];
    if (worker->shard->settings.cluster) return topology->placement.points[transaction->place].node;
    return shard_successor(worker, transaction->node);
}

static void execute(struct shard_call *call) {
    struct shard_client *client = call->client;
    struct shard_transaction *transaction = client->transaction;
    struct shard_pin *pin = client->pin;
    if (transaction->broken) {
        if (!shard_hold_back(call)) abort_it(call);
    } else if (pin) {
        pin->leaving = true;
        client->alone = true;
        send_all(call, &pin->link);
        shard_pin_touch(call->worker, pin);
    } else if (transaction->count) {
        struct shard_link *link = shard_link_to(call, node_of(call->worker, transaction));
        send_all(call, link);
        if (link->out.size > SHARD_HIGH) client->full = link;
    } else {
        shard_transaction_drop(call->worker, client);
        answer(call, "*0\r\n");
    }
}

void shard_transact(struct shard_call *call) {
    bool begun = call->client->transaction;
    if (is(call, "watch")) {
        if (begun) shard_refuse(call, "ERR WATCH inside MULTI is not allowed");
        else watch(call);
    } else if (is(call, "multi")) {
        if (begun) shard_refuse(call, "ERR MULTI calls can not be nested");
        else begin(call);
    } else if (is(call, "unwatch")) {
        unwatch(call);
    } else if (!begun) {
        shard_refuse(call, "ERR %s without MULTI", is(call, "exec") ? "EXEC" : "DISCARD");
    } else if (is(call, "exec")) {
        execute(call);
    } else {
        discard(call);
    }
}

/* ---- what stands between ---- */

/* Whether it works on the node of its keys alone. */
static bool has_keys(const struct shard_call *call) {
    switch (call->command->way) {
    case SHARD_ROUTED: case SHARD_MGET: case SHARD_MSET: case SHARD_COUNT: case SHARD_STREAMS: case SHARD_SORT: case SHARD_WAITS: return true;
    default: return false;
    }
}

/* It works on every node alike. */
static bool goes_anywhere(const struct shard_call *call) {
    static const char *const names[] = {"ping", "echo", "time", "unwatch"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (is(call, names[i])) return true;
    }
    return false;
}

/* Where it belongs; false: it can't be in this transaction, and the client has been told. */
static bool place(struct shard_call *call, struct shard_transaction *transaction) {
    uint32_t node = call->worker->topology->masters[0];
    bool cluster = call->worker->shard->settings.cluster;
    if (goes_anywhere(call) || (cluster && is(call, "publish"))) return true;
    if (!has_keys(call) && !is(call, "publish")) {
        shard_refuse(call, "ERR '%s' can't be a part of a transaction: only commands of the node that its keys are on can", call->command->name);
        return false;
    }
    if (has_keys(call) && !shard_find_node(call, &node)) return false;
    const struct shard_pin *pin = call->client->pin;
    bool other = cluster ? transaction->place != call->place : transaction->node != node;
    if ((transaction->placed && other) || (pin && pin->node != node)) {
        shard_refuse(call, "CROSSSLOT Keys in request don't hash to the same slot (those of the transaction are on another node)");
        return false;
    }
    transaction->node = node;
    transaction->place = call->place;
    transaction->placed = true;
    return true;
}

static void queue(struct shard_call *call) {
    struct shard_transaction *transaction = call->client->transaction;
    struct shard_worker *worker = call->worker;
    if (!place(call, transaction)) {
        if (call->client->transaction) transaction->broken = true; /* without memory for a refusal the client is closed */
    } else if (transaction->queue.size + call->size > worker->shard->settings.client_bytes) {
        transaction->broken = true;
        shard_refuse(call, "ERR the transaction has more bytes than client_bytes allows");
    } else if (!shard_rope_copy(&transaction->queue, &worker->blocks, call->data, call->size)) {
        shard_close_client(worker, call->client);
    } else {
        transaction->count++;
        answer(call, "+QUEUED\r\n");
    }
}

/* Of those that go another way: they would use the connection for something else, or as somebody else. */
static bool disturbs(const struct shard_call *call) {
    unsigned way = call->command->way;
    return way == SHARD_WAITS || way == SHARD_SUBSCRIBES || way == SHARD_STREAMS || is(call, "auth") || is(call, "hello");
}

/* Those of the node that watches go its way, so that they are in order with it; others wait until all before them is answered. */
static bool takes_watching(struct shard_call *call) {
    uint32_t node;
    if (!call->command || !shard_command_fits(call->command, call->count) || call->command->way == SHARD_TRANSACTS) return false;
    if (call->command->way != SHARD_ROUTED) {
        if (shard_hold_back(call)) return true;
        call->client->alone = true;
        if (!disturbs(call)) return false;
        shard_refuse(call, "ERR '%s' can't be used while keys are watched", call->command->name);
        return true;
    }
    if (!shard_find_node(call, &node)) return true;
    if (node == call->client->pin->node) {
        shard_pin_send(call, call->client->pin);
        return true;
    }
    if (shard_hold_back(call)) return true;
    call->client->alone = true;
    return false;
}

bool shard_transaction_takes(struct shard_call *call) {
    struct shard_transaction *transaction = call->client->transaction;
    if (!transaction) return takes_watching(call);

    bool known = call->command && shard_command_fits(call->command, call->count);
    if (!known) transaction->broken = true;
    bool own = known && call->command->way == SHARD_TRANSACTS && !is(call, "unwatch");
    if (!known || own || is(call, "quit") || is(call, "reset")) return false;
    queue(call);
    return true;
}

#endif
