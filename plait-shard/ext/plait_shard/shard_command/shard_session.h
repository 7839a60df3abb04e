/*
 * The session of a client: its password, its version of RESP, its name. Clients with the same user and version share connections to
 * the nodes: a pool.
 */
#ifndef PLAIT_SHARD_SESSION_H
#define PLAIT_SHARD_SESSION_H

#include "../shard_plane/shard_plane.h"

void shard_session_begin(struct shard_worker *worker, struct shard_client *client);
void shard_session_end(struct shard_client *client);

void shard_auth(struct shard_call *call);
void shard_hello(struct shard_call *call);
void shard_reset(struct shard_call *call);

/* CLIENT ID, GETNAME, SETNAME, INFO, LIST, and what is accepted without being done. */
void shard_tell_id(struct shard_call *call);
void shard_tell_name(struct shard_call *call);
void shard_set_name(struct shard_call *call);
void shard_tell_client(struct shard_call *call);
void shard_list_clients(struct shard_call *call);
void shard_accept_it(struct shard_call *call);

/* A command of one that has not given the password yet. False: it goes its usual way. */
bool shard_locked_takes(struct shard_call *call);

/* The limits for a client; a client that has not given the password gets small ones. */
const struct resp_limits *shard_limits(const struct shard_worker *worker, const struct shard_client *client);

#endif
