/* The table of connections, the lists and queues in which they stand, and how one ends: for the files of the engine. */
#ifndef PLAIT_SERVER_TABLE_H
#define PLAIT_SERVER_TABLE_H

#include "server.h"

/* In an event: the number, and the generation above it. */
enum { SERVER_GENERATION_SHIFT = 32 };

/* Of the listeners, in an event: the number is none of a connection's. Likewise the wakeup. */
#define SERVER_LISTENER UINT64_C(0xffffffff00000000)
#define SERVER_WAKEUP UINT64_MAX

/* Of this process so far: each has a copy of all descriptors. */
unsigned server_forks(void);

/* Registers a descriptor in the kernel's set; NULL: there is no memory, or the kernel refuses it. */
struct server_connection *server_admit(struct server *server, int number);

/* Queues are by time: a connection leaves the one that it is in. */
void server_enqueue(struct server *server, struct server_connection *connection, enum server_queue queue, double now);
void server_dequeue(struct server *server, struct server_connection *connection);

/* Lists: of the connections that are ready, and of the ones that wait for a worker. */
void server_push(struct server *server, struct server_list *list, struct server_connection *connection);
void server_make_ready(struct server *server, struct server_connection *connection);

/* The first connection that waits for a worker; NULL: none does. */
struct server_connection *server_shift_waiting(struct server *server);

/* Whether the kernel has bytes of it, or it is about to be looked at. */
bool server_has_come(const struct server_connection *connection);

/* The file of the current request's body has no further use: its descriptor is counted no longer. */
void server_uncount_file(struct server *server, struct server_connection *connection);

void server_free_intake(struct server_connection *connection);
void server_free_body(struct server_body *body);
void server_free_remainder(struct server_connection *connection);

#endif
