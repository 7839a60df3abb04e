/* Replies of the shard's own. */
#include "shard_reply.h"
#include "shard_client_lists.h"
#include "shard_client_replies.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE = 1024 };

void shard_answer(struct shard_call *call, const char *reply, size_t size) {
    struct shard_client *client = call->client;
    if (client->socket == -1) return;
    if (!client->first) {
        if (shard_rope_copy(&client->out, &call->worker->blocks, reply, size)) shard_client_touch(call->worker, client);
        else shard_close_client(call->worker, client);
        return;
    }
    struct shard_request *request = shard_request_new(call->worker, client);
    if (request) shard_request_feed(call->worker, request, reply, size, true);
}

/* A line has neither CR nor LF in it, whatever the client has sent. */
static size_t shard_reply_make_line(char *line, size_t size) {
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
    shard_answer(call, line, shard_reply_make_line(line, size < MESSAGE ? (size_t)size : MESSAGE - 1));
}
