/* Large answers: for the files of the engine. */
#ifndef PLAIT_SERVER_REMAINDER_H
#define PLAIT_SERVER_REMAINDER_H

#include "server.h"

/* Sends of the remainder what the peer takes. Returns 0 or an errno. */
int server_pour(struct server_connection *connection);

#endif
