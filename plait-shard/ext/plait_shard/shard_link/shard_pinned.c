/* Connections that are one client's for a while. See shard_pinned.h. */
#include "shard_pinned.h"
#include "../shard_client/shard_client_lists.h"
#include "../shard_client/shard_client_replies.h"
#include "shard_find.h"
#include "shard_link.h"
#include "../shard_plane/shard_metrics.h"
#include "../shard_plane/shard_pin.h"
#include "../shard_client/shard_reply.h"
#include "shard_subscription.h"

#include <stdlib.h>
#include <string.h>

static const double IDLE = 5;     /* seconds until an idle connection is closed */
static const double PERIOD = .05; /* seconds between looks at them */

/* ---- having one ---- */

static struct shard_pin *shard_pinned_take_idle(struct shard_worker *worker, const struct shard_pool *pool, uint32_t node) {
    for (struct shard_pin **at = &worker->idle_pins; *at; at = &(*at)->next_idle) {
        struct shard_pin *pin = *at;
        if (pin->node != node || pin->link.pool != pool || pin->link.state != SHARD_UP) continue;
        *at = pin->next_idle;
        return pin;
    }
    return NULL;
}

static struct shard_pin *shard_pinned_new_pin(struct shard_worker *worker, struct shard_pool *pool, uint32_t node) {
    struct shard_pin *pin = calloc(1, sizeof *pin);
    if (!pin) return NULL;

    pin->link.kind = SHARD_LINK;
    pin->link.socket = -1;
    pin->link.node = &worker->shard->settings.nodes[node];
    pin->link.pool = pool;
    pool->users++;
    pin->link.pin = pin;
    pin->link.own = true;
    pin->node = node;
    pin->next = worker->pins;
    worker->pins = pin;
    return pin;
}

struct shard_pin *shard_pin_take(struct shard_call *call, uint32_t node, enum shard_pin_use use) {
    struct shard_pin *pin = shard_pinned_take_idle(call->worker, call->client->pool, node);
    if (!pin) pin = shard_pinned_new_pin(call->worker, call->client->pool, node);
    if (!pin) {
        shard_close_client(call->worker, call->client);
        return NULL;
    }
    pin->use = use;
    pin->link.retry_at = call->client->pool->links[node].retry_at;
    pin->client = call->client;
    pin->channels = pin->shard_channels = 0;
    pin->leaving = pin->settled = pin->refuses = false;
    call->client->pin = pin;
    return pin;
}

static void shard_pinned_detach(struct shard_pin *pin) {
    if (pin->client) pin->client->pin = NULL;
    pin->client = NULL;
    pin->use = SHARD_PIN_IDLE;
    shard_buffer_drop(pin->message);
    pin->message = NULL;
    pin->probe = NULL;
}

void shard_pin_give_back(struct shard_worker *worker, struct shard_pin *pin) {
    shard_pinned_detach(pin);
    pin->link.since = worker->now;
    pin->next_idle = worker->idle_pins;
    worker->idle_pins = pin;
}

/* On a new connection, or on one where the command would wait, a stopped node would stay unnoticed. */
static bool shard_pinned_is_in_vain(const struct shard_pin *pin) {
    return pin->link.pool->links[pin->node].suspect && (pin->link.state == SHARD_DOWN || pin->use == SHARD_PIN_WAITS);
}

void shard_pin_append(struct shard_call *call, struct shard_pin *pin) {
    struct shard_worker *worker = call->worker;
    if (!shard_rope_refer(&pin->link.out, &worker->blocks, call->data, call->size, call->owner)) shard_link_close(worker, &pin->link);
    if (pin->link.out.size > SHARD_HIGH) call->client->full = &pin->link;
    shard_pin_touch(worker, pin);
}

bool shard_pin_send(struct shard_call *call, struct shard_pin *pin) {
    struct shard_worker *worker = call->worker;
    if (shard_pinned_is_in_vain(pin)) {
        shard_refuse(call, "ERR node %s was silent and has not answered since; nothing was done", pin->link.node->label);
        shard_pinned_detach(pin);
        return false;
    }
    struct shard_request *request = shard_request_new(worker, call->client);
    if (!request || !shard_link_ask(worker, &pin->link, request, 0)) {
        if (pin->link.state == SHARD_DOWN) shard_pinned_detach(pin);
        return false;
    }
    shard_pin_append(call, pin);
    return true;
}

/* ---- of all ---- */

void shard_pin_touch(struct shard_worker *worker, struct shard_pin *pin) {
    if (pin->touched) return;
    pin->touched = true;
    pin->behind = pin->link.pool->links[pin->node].out.first;
    pin->next_touched = NULL;
    if (worker->touched_pins) worker->last_touched_pin->next_touched = pin;
    else worker->touched_pins = pin;
    worker->last_touched_pin = pin;
}

