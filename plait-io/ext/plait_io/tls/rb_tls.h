/* TLS of Ruby's sockets, for C. */
#ifndef PLAIT_RB_TLS_H
#define PLAIT_RB_TLS_H

#include "../plait_io.h"
#include "tls.h"

/* Whether the libssl of Ruby's extension openssl, which is loaded, can be used: not before 1.1.1, nor where Ruby itself contains it. */
bool plait_tls_is_found(void);

/* Of an OpenSSL::SSL::SSLSocket, for calls from C alone; raises where it is none, or its libssl can't be used. */
struct ssl_st *plait_tls_of(VALUE socket);

/* OpenSSL::SSL::SSLError, which is loaded where there is a socket of it. */
VALUE plait_tls_error_class(void);

/* One with tls_reason. */
VALUE plait_tls_error(const char *what);

void plait_init_tls(VALUE plait);

#endif
