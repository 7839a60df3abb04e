/*
 * MULTI … EXEC. The commands between are kept here, and sent with EXEC, one behind another: on the shared
 * connection no other command comes between them, and no connection is held while a client thinks. Only a client that watches
 * keys has a connection of its own, since a node keeps watched keys by connection.
 */
#include "shard_transaction.h"
#include "../shard_client/shard_client_replies.h"
#include "shard_find.h"
#include "shard_link.h"
#include "../shard_plane/shard_pin.h"
#include "shard_pinned.h"
#include "../shard_client/shard_reply.h"
#include "../shard_plane/shard_topology.h"

#include <stdlib.h>
#include <string.h>

static const char MULTI[] = "*1\r\n$5\r\nMULTI\r\n";
static const char EXEC[] = "*1\r\n$4\r\nEXEC\r\n";
static const char UNWATCH[] = "*1\r\n$7\r\nUNWATCH\r\n";

static void shard_transaction_answer(struct shard_call *call, const char *line) {
    shard_answer(call, line, strlen(line));
}

/* ---- WATCH ---- */

void shard_watch_keys(struct shard_call *call) {
    struct shard_pin *pin = call->client->pin;
    uint32_t node;
    if (call->client->transaction) {
        shard_refuse(call, "ERR WATCH inside MULTI is not allowed");
        return;
    }
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
static void shard_transaction_leave_with(struct shard_call *call, const char *words) {
    struct shard_call last = *call;
    last.data = words;
    last.size = strlen(words);
    last.owner = NULL;
    call->client->pin->leaving = true;
    call->client->alone = true;
    shard_pin_send(&last, call->client->pin);
}

void shard_unwatch(struct shard_call *call) {
    if (call->client->pin) shard_transaction_leave_with(call, UNWATCH);
    else shard_transaction_answer(call, "+OK\r\n");
}

/* ---- MULTI ---- */

void shard_multi(struct shard_call *call) {
    if (call->client->transaction) {
        shard_refuse(call, "ERR MULTI calls can not be nested");
        return;
    }
    call->client->transaction = calloc(1, sizeof *call->client->transaction);
    if (call->client->transaction) shard_transaction_answer(call, "+OK\r\n");
    else shard_refuse(call, "ERR out of memory");
}

void shard_discard(struct shard_call *call) {
    if (!call->client->transaction) {
        shard_refuse(call, "ERR DISCARD without MULTI");
        return;
    }
    shard_transaction_drop(call->worker, call->client);
    shard_unwatch(call);
}

static void shard_transaction_abort_it(struct shard_call *call) {
    shard_transaction_drop(call->worker, call->client);
    shard_pin_leave(call->worker, call->client); /* it watches no longer */
    shard_refuse(call, "EXECABORT Transaction discarded because of previous errors.");
}

/* MULTI, the commands and EXEC; only the last answer is the client's. */
static void shard_transaction_send_all(struct shard_call *call, struct shard_link *link) {
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
static uint32_t shard_transaction_node_of(const struct shard_worker *worker, const struct shard_transaction *transaction) {
    const struct shard_topology *topology = worker->topology;
    if (!transaction->placed) return topology->masters[0];
    if (worker->shard->settings.cluster) return topology->placement.points[transaction->place].node;
    return shard_successor(worker, transaction->node);
}

void shard_exec(struct shard_call *call) {
    struct shard_client *client = call->client;
    struct shard_transaction *transaction = client->transaction;
    struct shard_pin *pin = client->pin;
    if (!transaction) {
        shard_refuse(call, "ERR EXEC without MULTI");
    } else if (transaction->broken) {
        if (!shard_hold_back(call)) shard_transaction_abort_it(call);
    } else if (pin) {
        pin->leaving = true;
        client->alone = true;
        shard_transaction_send_all(call, &pin->link);
        shard_pin_touch(call->worker, pin);
    } else if (transaction->count) {
        struct shard_link *link = shard_link_to(call, shard_transaction_node_of(call->worker, transaction));
        shard_transaction_send_all(call, link);
        if (link->out.size > SHARD_HIGH) client->full = link;
    } else {
        shard_transaction_drop(call->worker, client);
        shard_transaction_answer(call, "*0\r\n");
    }
}

/* ---- what stands between ---- */

/* Whether it works on the node of its keys alone. */
static bool shard_transaction_has_keys(const struct shard_call *call) {
    switch (call->command->way) {
    case SHARD_ROUTED: case SHARD_SPLIT: case SHARD_STREAMS: case SHARD_SORT: case SHARD_WAITS: return true;
    default: return false;
    }
}

/* The node of the command; false: it can't be in this transaction, and the client has got an error. */
static bool shard_transaction_place(struct shard_call *call, struct shard_transaction *transaction) {
    uint32_t node = call->worker->topology->masters[0];
    bool cluster = call->worker->shard->settings.cluster;
    bool publishes = call->command->traits & SHARD_PUBLISHES;
    if (call->command->traits & SHARD_ANYWHERE || (cluster && publishes)) return true;
    if (!shard_transaction_has_keys(call) && !publishes) {
        shard_refuse(call, "ERR '%s' can't be a part of a transaction: only commands of the node that its keys are on can", call->command->name);
        return false;
    }
    if (shard_transaction_has_keys(call) && !shard_find_node(call, &node)) return false;
    const struct shard_pin *pin = call->client->pin;
    bool other = cluster ? transaction->place != call->place : transaction->node != node;
    if ((transaction->placed && other) || (pin && pin->node != node)) {
        shard_refuse(call, "CROSSSLOT Keys in request don't hash to the same slot (the transaction's are on another node)");
        return false;
    }
    transaction->node = node;
    transaction->place = call->place;
    transaction->placed = true;
    return true;
}

static void shard_transaction_queue(struct shard_call *call) {
    struct shard_transaction *transaction = call->client->transaction;
    struct shard_worker *worker = call->worker;
    if (!shard_transaction_place(call, transaction)) {
        if (call->client->transaction) transaction->broken = true; /* without memory for a refusal the client is closed */
    } else if (transaction->queue.size + call->size > worker->shard->settings.client_bytes) {
        transaction->broken = true;
        shard_refuse(call, "ERR the transaction has more bytes than client_bytes allows");
    } else if (!shard_rope_copy(&transaction->queue, &worker->blocks, call->data, call->size)) {
        shard_close_client(worker, call->client);
    } else {
        transaction->count++;
        shard_transaction_answer(call, "+QUEUED\r\n");
    }
}

/* Of the commands that go another way: they would use the connection for something else, or as another user. */
static bool shard_transaction_disturbs(const struct shard_command *command) {
    return command->way == SHARD_WAITS || command->traits & SHARD_DISTURBS;
}

/* Whether it belongs to transactions as such. */
static bool shard_transaction_is_made_by(const struct shard_command *command) {
    switch (command->way) {
    case SHARD_MULTI: case SHARD_EXEC: case SHARD_DISCARD: case SHARD_WATCH: case SHARD_UNWATCH: return true;
    default: return false;
    }
}

/* Commands for the node that watches go its way, in order with it; other commands wait until all before them is answered. */
static bool shard_transaction_takes_watching(struct shard_call *call) {
    uint32_t node;
    if (!call->command || !shard_command_fits(call->command, call->count) || shard_transaction_is_made_by(call->command)) return false;
    if (call->command->way != SHARD_ROUTED) {
        if (shard_hold_back(call)) return true;
        call->client->alone = true;
        if (!shard_transaction_disturbs(call->command)) return false;
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
    if (!transaction) return shard_transaction_takes_watching(call);

    bool known = call->command && shard_command_fits(call->command, call->count);
    if (!known) transaction->broken = true;
    bool own = known && shard_transaction_is_made_by(call->command) && call->command->way != SHARD_UNWATCH;
    bool ends = call->command && call->command->traits & SHARD_ENDS;
    if (!known || own || ends) return false;
    shard_transaction_queue(call);
    return true;
}
