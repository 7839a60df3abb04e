/* See shard_tls.h. */
#include "shard_tls.h"
#include "shard_plane.h"
#include "shard_tls_context.h"

#ifdef HAVE_LIBSSL

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum { RECORD = 16384 };

static const double HANDSHAKE = 10; /* seconds for a client */

struct shard_tls {
    SSL *ssl;
    void *owner;                    /* a client or a link; NULL: it is to be freed when the list is looked at */
    void **session;                 /* where that of a node is kept, or NULL */
    struct shard_tls *next_telling;
    struct shard_tls *before;       /* in the list of clients that shake hands, the newest first … */
    struct shard_tls *after;
    double ends_at;                 /* … until then */
    int error;                      /* an errno, of the connection: nothing goes any more; 0: none */
    bool ended;                     /* its end was read behind other bytes, and is to be reported */
    bool shaking;
    bool listed;                    /* it is in that list */
    bool telling;                   /* its owner is to be called */
    bool wants_to_write;
    char text[SHARD_TLS_TEXT];      /* why it has failed */
};

/* ---- the beginning and the end ---- */

int shard_tls_keep_session(SSL *ssl, SSL_SESSION *session) {
    struct shard_tls *tls = SSL_get_app_data(ssl);
    if (!tls || !tls->session) return 0;

    shard_tls_forget_session(*tls->session);
    *tls->session = session;
    return 1; /* it is ours now */
}

void shard_tls_forget_session(void *session) {
    if (session) SSL_SESSION_free(session);
}

static struct shard_tls *shard_tls_new(struct shard_tls_context *context, int socket, void *owner) {
    struct shard_tls *tls = calloc(1, sizeof *tls);
    if (!tls) return NULL;

    tls->ssl = SSL_new(context->ssl);
    if (!tls->ssl || !SSL_set_fd(tls->ssl, socket)) {
        SSL_free(tls->ssl);
        free(tls);
        return NULL;
    }
    SSL_set_app_data(tls->ssl, tls);
    tls->owner = owner;
    tls->shaking = true;
    return tls;
}

struct shard_tls *shard_tls_accept(struct shard_worker *worker, struct shard_tls_context *context, int socket, void *owner) {
    struct shard_tls *tls = shard_tls_new(context, socket, owner);
    if (!tls) return NULL;

    SSL_set_accept_state(tls->ssl);
    tls->ends_at = worker->now + HANDSHAKE;
    tls->listed = true;
    tls->after = worker->shaking;
    if (tls->after) tls->after->before = tls;
    else worker->shaking_longest = tls;
    worker->shaking = tls;
    return tls;
}

struct shard_tls *shard_tls_connect(struct shard_worker *worker, struct shard_tls_context *context, int socket, void *owner,
                                    const char *host, void **session) {
    struct shard_tls *tls = shard_tls_new(context, socket, owner);
    if (!tls) return NULL;

    SSL_set_connect_state(tls->ssl);
    if (*session) SSL_set_session(tls->ssl, *session);
    tls->session = session;
    /* An address is not asked for (RFC 6066 section 3), but the certificate has to be for it. */
    bool address = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls->ssl), host);
    if (!address && (!SSL_set1_host(tls->ssl, host) || !SSL_set_tlsext_host_name(tls->ssl, host))) {
        shard_tls_free(worker, tls);
        return NULL;
    }
    return tls;
}

static void shard_tls_leave_list(struct shard_worker *worker, struct shard_tls *tls) {
    if (!tls->listed) return;
    tls->listed = false;
    if (tls->before) tls->before->after = tls->after;
    else worker->shaking = tls->after;
    if (tls->after) tls->after->before = tls->before;
    else worker->shaking_longest = tls->before;
}

void shard_tls_finish(struct shard_tls *tls) {
    if (tls->error || tls->shaking) return;
    ERR_clear_error();
    SSL_shutdown(tls->ssl);
}

void shard_tls_free(struct shard_worker *worker, struct shard_tls *tls) {
    if (!tls) return;
    shard_tls_leave_list(worker, tls);
    shard_tls_finish(tls);
    SSL_free(tls->ssl);
    tls->ssl = NULL;
    tls->owner = NULL;
    if (!tls->telling) free(tls);
}

/* ---- telling ---- */

void shard_tls_tell(struct shard_worker *worker, struct shard_tls *tls) {
    if (tls->telling || !shard_tls_has_more(tls)) return;
    tls->telling = true;
    tls->next_telling = worker->telling;
    worker->telling = tls;
}

void shard_tls_turn(struct shard_worker *worker, void (*hear)(struct shard_worker *worker, void *owner)) {
    struct shard_tls *list = worker->telling;
    worker->telling = NULL;
    while (list) {
        struct shard_tls *tls = list;
        void *owner = tls->owner;
        list = tls->next_telling;
        tls->telling = false;
        if (owner) hear(worker, owner);
        else free(tls);
    }
}

bool shard_tls_check(struct shard_worker *worker) {
    while (worker->shaking_longest && worker->now >= worker->shaking_longest->ends_at) {
        shard_close_client(worker, worker->shaking_longest->owner);
    }
    return worker->shaking_longest != NULL;
}

