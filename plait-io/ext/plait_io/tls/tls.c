/* See tls.h. */
#include "tls.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

/* Bytes of one record: a shorter one that libssl has just read, and nothing behind it, was all that the socket had. */
enum { SHORT = TLS_RECORD / 2 };

/* SSL_ERROR_… of libssl, the same in each version. */
enum { WANT_READ = 2, WANT_WRITE = 3, ZERO_RETURN = 6 };

static const uint64_t NO_RENEGOTIATION = UINT64_C(1) << 30;

static struct {
    int (*read)(struct ssl_st *, void *, size_t, size_t *);
    int (*write)(struct ssl_st *, const void *, size_t, size_t *);
    int (*shutdown)(struct ssl_st *);
    int (*get_error)(const struct ssl_st *, int);
    int (*has_pending)(const struct ssl_st *);
    struct ssl_session_st *(*get1_session)(struct ssl_st *);
    int (*is_resumable)(const struct ssl_session_st *);
    int (*set_session)(struct ssl_st *, struct ssl_session_st *);
    void (*free_session)(struct ssl_session_st *);
    int (*up_ref)(struct ssl_st *);
    void (*free)(struct ssl_st *);
    void (*set_read_ahead)(struct ssl_st *, int);
    uint64_t (*set_options)(struct ssl_st *, uint64_t);
    void (*clear_error)(void);
    unsigned long (*peek_error)(void);
    const char *(*reason)(unsigned long);
} libssl;

static const char *reason;

/* The connection that has failed last, and why: libssl forgets that before the next call. One may report it late, behind data. */
static struct {
    const struct ssl_st *ssl;
    const char *reason;
} late;

static const struct {
    const char *name;
    void *place;
} FUNCTIONS[] = {
    {"SSL_read_ex", &libssl.read},   {"SSL_write_ex", &libssl.write},
    {"SSL_shutdown", &libssl.shutdown}, {"SSL_get_error", &libssl.get_error},
    {"SSL_has_pending", &libssl.has_pending}, {"SSL_up_ref", &libssl.up_ref},
    {"SSL_free", &libssl.free}, {"SSL_get1_session", &libssl.get1_session},
    {"SSL_SESSION_is_resumable", &libssl.is_resumable}, {"SSL_set_session", &libssl.set_session},
    {"SSL_SESSION_free", &libssl.free_session},
    {"SSL_set_read_ahead", &libssl.set_read_ahead}, {"SSL_set_options", &libssl.set_options},
    {"ERR_clear_error", &libssl.clear_error}, {"ERR_peek_error", &libssl.peek_error},
    {"ERR_reason_error_string", &libssl.reason},
};

/* The extension is loaded, and stays so: a symbol is looked for in it and in what it was linked with. */
bool tls_find(const char *extension) {
    static bool looked, found;
    if (looked) return found;

    void *handle = dlopen(extension, RTLD_LAZY | RTLD_NOLOAD);
    looked = true;
    found = handle != NULL;
    for (size_t index = 0; found && index < sizeof FUNCTIONS / sizeof *FUNCTIONS; index++) {
        void *symbol = dlsym(handle, FUNCTIONS[index].name);
        found = symbol != NULL;
        *(void **)FUNCTIONS[index].place = symbol;
    }
    return found;
}

void tls_begin(struct ssl_st *ssl) {
    libssl.set_read_ahead(ssl, 1);
    libssl.set_options(ssl, NO_RENEGOTIATION);
    if (late.ssl == ssl) late.ssl = NULL; /* of an earlier connection at this place in memory */
}

void tls_keep(struct ssl_st *ssl) {
    libssl.up_ref(ssl);
}

void tls_release(struct ssl_st *ssl) {
    libssl.free(ssl);
}

/* What a step that moved nothing means: an errno, or 0 for the end. */
static int tls_errno_of(struct ssl_st *ssl, int result, int failed) {
    int broken = errno, why = libssl.get_error(ssl, result);
    if (why == WANT_READ || why == WANT_WRITE) return EAGAIN;

    unsigned long code = libssl.peek_error();
    reason = code ? libssl.reason(code) : broken ? strerror(broken) : NULL;
    libssl.clear_error(); /* it is this thread's, and Ruby's sockets look at it too */
    return why == ZERO_RETURN ? 0 : failed;
}

static void tls_remember_reason(const struct ssl_st *ssl) {
    if (late.ssl != ssl) late.reason = reason;
    late.ssl = ssl;
    reason = late.reason;
}

ssize_t tls_receive(struct ssl_st *ssl, char *to, size_t room, bool *drained) {
    size_t done = 0, size;
    int error = EAGAIN, result = 1;
    bool empty = !libssl.has_pending(ssl); /* else what comes first may have been read long ago */
    while (done < room) {
        libssl.clear_error();
        errno = 0;
        result = libssl.read(ssl, to + done, room - done, &size);
        if (result != 1) break;
        done += size;
        if (empty && done == size && done < SHORT && !libssl.has_pending(ssl)) return *drained = true, (ssize_t)done;
    }
    if (result != 1) error = tls_errno_of(ssl, result, EPROTO);
    *drained = result != 1 && error == EAGAIN;
    if (result != 1 && error == EPROTO) tls_remember_reason(ssl);
    if (done > 0) return (ssize_t)done;

    errno = error;
    return error == 0 ? 0 : -1;
}

ssize_t tls_send(struct ssl_st *ssl, const char *data, size_t size) {
    size_t done = 0;
    libssl.clear_error();
    errno = 0;
    int result = libssl.write(ssl, data, size < TLS_RECORD ? size : TLS_RECORD, &done);
    if (result == 1) return (ssize_t)done;

    int error = tls_errno_of(ssl, result, EPIPE);
    errno = error == 0 ? EPIPE : error;
    return -1;
}

const char *tls_reason(void) {
    return reason ? reason : "the connection has broken off";
}

struct ssl_session_st *tls_session(struct ssl_st *ssl) {
    struct ssl_session_st *session = libssl.get1_session(ssl);
    if (!session || libssl.is_resumable(session)) return session;

    libssl.free_session(session);
    return NULL;
}

void tls_session_release(struct ssl_session_st *session) {
    libssl.free_session(session);
}

bool tls_resume(struct ssl_st *ssl, struct ssl_session_st *session) {
    libssl.clear_error();
    bool done = libssl.set_session(ssl, session) == 1;
    libssl.clear_error();
    return done;
}

void tls_finish(struct ssl_st *ssl) {
    libssl.clear_error();
    libssl.shutdown(ssl);
    libssl.clear_error();
}
