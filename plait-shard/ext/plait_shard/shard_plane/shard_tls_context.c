/* The shard's certificate and the authorities that it trusts, from files; see shard_tls.h. Without libssl: no TLS. */
#include "shard_tls_context.h"
#include "shard_tls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBSSL

#include <openssl/err.h>

/* Where they begin matters to a client that goes on with a session under another certificate of its own. */
static const unsigned char name[] = "plait shard";

static bool shard_tls_context_is_given(const char *file) {
    return file && *file;
}

static bool shard_tls_context_complain(char error[SHARD_TLS_TEXT], const char *what, const char *file) {
    unsigned long code = ERR_peek_last_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    snprintf(error, SHARD_TLS_TEXT, "%s: %s can't be used: %s", what, file, reason ? reason : strerror(errno));
    return false;
}

static bool shard_tls_context_identify(SSL_CTX *ssl, const struct shard_tls_files *files, char error[SHARD_TLS_TEXT]) {
    if (!shard_tls_context_is_given(files->certificate)) return true;
    const char *key = shard_tls_context_is_given(files->key) ? files->key : files->certificate;
    if (SSL_CTX_use_certificate_chain_file(ssl, files->certificate) != 1) {
        return shard_tls_context_complain(error, "cert", files->certificate);
    }
    if (SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) != 1) return shard_tls_context_complain(error, "key", key);
    return SSL_CTX_check_private_key(ssl) == 1 || shard_tls_context_complain(error, "key", key);
}

static bool shard_tls_context_trust(SSL_CTX *ssl, bool serves, const struct shard_tls_files *files,
                                    char error[SHARD_TLS_TEXT]) {
    bool given = shard_tls_context_is_given(files->authority);
    if (given && SSL_CTX_load_verify_locations(ssl, files->authority, NULL) != 1) {
        return shard_tls_context_complain(error, "ca", files->authority);
    }
    if (!given && !serves && SSL_CTX_set_default_verify_paths(ssl) != 1) {
        return shard_tls_context_complain(error, "ca", "the system's");
    }
    if (given && serves) SSL_CTX_set_client_CA_list(ssl, SSL_load_client_CA_file(files->authority));
    int must = serves ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
    SSL_CTX_set_verify(ssl, given || !serves ? SSL_VERIFY_PEER | must : SSL_VERIFY_NONE, NULL);
    return true;
}

/* Clients go on with sessions by tickets, which nothing has to be kept for. */
static void shard_tls_context_configure(SSL_CTX *ssl, bool serves) {
    SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(ssl, 1);
    SSL_CTX_set_session_id_context(ssl, name, sizeof name - 1);
    SSL_CTX_set_session_cache_mode(ssl, serves ? SSL_SESS_CACHE_OFF : SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    if (serves) SSL_CTX_set_num_tickets(ssl, 1);
    else SSL_CTX_sess_set_new_cb(ssl, shard_tls_keep_session);
}

struct shard_tls_context *shard_tls_context_new(bool serves, const struct shard_tls_files *files, char error[SHARD_TLS_TEXT]) {
    struct shard_tls_context *context = calloc(1, sizeof *context);
    ERR_clear_error();
    if (context) context->ssl = SSL_CTX_new(serves ? TLS_server_method() : TLS_client_method());
    if (!context || !context->ssl) {
        snprintf(error, SHARD_TLS_TEXT, "libssl can't be used: out of memory");
        free(context);
        return NULL;
    }
    shard_tls_context_configure(context->ssl, serves);
    if (shard_tls_context_identify(context->ssl, files, error) && shard_tls_context_trust(context->ssl, serves, files, error)) {
        return context;
    }
    shard_tls_context_free(context);
    return NULL;
}

void shard_tls_context_free(struct shard_tls_context *context) {
    if (!context) return;
    SSL_CTX_free(context->ssl);
    free(context);
}

#else

struct shard_tls_context *shard_tls_context_new(bool serves, const struct shard_tls_files *files, char error[SHARD_TLS_TEXT]) {
    (void)serves, (void)files;
    error[0] = 0;
    return NULL;
}

void shard_tls_context_free(struct shard_tls_context *context) {
    (void)context;
}

struct shard_tls *shard_tls_accept(struct shard_worker *worker, struct shard_tls_context *context, int socket, void *owner) {
    (void)worker, (void)context, (void)socket, (void)owner;
    return NULL;
}

struct shard_tls *shard_tls_connect(struct shard_worker *worker, struct shard_tls_context *context, int socket, void *owner,
                                    const char *host, void **session) {
    (void)worker, (void)context, (void)socket, (void)owner, (void)host, (void)session;
    return NULL;
}

void shard_tls_free(struct shard_worker *worker, struct shard_tls *tls) {
    (void)worker, (void)tls;
}

void shard_tls_forget_session(void *session) {
    (void)session;
}

void shard_tls_finish(struct shard_tls *tls) {
    (void)tls;
}

enum shard_tls_state shard_tls_shake(struct shard_tls *tls) {
    (void)tls;
    return SHARD_TLS_FAILED;
}

bool shard_tls_is_shaking(const struct shard_tls *tls) {
    (void)tls;
    return false;
}

const char *shard_tls_error(const struct shard_tls *tls) {
    (void)tls;
    return "";
}

bool shard_tls_wants_to_write(const struct shard_tls *tls) {
    (void)tls;
    return false;
}

ssize_t shard_tls_receive(struct shard_worker *worker, struct shard_tls *tls, char *data, size_t room) {
    (void)worker, (void)tls, (void)data, (void)room;
    errno = EPROTO;
    return -1;
}

ssize_t shard_tls_send(struct shard_tls *tls, const char *data, size_t size) {
    (void)tls, (void)data, (void)size;
    errno = EPROTO;
    return -1;
}

int shard_tls_write(struct shard_tls *tls, struct shard_rope *rope, struct shard_blocks *blocks) {
    (void)tls, (void)rope, (void)blocks;
    return EPROTO;
}

bool shard_tls_has_more(const struct shard_tls *tls) {
    (void)tls;
    return false;
}

void shard_tls_tell(struct shard_worker *worker, struct shard_tls *tls) {
    (void)worker, (void)tls;
}

void shard_tls_turn(struct shard_worker *worker, void (*hear)(struct shard_worker *worker, void *owner)) {
    (void)worker, (void)hear;
}

bool shard_tls_check(struct shard_worker *worker) {
    (void)worker;
    return false;
}

#endif
