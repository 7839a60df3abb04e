/*
 * The connections of an HTTP/1.1 server: a set of the kernel's that each is registered in once, edge-triggered; what has come
 * on them, parsed; what they have not taken yet. A connection between two requests is one struct of 88 bytes; only one in
 * the middle of something has more memory.
 *
 * One thread at a time uses it; only `server_sleep` and `server_wake` may be called while others run.
 */
#ifndef PLAIT_SERVER_H
#define PLAIT_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../http1/http1.h"
#include "server_connection.h"
#include "server_kernel.h"

/* Events taken from the kernel at once: so many are served before it is asked again which others are ready. */
enum { SERVER_BATCH = 64 };

enum { SERVER_LISTENERS = 16 };

/* Connections in a chunk of the table. */
enum { SERVER_CHUNK = 512 };

/* Memory of bodies that have gone to their files, kept for the next ones. */
enum { SERVER_SPARES = 16 };

struct server_settings {
    struct http1_limits limits;
    double seconds[SERVER_QUEUES]; /* INFINITY: none */
    double waiting;                /* seconds that a complete request may wait for a worker; INFINITY: without an end */
    size_t spool;                  /* bytes of a body that are kept in memory; larger ones go to a file */
    const char *folder;            /* of the files for bodies */
    uint32_t connections;          /* at most; others wait in the kernel */
    uint32_t descriptors;          /* likewise, of connections and of what stands in front of some, see server_hold_descriptors */
    uint32_t requests;             /* on one connection; then it is closed */
};

struct server_counts {
    uint64_t accepted, closed, requests, malformed, expired, refused, exhausted;
};

struct server_spooler;

struct server {
    struct server_kernel kernel;
    int chunks;
    struct server_connection **table; /* chunks of connections; one never moves */
    uint32_t count;                   /* connections that are open */
    uint32_t idle;                    /* of them between two requests */
    uint32_t elsewhere;               /* descriptors of what stands in front of some */
    struct server_list ready;
    struct server_list waiting; /* with a complete request, for a worker */
    uint32_t held;              /* how many wait */
    struct server_list queues[SERVER_QUEUES];
    struct server_settings settings;
    struct server_counts counts;
    int listeners[SERVER_LISTENERS];
    int listening; /* how many; 0: it accepts no more */
    unsigned forks; /* of this process, when it was opened */
    bool paused;   /* the listeners are not looked at: there is no room */
    bool retiring; /* each answer tells its client that it is the connection's last one */
    bool draining; /* a connection without a request is closed */
    struct http1_head head;     /* of the message in `buffer` */
    struct http1_header *table_of_head;
    struct server_body spares[SERVER_SPARES]; /* with nothing in them but memory */
    int spare;                /* how many */
    struct server_spooler *spooler; /* NULL: there was nothing to write yet */
    size_t filled; /* bytes in `buffer` */
    char buffer[SERVER_READ];
};

/* A complete request. What it points at is valid until the next call for the server. */
struct server_request {
    const struct http1_head *head;
    const char *data; /* of the head: its slices count from here */
    const char *body;
    size_t body_size;
    size_t size; /* bytes of it from `data` on: the head, and the body if it lies behind it */
    int file;    /* holds the body instead; after server_begin it is the caller's; -1: none */
};

enum server_result {
    SERVER_REQUEST, /* a complete request */
    SERVER_WAIT,    /* nothing complete yet; it waits for more */
    SERVER_SPOOL,   /* what has come of a body has to go to its file: see server_spool_offload */
    SERVER_GONE     /* it is closed */
};

/* A function that returns an int returns 0 or an errno, if its comment says nothing else. Times are seconds on any clock. */

int server_open(struct server *server, const struct server_settings *settings);

/* Closes all connections; the listeners are others'. */
void server_close(struct server *server);

size_t server_bytes(const struct server *server);

/* Accepts from a listening socket that does not block; SERVER_NONE: the caller accepts, and brings the connections. */
int server_listen(struct server *server, int listener);

/*
 * Takes a connection that was accepted elsewhere; NULL without memory, and then it is not taken. `secure`: the handshake of its TLS
 * is over; NULL: it has none.
 */
struct server_connection *server_bring(struct server *server, int number, int index, struct server_secure *secure, double now);

/* A caller that brings connections reports how many descriptors more, or fewer, it has open. */
void server_hold_descriptors(struct server *server, int count);

/* Whether so many further descriptors leave the app its own share. */
bool server_has_room(const struct server *server, uint32_t descriptors);

/* Accepts no more. */
void server_deafen(struct server *server);

