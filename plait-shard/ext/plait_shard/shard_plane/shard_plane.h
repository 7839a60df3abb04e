/* Inside of the data plane: the state of a thread, its clients, requests and connections. */
#ifndef PLAIT_SHARD_PLANE_H
#define PLAIT_SHARD_PLANE_H

#include <pthread.h>
#include <stdatomic.h>

#include "../shard_data/shard_rope.h"
#include "shard_settings.h"
#include "../shard_data/shard_table.h"

enum {
    SHARD_READ = 256 * 1024,  /* of the read buffer of a thread */
    SHARD_READ_LEAST = 16384, /* with less left of it, the thread starts at its beginning again */
    SHARD_HIGH = 256 * 1024,  /* with more bytes than this on their way out, nothing more is read that would add to them */
    SHARD_IN_FLIGHT = 10000,  /* requests of a client */
    SHARD_CHUNK = 64 * 1024,  /* what is larger is forwarded while it arrives, unless the settings say otherwise */
    SHARD_BRIEF = 117,        /* bytes; a request is three lines of the processor's cache then */
    SHARD_MANY = 512,         /* keys of a command that is worth connections of its own */
    SHARD_OWN_LINKS = 64,     /* connections of their own to a node */
    SHARD_MOST = 64 << 20     /* bytes for a node that does not take them, until it is asked for nothing more */
};

static const uint32_t SHARD_ALL = UINT32_MAX;

/* What an event of epoll is about; the first member of each. */
enum shard_kind { SHARD_WAKEUP, SHARD_LISTENER, SHARD_CLIENT, SHARD_LINK };

/* ---- requests ---- */

struct shard_part {
    struct shard_rope got;   /* of its reply, what is not on its way yet */
    struct shard_link *link; /* that is for it alone and still answers, or NULL */
    uint64_t values;         /* SHARD_VALUES: that its array has to have */
    bool whole;
    bool headed;             /* the header of its array was looked at */
    bool fits;               /* that is as it has to be */
};

/* What a cursor of SCAN says beside the node's own: that one, times the base, plus the first number of this kind, plus the master's. */
struct shard_scan_place {
    uint64_t base;
    uint64_t first;
    uint32_t master; /* its place among the masters */
    bool final;      /* none comes behind it */
};

enum { SHARD_MASTERS = 1024 /* more than there may be where cursors have to tell of them */ };

/* Of a request that goes to several nodes, or whose reply is changed. */
struct shard_merge {
    uint8_t kind;            /* enum shard_merging */
    bool gathers;            /* how many parts there will be is not known; the replies of a node are one part after another */
    bool failed;             /* a part will never be whole */
    bool spoilt;             /* a part is not an array */
    bool started;            /* what is here is forwarded in its order */
    uint32_t waiting;        /* parts without a whole reply */
    uint32_t count;          /* of parts */
    uint32_t headed;         /* parts whose header is here */
    uint32_t keys;           /* SHARD_VALUES: how many */
    size_t room;             /* bytes that all of this takes */
    uint16_t *order;         /* SHARD_VALUES: for each key the number of its part */
    uint32_t at;             /* the key, or the part, that is forwarded */
    uint64_t left;           /* bytes of its value that are still to be forwarded */
    struct shard_scan_place scan; /* SHARD_CURSOR: which master */
    struct shard_rope error; /* the first that has happened */
    struct shard_part parts[];
};

/* A command of a client that is not answered whole. */
struct shard_request {
    struct shard_request *next; /* of its client, in order */
    struct shard_client *client;
    struct shard_merge *merge;  /* or NULL */
    struct shard_rope reply;    /* what has come of it before it was its turn */
    const struct shard_command *command; /* or NULL */
    double since;
    bool started;               /* the client has a part of it already */
    bool done;                  /* the reply is whole */
    uint8_t brief_size;
    char brief[SHARD_BRIEF];    /* what comes before `reply` in it: one that is short needs no block of memory */
};

/* ---- clients ---- */

struct shard_pool;
struct shard_pin;
struct shard_tls;
struct shard_transaction;

