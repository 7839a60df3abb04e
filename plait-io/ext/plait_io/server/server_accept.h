/* How connections come in: for the files of the engine. */
#ifndef PLAIT_SERVER_ACCEPT_H
#define PLAIT_SERVER_ACCEPT_H

#include "server.h"

void server_accept(struct server *server, int index, double now);
void server_accept_all(struct server *server, double now);

#endif
