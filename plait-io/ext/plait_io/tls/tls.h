/*
 * TLS over a socket that does not block, after its handshake: of the libssl that Ruby's extension "openssl" uses, since the
 * handshake was that one's. It is found when it is needed, so no header of it has to be there when the gem is built.
 */
#ifndef PLAIT_TLS_H
#define PLAIT_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* SSL and SSL_SESSION of libssl. */
struct ssl_st;
struct ssl_session_st;

/* Bytes that a record holds at most. */
enum { TLS_RECORD = 16 * 1024 };

/* Finds libssl through the file of Ruby's extension; false: it can't be used. Another call costs nothing. */
bool tls_find(const char *extension);

/* Before all below: records are read as a whole from now on, and the peer can't ask for another handshake. */
void tls_begin(struct ssl_st *ssl);

/* A further owner, and that it is none any more. */
void tls_keep(struct ssl_st *ssl);
void tls_release(struct ssl_st *ssl);

/*
 * As recv(2): as much as is there and fits; 0 is the peer's goodbye. -1 with errno: EAGAIN, or EPROTO, also for an end without a
 * goodbye. `drained`: the socket will report when there is more. (It may have reported its end already.)
 */
ssize_t tls_receive(struct ssl_st *ssl, char *to, size_t room, bool *drained);

/*
 * As send(2), TLS_RECORD bytes at most. After EAGAIN the next call has to begin with the same bytes, and as many of them; they may
 * lie elsewhere. EPIPE: nothing goes any more.
 */
ssize_t tls_send(struct ssl_st *ssl, const char *data, size_t size);

/* Why the last call failed, by EPROTO or EPIPE. */
const char *tls_reason(void);

/* The session of a client's connection, for its next handshake; NULL where the peer has given none. The caller owns it. */
struct ssl_session_st *tls_session(struct ssl_st *ssl);
void tls_session_release(struct ssl_session_st *session);

/* Before the handshake; false: it can't be used. */
bool tls_resume(struct ssl_st *ssl, struct ssl_session_st *session);

/* Tells the peer that nothing more comes. */
void tls_finish(struct ssl_st *ssl);

#endif
