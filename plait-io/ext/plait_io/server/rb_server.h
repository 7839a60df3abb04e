/* Plait::Server::NativeCore: what its files share. */
#ifndef PLAIT_RB_SERVER_H
#define PLAIT_RB_SERVER_H

#include "../plait_io.h"
#include "server.h"
#include "server_system.h"

/* By how many fields a request has: the room in a Hash is copied, and collected, with it. */
enum rb_server_template { RB_SERVER_SMALL, RB_SERVER_MEDIUM, RB_SERVER_LARGE, RB_SERVER_TEMPLATES };

/* Seconds after which other fibers are let run, as Scheduler::SLICE. */
static const double RB_SERVER_SLICE = 0.004;

/* Where names of fields are remembered: fits the bits of a number. */
enum { RB_SERVER_PLACES = 64 };

/* How many hosts and peers of a listener are remembered. */
enum { RB_SERVER_HOSTS = 32, RB_SERVER_PEERS = 64 };

/* Frozen Strings of a Host in env; a `whole` of 0: it is none. */
struct rb_server_host {
    VALUE whole, name, port;
};

/* A peer, and its REMOTE_ADDR; 0: it is none. */
struct rb_server_peer {
    VALUE address;
    uint8_t family, bytes[16];
};

/* What the env of a request through one listener begins as. */
struct rb_server_listener {
    VALUE templates[RB_SERVER_TEMPLATES]; /* the same, with room for more and more keys */
    VALUE name, port;  /* where it listens: Strings */
    VALUE errors;      /* the $stderr that is in the templates, which mark it */
    const char *port_of_scheme;
    struct rb_server_host usual, hosts[RB_SERVER_HOSTS]; /* the one whose values are in the templates, and others */
    struct rb_server_peer peer, peers[RB_SERVER_PEERS];  /* likewise */
    unsigned other_hosts, other_peers; /* requests since the last one with the usual one */
};

struct native;

/* Of a large body what the peer has not taken yet. */
struct rb_server_remainder {
    struct server_remainder engine; /* the first */
    struct rb_server_remainder **place, *next; /* in the list of its server, which marks `body` */
    VALUE body; /* an Array of frozen Strings */
    long index; /* of the String that is next */
    size_t at;  /* bytes of it that are done with */
};

/* A connection's TLS. */
struct rb_server_secure {
    struct server_secure engine; /* the first */
    struct rb_server_secure **place, *next; /* in the list of its server, which marks `socket` */
    VALUE socket; /* an OpenSSL::SSL::SSLSocket */
};

/* A worker that runs the app: the struct lies on its stack. */
struct rb_server_worker {
    VALUE queue;  /* a Thread::Queue, at which the worker waits until it is called; nil, if it is one of `resting` then */
    bool called;
    struct rb_server_worker *next; /* of the waiting workers */
};

struct rb_server {
    struct server engine;
    VALUE self;
    VALUE app;
    VALUE reply;   /* Server::Reply: writes what is no Hash with an Array */
    VALUE hybrid;  /* Server::Hybrid: what runs on threads instead; nil: nothing does */
    VALUE spawner; /* #call: has another worker begin, soon */
    struct rb_server_worker *idle; /* workers that have nothing to do, the last one first */
    VALUE resting; /* an Array: these, if they are fibers that the loop can transfer to (`direct`) */
    VALUE called;  /* of these the one that is being transferred to; else nil */
    VALUE scheduler; /* of the workers, if they are fibers; else nil */
    struct native *native; /* the scheduler's, if it is ours; else NULL */
    VALUE folder;  /* of files for bodies: the engine has its bytes, which may not move */
    VALUE io;      /* the descriptor of the kernel's set, for schedulers; made when the first fiber waits */
    struct rb_server_listener listeners[SERVER_LISTENERS];
    struct rb_server_remainder *remainders;
    struct rb_server_secure *secures;
    struct exchange *performing; /* requests whose app runs */
    double yielded; /* when other fibers were last let run */
    double waited;  /* seconds that the request at hand has waited for its turn; below 0: it has not */
    long limit;    /* apps running at once */
    long queue;    /* complete requests that wait for a worker */
    long workers, running, parked;
    unsigned generation; /* of processes */
    unsigned served;     /* since interrupts were looked at */
    bool awake;    /* a worker was called and has not come yet */
    bool direct;   /* see `resting` */
    bool noted;    /* the loop will look whether to call a worker, or does so now */
    bool wanted;   /* since its look started: once more */
    bool polling;  /* a worker waits for all connections */
    bool stopped;
    bool inheriting; /* requests have a copy of some fiber storage */
    bool moving;   /* there are requests that `hybrid` would move */
};

/* One request, while its app runs: on the worker's stack. */
struct exchange {
    struct rb_server *server;
    struct exchange **place, *next; /* in the list of its server, while Thread#raise may reach its app */
    VALUE thread, fiber; /* which run it */
    int number;          /* with generation and serial: whose request it is */
    uint32_t generation;
    uint32_t serial;
    VALUE env;
    VALUE handle;        /* Server::Exchange */
    VALUE status, headers;
    VALUE body;          /* of the request: a String, or nil */
    VALUE input;         /* the IO of one that is in a file, or nil */
    int file;            /* its descriptor, or -1 */
    bool to_head;        /* the request's method is HEAD */
    bool to_connect;     /* it is CONNECT */
    bool persistent;     /* as the request would have it */
    bool close;          /* as the answer would have it */
    bool answered;       /* all of the answer was sent, or is in a buffer */
    uint8_t minor;
};

