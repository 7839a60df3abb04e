/* Finds the node of a command's keys. */
#include "shard_find.h"
#include "../shard_client/shard_reply.h"
#include "../shard_data/shard_table.h"
#include "../shard_plane/shard_topology.h"

#include <string.h>

static const char ACROSS[] = "CROSSSLOT Keys in request don't hash to the same slot (%s)";

struct search {
    const struct shard_call *call;
    uint32_t node;
    uint32_t place;
    bool any;
};

/* Returns 1 when the key is on another node than the keys before it, or in another slot of a cluster. */
static int shard_find_look_at(void *argument, uint32_t number) {
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

uint32_t shard_first_well(const struct shard_worker *worker) {
    const struct shard_topology *topology = worker->topology;
    for (uint32_t i = 0; i < topology->master_count; i++) {
        const struct shard_link *link = &worker->links[topology->masters[i]];
        if (!link->suspect && worker->now >= link->retry_at) return topology->masters[i];
    }
    return topology->masters[0];
}

/* A script that names no key may use any: on one node it would be silently wrong. */
static bool shard_find_names_no_key(const struct shard_call *call) {
    return call->command->traits & SHARD_SCRIPT && shard_word_is(call->data, call->words[2], "0");
}

/* COPY from to [DB n] [REPLACE]; the shard has one database only. */
static bool shard_find_names_a_database(const struct shard_call *call) {
    if (!(call->command->traits & SHARD_NAMES_DATABASE)) return false;
    for (uint32_t i = 3; i + 1 < call->count; i++) {
        struct resp_span number = call->words[i + 1];
        bool none = number.size == 0 || call->data[number.at] < '0' || call->data[number.at] > '9'; /* the server says so */
        if (shard_word_is(call->data, call->words[i], "DB")) return !none && !shard_word_is(call->data, number, "0");
    }
    return false;
}

static void shard_find_refuse_across(struct shard_call *call) {
    bool cluster = call->worker->shard->settings.cluster;
    shard_refuse(call, ACROSS, cluster ? "a cluster wants keys of one command in one slot" : "they are on different nodes");
}

static bool shard_find_keys(struct shard_call *call, uint32_t *node) {
    const struct shard_command *command = call->command;
    struct search search = {.call = call};
    bool across = shard_command_keys(command, call->data, call->words, call->count, shard_find_look_at, &search);
    bool elsewhere = !across && shard_find_names_a_database(call);
    bool keyless = !across && !call->worker->shard->settings.keyless && shard_find_names_no_key(call);
    if (across) shard_find_refuse_across(call);
    else if (elsewhere) shard_refuse(call, "ERR COPY to a database is denied: the shard has the database 0 only");
    else if (keyless) shard_refuse(call, "ERR '%s' names no key, so that it has no node", command->name);
    call->place = search.place;
    *node = search.any ? search.node : shard_first_well(call->worker); /* without a key all would say that it is wrong */
    return !across && !elsewhere && !keyless;
}

/* BY and GET name keys by patterns, which may be anywhere. */
static bool shard_find_sorted(struct shard_call *call, uint32_t *node) {
    struct search search = {.call = call};
    shard_find_look_at(&search, 1);
    for (uint32_t i = 2; i + 1 < call->count; i++) {
        bool by = shard_word_is(call->data, call->words[i], "BY");
        struct resp_span pattern = call->words[i + 1];
        if (!by && !shard_word_is(call->data, call->words[i], "GET")) {
            bool stores = call->command->flags & SHARD_WRITE; /* of SORT_RO the server says that it does not */
            if (!stores || !shard_word_is(call->data, call->words[i], "STORE")) continue;
            if (shard_find_look_at(&search, i + 1)) {
                shard_find_refuse_across(call);
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
    return call->command->way == SHARD_SORT ? shard_find_sorted(call, node) : shard_find_keys(call, node);
}
