/* What the parts of a client's connection are to one another: its beginning and end, its commands, its replies. */
#ifndef PLAIT_SHARD_CLIENT_H
#define PLAIT_SHARD_CLIENT_H

#include "shard_plane.h"

#ifdef __linux__

/* ---- shard_client.c ---- */

/* Of one that is closed, once nothing of it is on its way. */
void shard_client_bury(struct shard_worker *worker, struct shard_client *client);

/* It has got its last reply. */
void shard_client_leave(struct shard_worker *worker, struct shard_client *client);

/* What one that leaves still sends. */
void shard_client_ignore(struct shard_worker *worker, struct shard_client *client);

/* ---- shard_client_input.c ---- */

void shard_client_drop_input(struct shard_client *client);

/* One that is paused, if it may go on. */
void shard_client_look_again(struct shard_worker *worker, struct shard_client *client);

/* ---- shard_client_replies.c ---- */

/* Of what has come of its reply. */
void shard_request_forget(struct shard_worker *worker, struct shard_request *request);

#endif
#endif
