/* Writes what waits, at the end of a turn or when there is no room to receive into. */
#include "shard_flush.h"
#include "shard_client_replies.h"
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
 * Nodes first: what they are asked is under way while the clients are written to. A node hears what two clients have sent on two
 * connections in the order in which it was heard here, as far as one of them has a connection of its own: who waits for an element
 * longer gets it sooner, and an EXEC is before the write behind it that would have it fail.
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
