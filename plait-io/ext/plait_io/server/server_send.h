/* What goes out on a connection: for the files of the engine. */
#ifndef PLAIT_SERVER_SEND_H
#define PLAIT_SERVER_SEND_H

#include "server.h"

/* Sends what waits. Returns 0 or an errno. */
int server_flush(struct server_connection *connection);

#endif
