/*
 * The session of a client: its password, its version of RESP, its name. Clients with the same user and version share connections to
 * the nodes: a pool.
 */
#ifndef PLAIT_SHARD_SESSION_H
#define PLAIT_SHARD_SESSION_H

#include "shard_plane.h"

/* ---- shard_pool.c ---- */

/* That of most clients. False: no memory. */
bool shard_pool_open(struct shard_worker *worker);

/* Frees the pools without users where no answer is to come; worker->deserted: there are others. */
void shard_pools_free(struct shard_worker *worker);
void shard_pools_close(struct shard_worker *worker);

/* With this user (NULL: the shard's own) and version. NULL: no memory. */
struct shard_pool *shard_pool_find(struct shard_worker *worker, const char *user, const char *password, bool resp3);

/* A connection is there: what it begins with is sent. */
void shard_link_greet(struct shard_worker *worker, struct shard_link *link);

/* Answers to that have come. */
void shard_link_greeted(struct shard_worker *worker, struct shard_link *link);

/* ---- shard_session.c ---- */

void shard_session_begin(struct shard_worker *worker, struct shard_client *client);
void shard_session_end(struct shard_client *client);

/* HELLO, AUTH, RESET, CLIENT. */
void shard_session(struct shard_call *call);

/* A command of one that has not given the password yet. False: it goes its usual way. */
bool shard_locked_takes(struct shard_call *call);

/* The limits for a client; a client that has not given the password gets small ones. */
const struct resp_limits *shard_limits(const struct shard_worker *worker, const struct shard_client *client);

#endif
