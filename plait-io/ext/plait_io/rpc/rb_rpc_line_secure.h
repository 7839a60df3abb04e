/* The transport of a line over TLS: a socket of Ruby's OpenSSL. Without TLS, system calls do the same. */
#ifndef PLAIT_RB_RPC_LINE_SECURE_H
#define PLAIT_RB_RPC_LINE_SECURE_H

#include "rb_rpc_line.h"

/* Bytes of the largest record of TLS: to receive so many leaves none behind inside OpenSSL. */
enum { LINE_RECORD = 16 * 1024 };

/* What came of one step. */
struct secure_step {
    ssize_t count;  /* bytes; of a receive 0: the end; -1: nothing can move now, or it failed */
    VALUE failure;  /* a StandardError; or nil */
    bool crossed;   /* the socket has to become ready for the other direction first */
};

/* Receives into the parser. The caller of both holds interrupts back: one inside would be taken for a failure. */
struct secure_step plait_line_secure_receive(struct line *line);

/* After a step that moved nothing, the next String begins with the same bytes. */
struct secure_step plait_line_secure_send(struct line *line, VALUE bytes);

void plait_init_rpc_line_secure(void);

#endif
