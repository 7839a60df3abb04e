/*
 * The TLS of connections: Ruby's socket has done the handshake, and is kept for as long as the connection lasts. Between the two
 * it only marks: the engine calls libssl itself.
 */
#include "rb_server.h"

#include "../tls/rb_tls.h"

/* Also while the server is collected itself: then Ruby's socket may be gone already. */
static void server_secure_release(struct server_secure *engine) {
    struct rb_server_secure *secure = (struct rb_server_secure *)engine;
    tls_release(engine->ssl);
    *secure->place = secure->next;
    if (secure->next) secure->next->place = secure->place;
    xfree(secure);
}

struct server_secure *plait_server_secure(struct rb_server *server, VALUE socket) {
    struct ssl_st *ssl = plait_tls_of(socket);
    struct rb_server_secure *secure = ALLOC(struct rb_server_secure);
    *secure = (struct rb_server_secure){.engine = {ssl, server_secure_release}, .socket = socket};
    tls_keep(ssl);
    secure->place = &server->secures;
    secure->next = server->secures;
    if (secure->next) secure->next->place = &secure->next;
    server->secures = secure;
    RB_GC_GUARD(socket);
    return &secure->engine;
}

VALUE plait_server_socket_of(const struct server_secure *secure) {
    return secure ? ((const struct rb_server_secure *)secure)->socket : Qnil;
}
