/*
 * Subscriptions. The client's commands are passed on to one node, whose messages are passed on to the client, each when it is whole.
 * Channels are all of the first node, so that patterns match all messages that are published through the shard. Channels of
 * SSUBSCRIBE belong to a node as keys do.
 */
#include "shard_subscription.h"
#include "../shard_client/shard_client_lists.h"
#include "../shard_client/shard_client_replies.h"
#include "shard_find.h"
#include "shard_link.h"
#include "../shard_client/shard_memory.h"
#include "../shard_plane/shard_pin.h"
#include "shard_pinned.h"
#include "../shard_client/shard_reply.h"
#include "../shard_plane/shard_topology.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { FIRST_ROOM = 512 };

/* Answered behind all that came before it. The text has random numbers, so that a client's own PING can't look like it. */
static const char PROBE[] = "*2\r\n$4\r\nPING\r\n";
static const char PROBED[] = "$56\r\nplait-shard-still-there?%016" PRIx64 "%016" PRIx64 "\r\n";

/* ---- what comes from the node ---- */

static const char MOVED[] = "-ERR the slot of this channel is at another node now: subscribe again in a moment\r\n";

static bool shard_subscription_begins_with(const char *data, size_t size, const char *start) {
    size_t length = strlen(start);
    return size >= length && memcmp(data, start, length) == 0;
}

/* Of a reply that ends with an integer. */
static int64_t shard_subscription_last_number(const char *data, size_t size) {
    size_t at = size - 2;
    while (at && data[at - 1] != ':') at--;
    return strtoll(data + at, NULL, 10);
}

/* "*3\r\n$9\r\nsubscribe\r\n…": how many there are now. */
static void shard_subscription_note_count(struct shard_pin *pin, const char *data, size_t size) {
    static const struct {
        const char *start;
        bool sharded;
    } kinds[] = {
        {"3\r\n$9\r\nsubscribe\r\n", false},    {"3\r\n$11\r\nunsubscribe\r\n", false}, {"3\r\n$10\r\npsubscribe\r\n", false},
        {"3\r\n$12\r\npunsubscribe\r\n", false}, {"3\r\n$10\r\nssubscribe\r\n", true},   {"3\r\n$12\r\nsunsubscribe\r\n", true},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!shard_subscription_begins_with(data + 1, size - 1, kinds[i].start)) continue;
        *(kinds[i].sharded ? &pin->shard_channels : &pin->channels) = shard_subscription_last_number(data, size);
    }
}

static bool shard_subscription_is_probe(const struct shard_pin *pin, const char *data, size_t size) {
    size_t length = sizeof pin->probed - 1;
    if (size < length || memcmp(data + size - length, pin->probed, length) != 0) return false;
    return size == length || shard_subscription_begins_with(data, size, "*2\r\n$4\r\npong\r\n");
}

/* All that was sent before it is answered: the counts are of now. */
static void shard_subscription_end_probe(struct shard_worker *worker, struct shard_pin *pin) {
    struct shard_request *probe = pin->probe;
    pin->probe = NULL;
    pin->refuses = pin->channels + pin->shard_channels > 0;
    if (!pin->refuses) shard_pin_give_back(worker, pin);
    shard_request_feed(worker, probe, "", 0, true);
}

/* A channel of a slot that the node does not have: its reply is for clients that know the cluster. */
static bool shard_subscription_is_moved(const struct shard_worker *worker, const char *data, size_t size) {
    return worker->shard->settings.cluster &&
        (shard_subscription_begins_with(data, size, "-MOVED ") || shard_subscription_begins_with(data, size, "-ASK "));
}

static void shard_subscription_deliver(struct shard_worker *worker, struct shard_pin *pin, const char *data, size_t size) {
    struct shard_client *client = pin->client;
    if (shard_subscription_is_moved(worker, data, size)) {
        shard_topology_doubt(worker);
        data = MOVED;
        size = sizeof MOVED - 1;
    }
    if (pin->probe && shard_subscription_is_probe(pin, data, size)) {
        shard_subscription_end_probe(worker, pin);
        return;
    }
    shard_subscription_note_count(pin, data, size);
    bool enough = shard_rope_refer(&client->out, &worker->blocks, data, size, pin->message);
    if (!enough || client->out.size > worker->shard->settings.client_bytes) shard_close_client(worker, client);
    else shard_client_touch(worker, client);
}

/* A part of a message: nothing else may come between it and its rest. */
static bool shard_subscription_keep(struct shard_pin *pin, const char *data, size_t size) {
    struct shard_buffer *message = pin->message;
    size_t used = message ? message->size : 0;
    if (!message || message->room - used < size) {
        size_t room = used * 2 > used + size ? used * 2 : used + size;
        struct shard_buffer *larger = shard_buffer_new(room < FIRST_ROOM ? FIRST_ROOM : room);
        if (!larger) return false;
        if (used) memcpy(larger->bytes, message->bytes, used);
        shard_buffer_drop(message);
        pin->message = message = larger;
    }
    memcpy(message->bytes + used, data, size);
    message->size = used + size;
    return true;
}

static void shard_subscription_deliver_kept(struct shard_worker *worker, struct shard_pin *pin) {
    struct shard_buffer *message = pin->message;
    message->references++;
    shard_subscription_deliver(worker, pin, message->bytes, message->size);
    if (pin->message == message) {
        shard_buffer_drop(message);
        pin->message = NULL;
    }
    shard_buffer_drop(message);
}