static void shard_pinned_flush_touched(struct shard_worker *worker, bool all) {
    struct shard_pin *list = worker->touched_pins;
    worker->touched_pins = NULL;
    while (list) {
        struct shard_pin *pin = list;
        list = pin->next_touched;
        pin->touched = false;
        if (pin->behind && !all) shard_pin_touch(worker, pin);
        else shard_link_flush(worker, &pin->link);
    }
}

/* What fails meanwhile may touch others. */
void shard_pins_flush(struct shard_worker *worker, bool all) {
    do shard_pinned_flush_touched(worker, all);
    while (all && worker->touched_pins);
}

static void shard_pinned_free_pin(struct shard_worker *worker, struct shard_pin *pin) {
    shard_pool_leave(pin->link.pool);
    shard_link_close(worker, &pin->link);
    free(pin);
}

/* What waits for others may take any time, but not that of a node which has stopped: its other connection is asked. */
static void shard_pinned_check(struct shard_worker *worker, struct shard_pin *pin) {
    struct shard_link *shared = &pin->link.pool->links[pin->node];
    bool waits = pin->use == SHARD_PIN_WAITS && pin->link.state == SHARD_UP;
    if (!waits) shard_link_check(worker, &pin->link);
    if (pin->link.state != SHARD_UP || (!waits && pin->use != SHARD_PIN_SUBSCRIBED)) return;

    if (shared->suspect) shard_link_give_up(worker, &pin->link, "was silent when it was asked whether it is well");
    else shard_link_probe(worker, shared);
}

static bool shard_pinned_is_over(const struct shard_worker *worker, const struct shard_pin *pin) {
    return !pin->client && !pin->touched && (pin->link.state == SHARD_DOWN || worker->now - pin->link.since > IDLE);
}

bool shard_pins_check(struct shard_worker *worker) {
    if (!worker->pins || worker->now < worker->pins_at) return worker->pins != NULL;

    worker->pins_at = worker->now + PERIOD;
    worker->idle_pins = NULL;
    struct shard_pin **at = &worker->pins;
    while (*at) {
        struct shard_pin *pin = *at;
        shard_pinned_check(worker, pin);
        if (shard_pinned_is_over(worker, pin)) {
            *at = pin->next;
            shard_pinned_free_pin(worker, pin);
            continue;
        }
        if (!pin->client && pin->link.state == SHARD_UP) {
            pin->next_idle = worker->idle_pins;
            worker->idle_pins = pin;
        }
        at = &pin->next;
    }
    return worker->pins != NULL;
}

void shard_pins_close(struct shard_worker *worker) {
    worker->idle_pins = worker->touched_pins = NULL;
    while (worker->pins) {
        struct shard_pin *pin = worker->pins;
        worker->pins = pin->next;
        shard_pinned_free_pin(worker, pin);
    }
}

/* ---- what happens to one ---- */

void shard_pin_replied(struct shard_worker *worker, struct shard_pin *pin) {
    pin->settled = true;
    if (!pin->client || pin->link.head != pin->link.tail) return;
    if (pin->use == SHARD_PIN_WAITS || pin->leaving) shard_pin_give_back(worker, pin);
}

void shard_transaction_drop(struct shard_worker *worker, struct shard_client *client) {
    if (!client->transaction) return;

    shard_rope_clear(&client->transaction->queue, &worker->blocks);
    free(client->transaction);
    client->transaction = NULL;
}

/* What was watched or subscribed to can't be taken up again without a gap: the client has to know. */
void shard_pin_lost(struct shard_worker *worker, struct shard_pin *pin, const char *error) {
    struct shard_client *client = pin->client;
    enum shard_pin_use use = pin->use;
    if (!client) return;

    if (use == SHARD_PIN_SUBSCRIBED) shard_subscription_lost(worker, pin, error);
    shard_pinned_detach(pin);
    bool nothing = use == SHARD_PIN_WAITS || (use == SHARD_PIN_WATCHES && !pin->settled);
    if (nothing || client->socket == -1) return;
    client->ending = true;
    shard_transaction_drop(worker, client);
    shard_client_touch(worker, client);
}

void shard_pin_leave(struct shard_worker *worker, struct shard_client *client) {
    struct shard_pin *pin = client->pin;
    if (!pin) return;

    struct shard_request *probe = pin->probe;
    shard_pinned_detach(pin);
    shard_link_abandon(worker, &pin->link, "-ERR the client has gone\r\n");
    if (probe) shard_request_feed(worker, probe, "", 0, true);
}

/* ---- commands ---- */

bool shard_hold_back(struct shard_call *call) {
    if (!call->client->first) return false;

    shard_add(call->worker, FIGURE_COMMANDS, (uint64_t)-1); /* it is counted when it is read again */
    shard_metrics_put_back(call->worker, call->command);
    call->client->again = true;
    return true;
}

void shard_wait(struct shard_call *call) {
    uint32_t node;
    if (shard_hold_back(call) || !shard_find_node(call, &node)) return;

    struct shard_pin *pin = shard_pin_take(call, node, SHARD_PIN_WAITS);
    call->client->alone = true;
    if (pin) shard_pin_send(call, pin);
}
