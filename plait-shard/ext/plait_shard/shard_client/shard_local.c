/* Commands that no node is asked for. */
#include "shard_local.h"
#include "shard_client_replies.h"
#include "shard_reply.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void shard_local_answer_line(struct shard_call *call, const char *line) {
    shard_answer(call, line, strlen(line));
}

static void shard_local_answer_word(struct shard_call *call, struct resp_span word) {
    char header[RESP_HEADER];
    size_t size = resp_write_header(header, '$', word.size);
    /* In two pieces, which belong to one answer: so only behind all others. */
    struct shard_request *request = shard_request_new(call->worker, call->client);
    if (!request) return;
    shard_request_feed(call->worker, request, header, size, false);
    shard_request_take(call->worker, request, (struct shard_bytes){call->data + word.at, word.size + 2, call->owner}, true);
}

void shard_ping(struct shard_call *call) {
    if (call->count > 2) shard_refuse(call, "ERR wrong number of arguments for 'ping' command");
    else if (call->count == 2) shard_local_answer_word(call, call->words[1]);
    else shard_local_answer_line(call, "+PONG\r\n");
}

void shard_echo(struct shard_call *call) {
    shard_local_answer_word(call, call->words[1]);
}

void shard_quit(struct shard_call *call) {
    call->client->ending = true;
    shard_local_answer_line(call, "+OK\r\n");
}

void shard_select(struct shard_call *call) {
    if (shard_word_is(call->data, call->words[1], "0")) shard_local_answer_line(call, "+OK\r\n");
    else shard_refuse(call, "ERR SELECT is not allowed: the shard has the database 0 only");
}

void shard_time(struct shard_call *call) {
    struct timespec now;
    char seconds[24], microseconds[24], reply[80];
    clock_gettime(CLOCK_REALTIME, &now);
    int first = snprintf(seconds, sizeof seconds, "%lld", (long long)now.tv_sec);
    int second = snprintf(microseconds, sizeof microseconds, "%ld", now.tv_nsec / 1000);
    int size = snprintf(reply, sizeof reply, "*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", first, seconds, second, microseconds);
    shard_answer(call, reply, (size_t)size);
}
