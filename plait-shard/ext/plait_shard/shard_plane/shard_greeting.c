/* What a client is answered once the nodes have taken its name and password, or not. */
#include "shard_greeting.h"

#include <stdio.h>

size_t shard_session_greet(const struct shard_worker *worker, const struct shard_client *client, char reply[SHARD_GREETING_ROOM]) {
    if (!client->greets) return (size_t)snprintf(reply, SHARD_GREETING_ROOM, "+OK\r\n");
    uint32_t redis = atomic_load_explicit(&worker->shard->redis, memory_order_relaxed);
    char version[16];
    int size = snprintf(version, sizeof version, "%u.%u.%u", redis >> 16 & 0xff, redis >> 8 & 0xff, redis & 0xff);
    bool resp3 = client->pool->resp3;
    return (size_t)snprintf(reply, SHARD_GREETING_ROOM,
                            "%s\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$%d\r\n%s\r\n$5\r\nproto\r\n:%d\r\n"
                            "$2\r\nid\r\n:%llu\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
                            "$7\r\nmodules\r\n*0\r\n",
                            resp3 ? "%7" : "*14", size, version, resp3 ? 3 : 2, (unsigned long long)client->id);
}

void shard_session_settle(struct shard_client *client, bool taken) {
    struct shard_pool *former = client->former;
    client->former = NULL;
    if (taken) client->locked = false;
    shard_pool_leave(taken ? former : client->pool);
    if (!taken) client->pool = former;
}