/* Lets the listeners be, or looks at them again. */
void server_pause(struct server *server, bool paused);

/* Fills SERVER_BATCH events; returns how many, or -1. Milliseconds below 0: without an end. */
int server_sleep(const struct server *server, server_event *events, int milliseconds);

/* Takes note of events, accepts. Returns whether a thread has called `server_wake`. */
bool server_take(struct server *server, const server_event *events, int count, double now);

/* Ends a sleep; if there is none, the next one. Safe from any thread and from a signal handler. */
void server_wake(const struct server *server);

/* The next one that is ready, or NULL; it is then the caller's, until a result or server_finish gives it back. */
struct server_connection *server_next(struct server *server);

/* Reads and parses; with SERVER_REQUEST it stays the caller's. Answers what is malformed, by itself. */
int server_receive(struct server *server, struct server_connection *connection, struct server_request *request, double now);

/*
 * After SERVER_SPOOL: has a thread write to the file of the body, which may take as long as a slow disk has it. The connection
 * has no owner meanwhile; once it is written server_take finds it ready. With an errno nothing was done: there is no thread for
 * it, or no need of one.
 */
int server_spool_offload(struct server *server, struct server_connection *connection);

/*
 * The same here and now; then server_give_back. Of the server it only reads the settings, and no other thread touches the
 * connection, so that others may call any of this meanwhile.
 */
void server_spool(const struct server *server, struct server_connection *connection);

/* It has no owner again, and goes on in its turn. */
void server_give_back(struct server *server, struct server_connection *connection);

/* The request's bytes have been copied: what is behind it is kept for later. ENOMEM: it can't be. */
int server_begin(struct server *server, struct server_connection *connection, const struct server_request *request);

/* Instead of server_begin: there is no worker for it. Keeps all of it for server_next_waiting. */
int server_hold(struct server *server, struct server_connection *connection, const struct server_request *request, double now);

/* The connection that waits longest, of all whose peer is still there. */
struct server_connection *server_next_waiting(struct server *server);

/*
 * Sends, without waiting, what waits and then these; what the peer doesn't take is kept. Returns the bytes kept, or -errno:
 * then it is of no more use.
 */
ssize_t server_send(struct server_connection *connection, struct iovec *parts, int count);

/*
 * Behind what was sent: this, as the peer takes it; it is released at its end, or that of the connection. Instead of
 * server_finish then server_leave_to_peer. Returns 0 or an errno.
 */
int server_supply(struct server_connection *connection, struct server_remainder *remainder);
void server_leave_to_peer(struct server *server, struct server_connection *connection, bool persistent, double now);

/* The answer is complete: the connection waits for the next request, or is closed. */
void server_finish(struct server *server, struct server_connection *connection, bool persistent, double now);

enum { SERVER_DATE = 29 };

/* The time of day as it stands in a Date field, SERVER_DATE bytes. */
const char *server_date(void);

/* The reason phrase of a status; "Unknown" for one without. */
const char *server_reason(int status);

/* Answers with a status and a line of text, and closes. `fields`: further ones, each with its CRLF. */
void server_refuse(struct server *server, struct server_connection *connection, int status, const char *text,
                   const char *fields, double now);

/* Closes it now. */
void server_drop(struct server *server, struct server_connection *connection);

/* It is no longer ours; its descriptor stays open, and is returned. The bytes received are in its intake, its TLS in `secure`. */
int server_detach(struct server *server, struct server_connection *connection);

/* Frees what server_detach has left. */
void server_forget(struct server_connection *connection);

/* Closes connections that took too long, or waited too long for a worker; one with a request gets an error answer before. */
void server_sweep(struct server *server, double now);

/* Connections in the middle of a request or of its answer; `busy`: how many of them a worker has. */
uint32_t server_unfinished(const struct server *server, uint32_t *busy);

/*
 * Accepts clients that have connected already, and no others. Closes idle connections, and each of the others after
 * its request.
 */
void server_drain(struct server *server, double now);

static inline struct server_connection *server_at(const struct server *server, int number) {
    return &server->table[number / SERVER_CHUNK][number % SERVER_CHUNK];
}

/* By number and generation; NULL when it is gone. */
static inline struct server_connection *server_find(const struct server *server, int number, uint32_t generation) {
    if (number < 0 || number / SERVER_CHUNK >= server->chunks || !server->table[number / SERVER_CHUNK]) return NULL;

    struct server_connection *connection = server_at(server, number);
    return connection->number == number && connection->generation == generation ? connection : NULL;
}

#endif