struct shard_client {
    enum shard_kind kind;
    int socket;                          /* -1: closed, but replies for it are still to come */
    struct shard_tls *tls;               /* or NULL: it speaks plainly */
    uint32_t events;                     /* that epoll looks for */
    uint32_t window;                     /* of the thread's, in which it was last heard */
    double held_since;                   /* when its replies began to wait for the replies behind them; 0: they don't */
    uint32_t in_flight;                  /* requests without a whole reply, or behind such a one */
    struct shard_request *first;         /* oldest */
    struct shard_request *last;
    struct shard_rope out;
    size_t behind;                       /* bytes of replies that are here before their turn */
    size_t merged;                       /* that its requests need for parts of their replies, beside these */
    size_t held;                         /* bytes of it that worker->held has in it */
    struct shard_buffer *in;             /* NULL: no part of a command is waited for */
    size_t in_at;                        /* where the command that is scanned begins there */
    struct resp_span *spans;             /* of a command that is not here as a whole, or NULL */
    struct resp_command command;
    struct shard_link *full;             /* paused until this one is less full */
    struct shard_link *stream;           /* what comes is passed on to it, or NULL */
    struct shard_request *gather;        /* of an MSET that goes on its way while it arrives, or NULL */
    uint64_t left;                       /* bytes to come of an argument that is passed on, or dropped */
    struct shard_pin *pin;               /* a connection to a node that is its own, or NULL */
    struct shard_transaction *transaction; /* behind MULTI, or NULL */
    struct shard_pool *pool;             /* whose connections to nodes it uses */
    struct shard_pool *former;           /* until the nodes have taken its password, or NULL */
    uint64_t id;
    double born;
    double wrote;                        /* when it has last taken bytes */
    char *name;                          /* of CLIENT SETNAME, or NULL */
    struct shard_client *before, *after; /* in the list of all */
    struct shard_client *next_touched;
    struct shard_client *next_listed;
    struct shard_client *next_leaving;
    double leaves_at;                    /* at the latest, once all is written */
    uint32_t version;                    /* of the topology by which its requests were sent */
    struct shard_retry *retries;         /* of them that were redirected and are not answered, oldest first */
    struct shard_retry **retries_end;
    struct shard_client *next_retrying;
    uint32_t awaits;                     /* a connection of its own to this node, from 1 on; SHARD_ALL: to each; 0: none */
    bool scanning;                       /* the command has been started */
    bool touched;                        /* in the list of clients with something to write */
    bool paused;                         /* it is not read from */
    bool retrying;                       /* in the list of clients with retries */
    bool listed;                         /* in a list of clients that go on when something has changed */
    bool alone;                          /* nothing is read before all is answered */
    bool again;                          /* the command was not taken: it is to be read again when all before it is answered */
    bool ending;                         /* nothing more is read; it is closed when all is written */
    bool finished;                       /* it has sent its last byte */
    bool cut;                            /* of a reply it has only a part, and gets no more */
    bool leaving;                        /* in the list of clients that have all their replies, and are to close now */
    bool buried;                         /* in the list of clients to be freed */
    bool locked;                         /* it has to give the password first */
    bool greets;                         /* its password came with HELLO */
};

/* ---- nodes ---- */

enum shard_link_state { SHARD_DOWN, SHARD_CONNECTING, SHARD_GREETING, SHARD_UP };

/* What waits for a reply: a request, or a probe of the shard. */
struct shard_waiter {
    struct shard_request *request; /* NULL: we do, to see whether the node is well */
    uint32_t part;
    uint32_t skip;                 /* replies that come before its own, and go to no client */
    uint32_t skipped;              /* the number of them that came so far */
    bool asks;                     /* its command is behind ASKING */
    struct shard_retry *retry;     /* NULL: it was not asked before */
    uint64_t at;                   /* where its command begins among the bytes for the node */
};

