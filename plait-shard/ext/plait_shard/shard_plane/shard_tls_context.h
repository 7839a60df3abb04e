/* What shard_tls_context.c makes, for shard_tls.c. */
#ifndef PLAIT_SHARD_TLS_CONTEXT_H
#define PLAIT_SHARD_TLS_CONTEXT_H

#ifdef HAVE_LIBSSL

#include <openssl/ssl.h>

struct shard_tls_context {
    SSL_CTX *ssl;
};

/* What a node gives to go on with later: of TLS 1.3 it comes behind the handshake. */
int shard_tls_keep_session(SSL *ssl, SSL_SESSION *session);

#endif

#endif
