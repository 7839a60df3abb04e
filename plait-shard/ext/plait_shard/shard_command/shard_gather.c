/*
 * A large MSET is sent on while it arrives: the pairs that are here as MSETs of their own, and one answer when the last of them
 * is answered. It is not atomic then, not even on one node; which no MSET over several nodes is.
 */
#include "shard_gather.h"
#include "../shard_client/shard_merge.h"
#include "../shard_plane/shard_metrics.h"
#include "../shard_plane/shard_pin.h"
#include "shard_split.h"

/* Words that are here as a whole. */
static uint32_t shard_gather_words_here(const struct resp_command *scan) {
    return scan->found - (scan->stage == RESP_IN_BULK);
}

static uint32_t shard_gather_pairs_here(const struct resp_command *scan) {
    uint32_t words = shard_gather_words_here(scan);
    return words > 2 ? (words - 1) / 2 : 0;
}

bool shard_gather_wanted(const struct shard_worker *worker, const struct shard_client *client, const char *data, size_t size) {
    const struct resp_command *scan = &client->command;
    if (worker->shard->settings.strict || size < worker->shard->settings.chunk || !shard_gather_pairs_here(scan) ||
        shard_is_bound(client)) return false;
    return client->gather || (scan->count % 2 == 1 && shard_word_is(data, scan->spans[0], "MSET"));
}

static struct shard_call shard_gather_call_of(struct shard_worker *worker, struct shard_client *client, const char *data,
                                              struct shard_buffer *owner, uint32_t count) {
    const struct resp_command *scan = &client->command;
    struct shard_call call = {.worker = worker, .client = client, .data = data, .owner = owner, .words = scan->spans,
                              .count = count};
    return call;
}

size_t shard_gather(struct shard_worker *worker, struct shard_client *client, const char *data, struct shard_buffer *owner) {
    uint32_t pairs = shard_gather_pairs_here(&client->command);
    struct shard_call call = shard_gather_call_of(worker, client, data, owner, 1 + 2 * pairs);
    if (!client->gather) {
        shard_add(worker, FIGURE_COMMANDS, 1);
        const struct shard_command *container;
        shard_metrics_take(worker, shard_command_find(data, client->command.spans, 1, &container));
        client->gather = shard_begin_merge(&call, SHARD_MSET, worker->shard->settings.node_count, 0);
        if (!client->gather) return 0;
        client->gather->merge->gathers = true;
        client->gather->merge->waiting = 1; /* for what is still to come */
    }
    shard_send_pairs(&call, client->gather);
    if (client->socket == -1) return 0;

    struct resp_span last = call.words[2 * pairs];
    size_t done = last.at + last.size;
    resp_command_drop(&client->command, 2 * pairs, done);
    return done;
}

void shard_gather_last(struct shard_call *call) {
    struct shard_request *request = call->client->gather;
    call->client->gather = NULL;
    shard_send_pairs(call, request);
    shard_merge_finish_part(call->worker, request);
}

void shard_gather_leave(struct shard_worker *worker, struct shard_client *client) {
    struct shard_request *request = client->gather;
    client->gather = NULL;
    if (request) shard_merge_fail(worker, request, 0, "-ERR the command did not come to its end; a part of it was done\r\n");
}