/* A connection to a node. */
struct shard_link {
    enum shard_kind kind;
    struct shard_link *next;      /* in the list of links for streams */
    struct shard_link *next_touched;
    struct shard_link *next_timed;
    struct shard_client *sender;  /* the client that has not sent all of a command yet, or NULL */
    struct shard_pin *pin;        /* what it is a part of, or NULL */
    struct shard_pool *pool;
    uint32_t fences;              /* answers to the node's fence that are to come … */
    uint32_t greetings;           /* … and then to the pool's greeting, before anything else is sent */
    char *barred;                 /* why the fence has last refused a connection of this pool to the node, or NULL */
    double heard;                 /* when it last did; of one for a command: when its client last sent, or it began to rest */
    bool own;                     /* it is for one command at a time */
    bool taken;                   /* by one */
    bool resting;                 /* it is not read from: enough of it is here */
    bool touched;                 /* in the list of links with something to write, or with another event */
    bool timed;                   /* in the list of links that may take too long */
    bool suspect;                 /* it was silent: it gets no request before it has answered a probe */
    bool again;                   /* bytes that were not sent are sent again: once */
    bool answered;                /* something has been, since it was connected */
    bool unfenced;                /* the node was too busy for its fence: it is closed behind the command that ends a script */
    enum shard_link_state state;
    int socket;
    struct shard_tls *tls;        /* or NULL: it speaks plainly */
    uint32_t events;
    const struct shard_node *node;
    struct shard_rope out;
    size_t weighed;               /* bytes of it that worker->queued has in it */
    struct shard_client *blocked; /* clients that are paused until it is less full */
    uint64_t sent;                /* bytes that were written to it */
    struct shard_waiter *waiters; /* a ring */
    uint32_t room;                /* a power of 2 */
    uint32_t head;                /* the oldest; counts on */
    uint32_t tail;
    struct resp_reply scan;       /* of the oldest one's reply */
    double since;                 /* when it last made progress */
    double queued_since;          /* when the kernel was asked how much it holds for the node */
    int queued;                   /* bytes it held then */
    double retry_at;              /* before then it is not tried again */
    struct shard_rope kept;       /* what was sent and is not answered, where it may have to be sent elsewhere */
    uint64_t kept_to;             /* among all bytes for the node */
    struct shard_rope line;       /* what has come of an error, until it is known whether it is one for the client */
    bool spilt;                   /* it is */
    uint8_t turn;                 /* enum shard_turn: of the last reply that went to no client */
    uint32_t turn_place;
    uint32_t turn_node;
};

/* Connections to the nodes that begin in the same way: as a user, with a version of RESP. */
struct shard_pool {
    struct shard_pool *next;
    struct shard_worker *worker;
    struct shard_link *links;  /* one for each node */
    char *user;                /* NULL: the shard's own */
    char *password;
    char *greeting;            /* commands that each connection begins with */
    size_t greeting_size;
    uint32_t greetings;        /* commands of it */
    uint32_t users;            /* clients, and further connections */
    bool resp3;
};

/* ---- threads ---- */

struct shard_metrics;
struct shard_topology;
struct shard_retry;
struct shard_hot;

enum {
    FIGURE_CLIENTS, FIGURE_ACCEPTED, FIGURE_COMMANDS, FIGURE_ERRORS, FIGURE_IN, FIGURE_OUT, FIGURE_FAILURES, FIGURE_CUT,
    FIGURE_REDIRECTIONS, SHARD_FIGURES
};

struct shard_worker {
    struct shard *shard;
    void (*close_client)(struct shard_worker *worker, struct shard_client *client); /* shard_client_close */
    pthread_t thread;
    bool started;
    enum shard_kind wakeup_kind;
    enum shard_kind listener_kind;
    int epoll;
    int wakeup;
    int listener;
    atomic_bool deaf;                /* for good */
    double deaf_until;               /* the listener is not looked at before then; 0: it is */
    double now;                      /* at the beginning of the turn */
    unsigned long freed;             /* large pieces of memory, when that was last looked at */
    size_t bytes_freed;              /* when memory was last given back to the system */
    double trim_at;                  /* when memory is given back to the system; 0: there is none to give */
    char *buffer;                    /* SHARD_READ bytes */
    size_t used;                     /* of them, in this turn */
    struct resp_span *spans;         /* of commands that are here as a whole */
    uint32_t span_room;
    uint32_t *nodes;                 /* of the keys of a command */
    uint32_t node_room;
    uint32_t *counts;                /* for each node: keys of a command */
    uint16_t *numbers;               /* and of the part of its reply */
    struct shard_link **asked;       /* and on which connection it is asked */
    struct shard_pool pool;          /* of most clients: RESP2, as the shard itself */
    struct shard_link *links;        /* its */
    struct shard_link *touched_links; /* of all pools, and the links for streams; pins have their own list */
    struct shard_link *timed_links;  /* of all pools */
    double links_at;                 /* when these are looked at again */
    bool deserted;                   /* there are pools without users */
    struct shard_link *streams;      /* connections for one command at a time */
    uint32_t *taken;                 /* of them for each node */
    struct shard_client *leaving;
    struct shard_tls *telling;       /* see shard_tls_turn */
    struct shard_tls *shaking;       /* of clients that shake hands, the newest first */
    struct shard_tls *shaking_longest;
    void **sessions;                 /* of TLS, one for each node, or NULL */
    uint64_t random;
    struct shard_pin *pins;          /* connections for one client at a time */
    struct shard_pin *idle_pins;     /* the pins without a client */
    struct shard_pin *touched_pins;  /* the pins with something to write, in the order of their clients' commands */
    struct shard_pin *last_touched_pin;
    double pins_at;                  /* when they are looked at again */
    struct shard_metrics *metrics;
    struct shard_hot *hot;
    uint32_t until_look;             /* commands until one is looked at, see shard_hot.h */
    double window_began;             /* a short while, in which … */
    uint32_t window;                 /* … its number … */
    uint32_t heard;                  /* … so many clients were heard */
    uint64_t commands_before;        /* it began */
    uint64_t bytes_before;           /* likewise, from and to clients */
    uint32_t crowd;                  /* clients in the one before it, if there was much to do … */
    bool deep;                       /* … and each of them sent many commands */
    struct shard_client *clients;
    struct shard_client *touched;
    struct shard_client *ready;      /* paused clients that may be able to go on */
    struct shard_client *last_ready; /* the last one of them, if there is one */
    struct shard_client *awaiting;   /* clients that are paused until each has a connection of its own */
    double awaiting_at;              /* when all of them are looked at again */
    size_t held;                     /* bytes that are here for clients, or of them */
    size_t queued;                   /* bytes for nodes */
    struct shard_client *buried;
    struct shard_request *requests;  /* free … */
    uint32_t spare_requests;         /* … so many */
    struct shard_blocks blocks;
    struct shard_topology *topology; /* the nodes and their places; never NULL while the thread runs */
    uint32_t version;                /* its */
    bool retiring;                   /* connections to nodes that have left are to be closed yet */
    struct shard_client *retrying;   /* clients with requests that were redirected */
    bool retries_due;                /* some of them are to be looked at before the thread sleeps */
    double moving_until;             /* slots have just been on the move: nothing large is sent on that could not be sent again */
    uint64_t *grouped;               /* keys of a command by slot, see shard_slots.c */
    size_t grouped_room;
    _Atomic uint64_t figures[SHARD_FIGURES]; /* in the order of struct shard_figures */
};