bool shard_pin_push(struct shard_worker *worker, struct shard_pin *pin, const char *data, size_t size) {
    size_t most = worker->shard->settings.client_bytes;
    while (size) {
        if (pin->use != SHARD_PIN_SUBSCRIBED) return false;
        size_t used;
        int event = resp_reply_scan(&pin->link.scan, data, size, &used);
        if (event < 0) return false;

        bool whole = event == RESP_REPLY;
        if (whole) resp_reply_start(&pin->link.scan, &worker->shard->settings.limits);
        bool in_parts = pin->message || !whole;
        if (in_parts && (!shard_subscription_keep(pin, data, used) || pin->message->size > most))
            shard_close_client(worker, pin->client);
        else if (in_parts && whole) shard_subscription_deliver_kept(worker, pin);
        else if (whole) shard_subscription_deliver(worker, pin, data, used);
        if (pin->client) shard_weigh_client(worker, pin->client);
        if (pin->link.state != SHARD_UP) return true;
        data += used;
        size -= used;
    }
    return true;
}

/* It stands where a message would. */
void shard_subscription_lost(struct shard_worker *worker, struct shard_pin *pin, const char *error) {
    struct shard_client *client = pin->client;
    struct shard_request *probe = pin->probe;
    pin->probe = NULL;
    if (client->socket != -1 && shard_rope_copy(&client->out, &worker->blocks, error, strlen(error))) shard_client_touch(worker, client);
    if (probe) shard_request_feed(worker, probe, "", 0, true);
}

/* ---- what comes from the client ---- */

/* Nodes tell of their own keys on channels of their own. */
static bool shard_subscription_tells_of_keys(const struct shard_call *call) {
    if (call->worker->topology->master_count == 1) return false;
    for (uint32_t i = 1; i < call->count; i++) {
        struct resp_span word = call->words[i];
        if (shard_subscription_begins_with(call->data + word.at, word.size, "__key")) return true;
    }
    return false;
}

/* False: that failed, and the client has got an error. */
static bool shard_subscription_find_channels(struct shard_call *call, uint32_t *node) {
    bool leaves = call->command->way == SHARD_UNSUBSCRIBE;
    if (call->command->way == SHARD_SSUBSCRIBE) return shard_find_node(call, node);

    *node = leaves && call->client->pin ? call->client->pin->node : call->worker->topology->masters[0];
    bool keys = !leaves && shard_subscription_tells_of_keys(call);
    if (keys) shard_refuse(call, "ERR each node tells of its own keys only: subscribe to %.*s there", (int)call->words[1].size, call->data + call->words[1].at);
    return !keys;
}

void shard_subscribe(struct shard_call *call) {
    uint32_t node;
    if (shard_hold_back(call) || !shard_subscription_find_channels(call, &node)) return;

    struct shard_pin *pin = shard_pin_take(call, node, SHARD_PIN_SUBSCRIBED);
    if (!pin) return;
    if (shard_link_open(call->worker, &pin->link)) shard_pin_append(call, pin);
}

/* Without the kernel's random numbers (before Linux 3.17), the thread's have to do. */
static void shard_subscription_name_probe(struct shard_worker *worker, struct shard_pin *pin) {
    uint64_t numbers[2];
    if (getrandom(numbers, sizeof numbers, GRND_NONBLOCK) != (ssize_t)sizeof numbers)
        for (size_t i = 0; i < 2; i++) numbers[i] = (uint64_t)shard_random(worker) << 32 | shard_random(worker);
    snprintf(pin->probed, sizeof pin->probed, PROBED, numbers[0], numbers[1]);
}

static bool shard_subscription_write_probe(struct shard_worker *worker, struct shard_pin *pin) {
    struct shard_rope *out = &pin->link.out;
    return shard_rope_copy(out, &worker->blocks, PROBE, sizeof PROBE - 1) &&
        shard_rope_copy(out, &worker->blocks, pin->probed, sizeof pin->probed - 1);
}

/* Whether it has unsubscribed from all is known when the node has answered. */
static void shard_subscription_probe(struct shard_call *call, struct shard_pin *pin) {
    struct shard_worker *worker = call->worker;
    pin->probe = shard_request_new(worker, call->client);
    if (pin->probe) pin->probe->command = NULL; /* it is none that the client has sent */
    if (!pin->probe) return;
    shard_subscription_name_probe(worker, pin);
    if (!shard_subscription_write_probe(worker, pin)) shard_link_close(worker, &pin->link);
    shard_pin_touch(worker, pin);
    shard_hold_back(call);
}

static void shard_subscription_pass_on_if_there(struct shard_call *call, struct shard_pin *pin) {
    uint32_t node;
    if (!shard_subscription_find_channels(call, &node)) return;
    pin->refuses = false;
    if (node == pin->node) shard_pin_append(call, pin);
    else if (!pin->channels && !pin->shard_channels) shard_subscription_probe(call, pin); /* it may have none there */
    else shard_refuse(call, "CROSSSLOT Keys in request don't hash to the same slot (this connection has subscribed on another node)");
}

bool shard_subscription_takes(struct shard_call *call) {
    struct shard_pin *pin = call->client->pin;
    const struct shard_command *command = call->command;
    enum shard_way way = command ? command->way : SHARD_REFUSED;
    if (command && (command->traits & SHARD_ENDS || !shard_command_fits(command, call->count))) return false;
    if (way == SHARD_SUBSCRIBE || way == SHARD_SSUBSCRIBE || way == SHARD_UNSUBSCRIBE) {
        shard_subscription_pass_on_if_there(call, pin);
    } else if (way == SHARD_PING) {
        shard_pin_append(call, pin);
    } else if (pin->refuses) {
        pin->refuses = false;
        shard_refuse(call, "ERR Can't execute '%.*s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT are allowed in this context",
                     (int)(call->words[0].size < 64 ? call->words[0].size : 64), call->data + call->words[0].at);
    } else {
        shard_subscription_probe(call, pin);
    }
    return true;
}
