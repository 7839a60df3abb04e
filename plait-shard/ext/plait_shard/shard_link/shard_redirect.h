/*
 * Answers of nodes that are not for the client: that a key is elsewhere (MOVED, ASK), or can't be asked for yet (TRYAGAIN, CLUSTERDOWN,
 * READONLY). The command is then sent again, where it belongs or when it may be. For that, what was sent is kept until it is
 * answered, on connections where that can happen.
 */
#ifndef PLAIT_SHARD_REDIRECT_H
#define PLAIT_SHARD_REDIRECT_H

#include "../shard_plane/shard_plane.h"

/* What an error says of where or when to ask again. */
enum shard_turn {
    SHARD_NO_TURN,   /* it is the client's */
    SHARD_MOVED,     /* another node has the slot */
    SHARD_ASKED,     /* another node is getting it, and has this key */
    SHARD_LATER,     /* keys of it are on two nodes */
    SHARD_DOWNTURN,  /* no node has it now */
    SHARD_DEMOTED,   /* it is no master any longer */
    SHARD_UNREADY    /* a replica that can't be read from now */
};

/* What to do with bytes of an error. */
enum shard_verdict {
    SHARD_PASS, /* they are the client's */
    SHARD_HOLD, /* it is not known yet, or they go to no client, or the connection was given up */
    SHARD_TURN  /* they are not; the request is asked again, see shard_retry_go */
};

/* The error of the oldest request, or of no request. SHARD_TURN: *retry is the retry of the request. */
enum shard_verdict shard_redirect_look(struct shard_worker *worker, struct shard_link *link, struct shard_bytes bytes, bool last,
                                       struct shard_retry **retry);

/* It is to be asked again, in this turn or later. */
void shard_retry_go(struct shard_worker *worker, struct shard_retry *retry);

/* It is answered. */
void shard_retry_end(struct shard_worker *worker, struct shard_retry *retry);

/* Another topology is here: none waits any longer. */
void shard_retries_hurry(struct shard_worker *worker);

/* Each turn: asks again where the time has come and no older retry of the same place is under way. */
void shard_retries_turn(struct shard_worker *worker);

/* All waiting requests get an error: the shard ends. */
void shard_retries_close(struct shard_worker *worker);

/* The connection ends: a request that only reads from a replica goes to the replica's master. */
void shard_reads_rescue(struct shard_worker *worker, struct shard_link *link);

#endif
