/* Writes what waits, at the end of a turn or when there is no room to receive into. */
#include "shard_flush.h"
#include "../shard_client/shard_client_replies.h"
#include "shard_link.h"
#include "shard_pinned.h"

enum { HELD = 16 * 1024 /* bytes */ };

static const double HELD_FOR = 1e-3; /* seconds */

char *shard_room(struct shard_worker *worker, size_t *size) {
    if (SHARD_READ - worker->used < SHARD_READ_LEAST) shard_flush(worker);
    *size = SHARD_READ - worker->used;
    return worker->buffer + worker->used;
}

/*
 * Where many are served, a write for each node that has answered a part of a pipeline, or of an MGET, would cost more than all else:
 * what is short waits, for a moment, for the replies behind it.
 */
static bool shard_flush_holds(struct shard_worker *worker, struct shard_client *client) {
    bool partial = client->first && client->out.first && client->out.size < HELD && !client->out.borrowed;
    bool going_on = client->socket != -1 && !client->ending && !client->paused;
    bool waits = partial && going_on && worker->crowd >= SHARD_CROWD;
    if (waits && !client->held_since) client->held_since = worker->now;
    if (waits && worker->now - client->held_since < HELD_FOR) return true;
    client->held_since = 0;
    return false;
}

/*
 * Nodes first: requests are under way while clients are written to. Where a client has a connection of its own, a node receives
 * commands in the order in which they arrived here. So the client that waits longest for an element gets it first, and an EXEC
 * comes before a later write that would make it fail.
 */
void shard_flush(struct shard_worker *worker) {
    shard_pins_flush(worker, false);
    shard_links_flush(worker);
    shard_pins_flush(worker, true);
    struct shard_client *held = NULL;
    while (worker->touched) {
        struct shard_client *client = worker->touched;
        worker->touched = client->next_touched;
        if (shard_flush_holds(worker, client)) {
            client->next_touched = held;
            held = client;
        } else {
            client->touched = false;
            shard_client_flush(worker, client);
        }
    }
    worker->touched = held;
    /* Nothing refers to the buffer any longer. */
    worker->used = 0;
}
