/* Connections to nodes. */
#ifndef PLAIT_SHARD_LINK_H
#define PLAIT_SHARD_LINK_H

#include "../shard_plane/shard_plane.h"

/* Makes the request wait for a reply of this node; what it sends is to be appended to link->out next. False: it was failed. */
bool shard_link_ask(struct shard_worker *worker, struct shard_link *link, struct shard_request *request, uint32_t part);

/* The one to its node that clients of its pool share. */
static inline struct shard_link *shard_link_shared(const struct shard_worker *worker, const struct shard_link *link) {
    return &link->pool->links[link->node - worker->shard->settings.nodes];
}

/* Connects it for bytes that are sent without a request. False: that failed, and shard_pin_lost was called. */
bool shard_link_open(struct shard_worker *worker, struct shard_link *link);
void shard_link_flush(struct shard_worker *worker, struct shard_link *link);

/* It has something to write, or may have: it is flushed in this turn. */
void shard_link_touch(struct shard_worker *worker, struct shard_link *link);
void shard_links_flush(struct shard_worker *worker);

/* Sends PING to a node that has had no request for long. */
void shard_link_probe(struct shard_worker *worker, struct shard_link *link);

/* Gives up a link that has taken too long. Returns whether a link is left that may yet. */
bool shard_link_check(struct shard_worker *worker, struct shard_link *link);

/* Whether the command that waits there ends scripts or tells of them: a node that is busy with one takes nothing else. */
bool shard_link_is_about_scripts(const struct shard_link *link);

void shard_link_close(struct shard_worker *worker, struct shard_link *link);

/* So many replies come before that of the last request. */
void shard_link_skip(struct shard_link *link, uint32_t replies);

/* The last request. */
struct shard_waiter *shard_link_last(const struct shard_link *link);

/* Whether it would be asked, as far as is known. */
bool shard_link_is_well(const struct shard_worker *worker, const struct shard_link *link);

/* The reply that the request waits for will not come. */
void shard_waiter_fail(struct shard_worker *worker, const struct shard_waiter *waiter, const char *error);

/* All waiting requests get the reason; the node is not tried again at once. */
void shard_link_give_up(struct shard_worker *worker, struct shard_link *link, const char *why);
/* Ends the connection in the middle of a command; the waiting requests are answered with the error. */
void shard_link_abandon(struct shard_worker *worker, struct shard_link *link, const char *error);

/* ---- for shard_link_receive.c ---- */

/* What a node may answer is its own affair: it is passed on, not kept. */
extern const struct resp_limits shard_link_replies;

/* It is looked at from time to time whether it takes too long. */
void shard_link_time(struct shard_worker *worker, struct shard_link *link);

/* Closes the socket; the waiting requests go on waiting. */
void shard_link_disconnect(struct shard_worker *worker, struct shard_link *link);

/* As shard_link_give_up, because of an errno. */
void shard_link_give_up_by(struct shard_worker *worker, struct shard_link *link, const char *what, int number);

#endif
