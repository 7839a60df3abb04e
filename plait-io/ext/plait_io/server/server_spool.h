/* Bodies in files: for the files of the engine. */
#ifndef PLAIT_SERVER_SPOOL_H
#define PLAIT_SERVER_SPOOL_H

#include "server.h"

/* Keeps the memory of a body for the next one. */
void server_spare(struct server *server, struct server_body *body);
void server_free_spare(struct server *server);

/* Gives connections back whose bodies are in their files by now. */
void server_take_spooled(struct server *server);
void server_close_spooler(struct server *server);

#endif