/* Monotonic seconds, to some milliseconds: asked several times a request. */
static inline double plait_server_now(void) {
    struct timespec time;
    clock_gettime(SERVER_CLOCK, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

extern const rb_data_type_t plait_server_type;

static inline struct rb_server *plait_server_of(VALUE self) {
    return rb_check_typeddata(self, &plait_server_type);
}

/* One of the options that a server was made with; what they are for its engine, as far as they are for that. */
VALUE plait_server_setting(VALUE settings, const char *name);
struct server_settings plait_server_settings(VALUE settings, VALUE folder);

/* NULL when it is gone: closed, or no longer ours. */
static inline struct server_connection *plait_server_connection(const struct exchange *exchange) {
    if (exchange->server->generation != plait_generation()) return NULL; /* a fork: it is its parent's */

    const struct server *engine = &exchange->server->engine;
    struct server_connection *connection = server_find(engine, exchange->number, exchange->generation);
    return connection && connection->requests == exchange->serial ? connection : NULL;
}

/* Receives what has come on one that is ready; if that completes a request, runs it, holds it, or refuses it. */
void plait_server_serve(struct rb_server *server, struct server_connection *connection);

/*
 * Calls the app, sends what it returns, and reports the end to callbacks. Returns the state to go on with
 * (rb_jump_tag) when that was ended by something that is no error of the app's; else 0.
 */
int plait_server_perform(struct exchange *exchange);

/* The same, here or on a thread, as `hybrid` has it. */
int plait_server_run_hybrid(struct exchange *exchange);

/* No worker will answer it. */
void plait_server_abandon(struct exchange *exchange);

/* Whether what was raised is an app's; if not (a kill, a signal, a cancellation), it goes on its way. */
bool plait_server_is_error(VALUE error);

/*
 * Has another worker take over, unless one does anyhow; `now`: without that check. Returns the state to go on with
 * (rb_jump_tag), or 0.
 */
int plait_server_call_worker(struct rb_server *server);
int plait_server_call_now(struct rb_server *server);

/* The current worker waits until a connection is ready, be it a new one. */
void plait_server_poll(struct rb_server *server);

/* Takes note of connections that are ready by now, without waiting. */
void plait_server_look(struct rb_server *server);

/* Lets workers go on that run the app. Clients that connect meanwhile are accepted: the kernel's queue must not overflow. */
void plait_server_nap(struct rb_server *server);

/* The current worker has nothing to do, until it is called. */
void plait_server_rest(struct rb_server *server, struct rb_server_worker *worker);

/* There is one; if `direct`, on the loop. */
void plait_server_wake_one(struct rb_server *server);

void plait_server_init_rest(void);
void plait_server_init_request(void);
void plait_server_init_errors(void);
void plait_server_init_perform(void);
void plait_server_define_perform(VALUE core);
void plait_server_define_calls(VALUE core);
void plait_server_define_work(VALUE core);
void plait_server_define_hybrid(VALUE server_class);
void plait_server_init_names(void);
void plait_server_init_env(void);
void plait_server_define_env(VALUE server_class);
void plait_server_define_exchange(VALUE server_class);
void plait_server_init_exchange(VALUE native);
void plait_server_init_respond(void);
void plait_server_init_parts(void);

/*
 * The key of a field in env; nil: it gets none. Two names with the same key have the same place; RB_SERVER_PLACES: it has
 * none, and may have been there before.
 */
VALUE plait_server_key(const char *name, size_t size, unsigned *place);

/* Makes the templates. A protocol of nil is HTTP/1.1. */
void plait_server_listener(struct rb_server_listener *listener, VALUE scheme, VALUE protocol);

/*
 * Sets env and all that follows from the request. Calls no method: another thread could run meanwhile, and read into the
 * buffer that the request lies in.
 */
void plait_server_env(struct exchange *exchange, const struct server_connection *connection,
                      const struct server_request *request);

/* The rest of it, that calls methods. */
void plait_server_input(struct exchange *exchange);

/* Sends what the app has returned. */
void plait_server_respond(struct exchange *exchange, VALUE response);

/* Sends what a body yields, behind the head; a length of -1: by chunks, as the head says. */
void plait_server_send_parts(struct exchange *exchange, struct iovec head, long length, VALUE body);

/* What is still to be sent of a body, an Array of Strings: the app may change them. */
struct server_remainder *plait_server_remainder(struct rb_server *server, VALUE body);

/* Of a connection by TLS, an OpenSSL::SSL::SSLSocket after its handshake; raises where that can't be used. */
struct server_secure *plait_server_secure(struct rb_server *server, VALUE socket);
VALUE plait_server_socket_of(const struct server_secure *secure);

VALUE plait_server_handle(const struct exchange *exchange);

#endif
