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

/* The command, if it may be sent on while it arrives. Its name is not here once keys are on their way. */
static const struct shard_command *shard_gather_command_of(const struct shard_client *client, const char *data) {
    if (client->gather) return client->gather->command;
    const struct shard_command *command = shard_command_find(data, client->command.spans, 1);
    return command && command->way == SHARD_SPLIT && command->merge == SHARD_DONE ? command : NULL;
}

/* Keys that are here with all words that belong to each. */
static uint32_t shard_gather_keys_here(const struct resp_command *scan, uint32_t step) {
    uint32_t words = shard_gather_words_here(scan);
    return words ? (words - 1) / step : 0;
}

bool shard_gather_wanted(const struct shard_worker *worker, const struct shard_client *client, const char *data, size_t size) {
    const struct resp_command *scan = &client->command;
    if (worker->shard->settings.strict || size < worker->shard->settings.chunk || !shard_gather_words_here(scan) ||
        shard_is_bound(client)) return false;
    const struct shard_command *command = shard_gather_command_of(client, data);
    if (!command || !shard_gather_keys_here(scan, shard_command_step(command))) return false;
    return client->gather || (scan->count - 1) % shard_command_step(command) == 0;
}

static struct shard_call shard_gather_call_of(struct shard_worker *worker, struct shard_client *client, const char *data,
                                              struct shard_buffer *owner) {
    const struct shard_command *command = shard_gather_command_of(client, data);
    uint32_t step = shard_command_step(command);
    struct shard_call call = {.worker = worker, .client = client, .command = command, .data = data, .owner = owner,
                              .words = client->command.spans,
                              .count = 1 + step * shard_gather_keys_here(&client->command, step)};
    return call;
}

size_t shard_gather(struct shard_worker *worker, struct shard_client *client, const char *data, struct shard_buffer *owner) {
    struct shard_call call = shard_gather_call_of(worker, client, data, owner);
    if (!client->gather) {
        shard_add(worker, FIGURE_COMMANDS, 1);
        shard_metrics_take(worker, call.command);
        client->gather = shard_begin_merge(&call, call.command->merge, worker->shard->settings.node_count, 0);
        if (!client->gather) return 0;
        client->gather->merge->gathers = true;
        client->gather->merge->waiting = 1; /* for what is still to come */
    }
    shard_send_more(&call, client->gather);
    if (client->socket == -1) return 0;

    struct resp_span last = call.words[call.count - 1];
    size_t done = last.at + last.size;
    resp_command_drop(&client->command, call.count - 1, done);
    return done;
}

void shard_gather_last(struct shard_call *call) {
    struct shard_request *request = call->client->gather;
    call->client->gather = NULL;
    call->command = request->command;
    shard_send_more(call, request);
    shard_merge_finish_part(call->worker, request);
}

void shard_gather_leave(struct shard_worker *worker, struct shard_client *client) {
    struct shard_request *request = client->gather;
    client->gather = NULL;
    if (request) shard_merge_fail(worker, request, 0, "-ERR the command did not come to its end; a part of it was done\r\n");
}
