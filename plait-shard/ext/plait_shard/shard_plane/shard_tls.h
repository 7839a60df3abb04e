/*
 * TLS, on libssl: of clients to the shard, and of the shard to nodes. A connection without it has no struct shard_tls, and takes
 * the way past all of this by one comparison. Where the extension was built without libssl nothing has one.
 */
#ifndef PLAIT_SHARD_TLS_H
#define PLAIT_SHARD_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "../shard_data/shard_rope.h"

enum { SHARD_TLS_TEXT = 256 };

struct shard_tls_context; /* a certificate of its own and the authorities that it trusts; of all threads */
struct shard_tls;         /* of a connection */
struct shard_worker;

enum shard_tls_state { SHARD_TLS_DONE, SHARD_TLS_AGAIN, SHARD_TLS_FAILED };

/* Files; NULL or "": none. */
struct shard_tls_files {
    const char *certificate; /* with its chain */
    const char *key;
    const char *authority;   /* the authorities to trust; of a client, none: the system's; of a server, none: it asks for no certificate */
};

/* NULL: why is in `error`, where it begins with the option that is wrong, or with nothing when there is no libssl. */
struct shard_tls_context *shard_tls_context_new(bool serves, const struct shard_tls_files *files, char error[SHARD_TLS_TEXT]);
void shard_tls_context_free(struct shard_tls_context *context);

/* Of a client that is now to shake hands: `owner` is called when bytes are here that epoll can't report. */
struct shard_tls *shard_tls_accept(struct shard_worker *worker, struct shard_tls_context *context, int socket, void *owner);

/* To a node, whose certificate has to be for that host. `session`: where the last one with it is kept, to be gone on with. */
struct shard_tls *shard_tls_connect(struct shard_worker *worker, struct shard_tls_context *context, int socket, void *owner,
                                    const char *host, void **session);

/* Says goodbye where that can be done at once. */
void shard_tls_free(struct shard_worker *worker, struct shard_tls *tls);
void shard_tls_forget_session(void *session);

/* Nothing more will be written. */
void shard_tls_finish(struct shard_tls *tls);

enum shard_tls_state shard_tls_shake(struct shard_tls *tls);
bool shard_tls_is_shaking(const struct shard_tls *tls);

/* Why it has failed. */
const char *shard_tls_error(const struct shard_tls *tls);

/* It can't go on before the socket takes something. */
bool shard_tls_wants_to_write(const struct shard_tls *tls);

/* As recv(2) and send(2). */
ssize_t shard_tls_receive(struct shard_worker *worker, struct shard_tls *tls, char *data, size_t room);
ssize_t shard_tls_send(struct shard_tls *tls, const char *data, size_t size);

/* As shard_rope_write. */
int shard_tls_write(struct shard_tls *tls, struct shard_rope *rope, struct shard_blocks *blocks);

/* Bytes have come that have not been received yet, or the end. */
bool shard_tls_has_more(const struct shard_tls *tls);

/* Its owner is called in the next turn, if it has more. */
void shard_tls_tell(struct shard_worker *worker, struct shard_tls *tls);

/* Each turn: calls `hear` for each owner in the list. */
void shard_tls_turn(struct shard_worker *worker, void (*hear)(struct shard_worker *worker, void *owner));

/* Closes clients that take too long to shake hands. Returns whether there are others. */
bool shard_tls_check(struct shard_worker *worker);

static inline ssize_t shard_receive(struct shard_worker *worker, int socket, struct shard_tls *tls, char *data, size_t room) {
    return __builtin_expect(tls != NULL, 0) ? shard_tls_receive(worker, tls, data, room) : recv(socket, data, room, 0);
}

static inline int shard_write(struct shard_tls *tls, struct shard_rope *rope, struct shard_blocks *blocks, int socket) {
    return __builtin_expect(tls != NULL, 0) ? shard_tls_write(tls, rope, blocks) : shard_rope_write(rope, blocks, socket);
}

#endif
