/*
 * WAIT: how many replicas have all that the client has written. The shard does not keep to which nodes a client has written, nor
 * by which connection. So all masters are asked, each on a connection that has just seen the newest offset; the least counts.
 *
 * Up to Redis 7 any command sees that, PING too; from 8 on only what goes to the replicas, as SPUBLISH does. (In a cluster that
 * would have to be a channel of the node's own, which is not made: there WAIT can be too quick with Redis 8.) The error
 * of a server that knows no SPUBLISH, or does not allow it, goes to no client.
 */
#include "shard_acknowledge.h"
#include "../shard_client/shard_reply.h"
#include "shard_split.h"

#include <stdio.h>
#include <string.h>

enum { WORDS = 160, DIGITS = 18 };

static const char PING[] = "*1\r\n$4\r\nPING\r\n", PUBLISH[] = "*3\r\n$8\r\nSPUBLISH\r\n$5\r\nplait\r\n$0\r\n\r\n";

static bool shard_acknowledge_publishes(const struct shard_call *call) {
    return !call->worker->shard->settings.cluster;
}

uint32_t shard_acknowledge_first(const struct shard_call *call) {
    return shard_acknowledge_publishes(call) ? 2 : 1;
}

static const double SHARE = 0.8; /* of what a node may be silent for */

/* Milliseconds; false: it is no number, which the nodes will say. */
static bool shard_acknowledge_read_milliseconds(const char *word, size_t size, unsigned long long *number) {
    *number = 0;
    for (size_t i = 0; i < size; i++) {
        if (word[i] < '0' || word[i] > '9') return false;
        *number = *number * 10 + (unsigned long long)(word[i] - '0');
    }
    return size;
}

/* No longer than a node may be silent: it would be given up. */
static unsigned long long shard_acknowledge_bounded(const struct shard_worker *worker, unsigned long long milliseconds) {
    unsigned long long most = (unsigned long long)(worker->shard->settings.timeout * 1000 * SHARE);
    return most && (milliseconds == 0 || milliseconds > most) ? most : milliseconds;
}

void shard_acknowledge(struct shard_call *call) {
    struct resp_span count = call->words[1], time = call->words[2];
    unsigned long long milliseconds;
    char words[WORDS], digits[DIGITS + 6];
    bool short_enough = count.size && count.size <= DIGITS && time.size <= DIGITS;
    if (!short_enough || !shard_acknowledge_read_milliseconds(call->data + time.at, time.size, &milliseconds)) {
        shard_refuse(call, "ERR timeout is not an integer or out of range");
        return;
    }
    int size = snprintf(digits, sizeof digits, "%llu", shard_acknowledge_bounded(call->worker, milliseconds));
    size = snprintf(words, sizeof words, "%s%s*3\r\n$4\r\nWAIT\r\n$%zu\r\n%.*s\r\n$%d\r\n%s\r\n", PING,
                    shard_acknowledge_publishes(call) ? PUBLISH : "",
                    count.size, (int)count.size, call->data + count.at, size, digits);
    struct shard_call question = *call;
    question.data = words;
    question.size = (size_t)size;
    question.owner = NULL;
    shard_send_to_all(&question);
}