struct shard {
    struct shard_settings settings;
    pthread_mutex_t lock;            /* of the references to topologies, and of the one that follows */
    struct shard_topology *topology; /* the newest */
    _Atomic uint32_t version;        /* its */
    _Atomic uint32_t redis;          /* the version that the proxy reports to clients: 0x070400 for 7.4.0 */
    atomic_bool doubted;             /* Ruby has got a notice that the topology may be out of date */
    int notice;                      /* by this */
    uint32_t threads;
    atomic_bool stopping;
    atomic_int draining;             /* see shard_drain.h */
    struct shard_worker workers[];
};

/* Good enough to spread. */
static inline uint32_t shard_random(struct shard_worker *worker) {
    worker->random = worker->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(worker->random >> 33);
}

/* Only the thread itself writes it: no locked instruction is needed. */
static inline void shard_add(struct shard_worker *worker, int figure, uint64_t number) {
    uint64_t value = atomic_load_explicit(&worker->figures[figure], memory_order_relaxed);
    atomic_store_explicit(&worker->figures[figure], value + number, memory_order_relaxed);
}

/*
 * Closes a client: replies for it are dropped as they come. By a pointer, since that undoes what all files below shard_client.c
 * have started for it, and they find that it has to be closed.
 */
static inline void shard_close_client(struct shard_worker *worker, struct shard_client *client) {
    worker->close_client(worker, client);
}

/* Whether a request waits for a reply. */
static inline bool shard_link_is_busy(const struct shard_link *link) {
    return link->head != link->tail;
}

static inline struct shard_waiter *shard_link_waiter(const struct shard_link *link, uint32_t place) {
    return &link->waiters[place & (link->room - 1)];
}

static inline void shard_pool_leave(struct shard_pool *pool) {
    if (--pool->users == 0) pool->worker->deserted = true;
}

/* ---- commands ---- */

/* Bytes of a buffer. */
struct shard_bytes {
    const char *data;
    size_t size;
    struct shard_buffer *owner; /* NULL: they lie in the read buffer */
};

/* A command of a client, whole. */
struct shard_call {
    struct shard_worker *worker;
    struct shard_client *client;
    const struct shard_command *command;
    const char *data;
    size_t size;
    struct shard_buffer *owner; /* of the data; NULL: it lies in the read buffer */
    const struct resp_span *words;
    uint32_t count;
    bool alone;                 /* on connections of its own */
    uint32_t place;             /* of its keys, when they were looked for: their slot */
};

/* The connection to a node that its client shares with others. */
static inline struct shard_link *shard_link_to(const struct shard_call *call, uint32_t node) {
    return &call->client->pool->links[node];
}

#endif
