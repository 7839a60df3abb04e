/* The transport of a line over TLS. Without TLS, system calls do the same. */
#ifndef PLAIT_RB_RPC_LINE_SECURE_H
#define PLAIT_RB_RPC_LINE_SECURE_H

#include "rb_rpc_line.h"

/* What came of one step. */
struct secure_step {
    ssize_t count;  /* bytes; of a receive 0: the end; -1: nothing can move now, or it failed */
    VALUE failure;  /* an SSLError; or nil */
    bool drained;   /* of a receive: the socket will report when there is more */
};

/* Receives into the parser. */
struct secure_step plait_line_secure_receive(struct line *line);

/* Sends of `parts`, from `part` and `offset` on. After a step that moved nothing the next one begins with the same bytes. */
struct secure_step plait_line_secure_send(struct line *line);

#endif