/* ---- bytes ---- */

/* Without a goodbye. */
static bool shard_tls_is_end(unsigned long code) {
#ifdef SSL_R_UNEXPECTED_EOF_WHILE_READING
    return ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
#else
    return code == 0;
#endif
}

/* What OpenSSL says of a call that did not succeed, as an errno; 0: the other side has said goodbye. */
static int shard_tls_errno_of(struct shard_tls *tls, int result) {
    int number = errno;
    int why = SSL_get_error(tls->ssl, result);
    tls->wants_to_write = why == SSL_ERROR_WANT_WRITE;
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return EAGAIN;
    if (why == SSL_ERROR_ZERO_RETURN) return 0;

    unsigned long code = ERR_peek_error();
    long verdict = SSL_get_verify_result(tls->ssl);
    tls->error = why == SSL_ERROR_SYSCALL && number ? number : why == SSL_ERROR_SYSCALL ||
        shard_tls_is_end(code) ? ECONNRESET : EPROTO;
    if (verdict != X509_V_OK) snprintf(tls->text, sizeof tls->text, "its certificate: %s", X509_verify_cert_error_string(verdict));
    else if (code && ERR_reason_error_string(code)) snprintf(tls->text, sizeof tls->text, "%s", ERR_reason_error_string(code));
    else snprintf(tls->text, sizeof tls->text, "the connection has ended");
    return tls->error;
}

enum shard_tls_state shard_tls_shake(struct shard_tls *tls) {
    ERR_clear_error();
    errno = 0;
    int result = tls->error ? 0 : SSL_do_handshake(tls->ssl);
    if (result == 1) {
        tls->shaking = tls->wants_to_write = false;
        return SHARD_TLS_DONE;
    }
    return !tls->error && shard_tls_errno_of(tls, result) == EAGAIN ? SHARD_TLS_AGAIN : SHARD_TLS_FAILED;
}

/* A client's handshake is a part of receiving from it. */
static bool shard_tls_has_shaken(struct shard_worker *worker, struct shard_tls *tls) {
    if (!tls->shaking) return true;
    enum shard_tls_state state = shard_tls_shake(tls);
    errno = state == SHARD_TLS_AGAIN ? EAGAIN : EPROTO;
    if (state == SHARD_TLS_DONE) shard_tls_leave_list(worker, tls);
    return state == SHARD_TLS_DONE;
}

/* As much as there is room for: a record is 16 KiB at most, and each would else cost a turn. */
ssize_t shard_tls_receive(struct shard_worker *worker, struct shard_tls *tls, char *data, size_t room) {
    size_t done = 0;
    int error = EAGAIN;
    if (!shard_tls_has_shaken(worker, tls)) return -1;
    while (done < room && !tls->error) {
        size_t size;
        ERR_clear_error();
        errno = 0;
        int result = SSL_read_ex(tls->ssl, data + done, room - done, &size);
        if (result == 1) {
            done += size;
            continue;
        }
        error = shard_tls_errno_of(tls, result);
        break;
    }
    /* Once the socket has been read, epoll does not report the bytes that are left here, nor the end. */
    if (done && error != EAGAIN) tls->ended = true;
    if (done == room || tls->ended) shard_tls_tell(worker, tls);
    if (done) return (ssize_t)done;
    errno = tls->error ? tls->error : error;
    return errno ? -1 : 0;
}

ssize_t shard_tls_send(struct shard_tls *tls, const char *data, size_t size) {
    size_t done = 0;
    ERR_clear_error();
    errno = 0;
    int result = tls->error ? 0 : SSL_write_ex(tls->ssl, data, size, &done);
    if (result == 1) return (ssize_t)done;
    errno = tls->error ? tls->error : shard_tls_errno_of(tls, result);
    if (errno == 0) errno = EPIPE;
    return -1;
}

/* Small pieces make one record. What could not be written is asked to be once more, perhaps with more behind it: it may be. */
int shard_tls_write(struct shard_tls *tls, struct shard_rope *rope, struct shard_blocks *blocks) {
    char record[RECORD];
    if (tls->shaking) return tls->error ? tls->error : EAGAIN;
    while (rope->first) {
        const struct shard_block *first = rope->first;
        bool alone = first->size >= RECORD || !first->next;
        size_t size = alone ? (first->size < RECORD ? first->size : RECORD) : shard_rope_peek(rope, record, RECORD);
        ssize_t written = shard_tls_send(tls, alone ? first->data : record, size);
        if (written < 0) return errno;
        shard_rope_drop(rope, blocks, (size_t)written);
    }
    return 0;
}

bool shard_tls_has_more(const struct shard_tls *tls) {
    return tls->ssl && (tls->ended || (!tls->error && SSL_has_pending(tls->ssl)));
}

bool shard_tls_is_shaking(const struct shard_tls *tls) {
    return tls->shaking;
}

bool shard_tls_wants_to_write(const struct shard_tls *tls) {
    return tls->wants_to_write;
}

const char *shard_tls_error(const struct shard_tls *tls) {
    return tls->text;
}

#endif
