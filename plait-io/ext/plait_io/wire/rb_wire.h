/*
 * Plait::HTTP::NativeWire: one HTTP/1.1 connection of a client. It sends a request and receives the answer to it; of pools,
 * redirects and retries it knows nothing. Its pure twin is plait-http/lib/plait/http/pure_wire.rb.
 *
 *     rb_wire.c           the class: what Ruby calls, and the guard around each exchange
 *     rb_wire_send.c      requests
 *     rb_wire_receive.c   answers: bytes and heads
 *     rb_wire_body.c      their bodies
 *     rb_wire_move.c      bytes, plain or by TLS
 *     rb_wire_wait.c      waiting: on a scheduler or on a thread, within the deadlines
 *     rb_wire_launch.c    requests whose answers nobody waits for by himself: a volley does, see rb_volley.h
 *
 * All of it runs with the GVL, in the main ractor. What is received goes through one static buffer for all wires: from the
 * system call that fills it until its bytes are copied out nothing may switch to another fiber or thread.
 */
#ifndef PLAIT_RB_WIRE_H
#define PLAIT_RB_WIRE_H

#include <ruby.h>
#include <sys/types.h>

#include "../http1/http1.h"
#include "../plait_io.h"
#include "rb_response.h"

enum wire_state {
    WIRE_IDLE,      /* between two exchanges */
    WIRE_EXPECTING, /* a head is sent, and its body shall follow */
    WIRE_STREAMING, /* the body of an answer is being read, piece by piece */
    WIRE_LAUNCHED,  /* a request is on its way, and nobody waits for the answer */
    WIRE_TUNNEL,    /* what follows is another protocol */
    WIRE_DETACHED,  /* the connection is somebody else's now */
    WIRE_CLOSED
};

/* A further bit of the kind of a request: it logs in the connection, which has no other request after it. */
enum { WIRE_TO_LOG_IN = 8 };

/* A body of a known length, on its way into its String. */
struct filling {
    VALUE body;
    uint64_t length;
    size_t at;    /* bytes that have come */
    size_t room;  /* bytes that the String has room for */
    size_t ready; /* of them, those whose memory is there */
};

/* Kept small: of a wire that waits there may be ten thousand. */
struct wire {
    struct deadline deadline;    /* of the current wait; first: by it `expire` finds the wire */
    VALUE io;                    /* the socket, or what speaks TLS over it */
    VALUE raw;                   /* the socket */
    VALUE endpoint;              /* for messages: a String, an Io::Endpoint, or nil */
    VALUE phases;                /* Io::Connector::Phases, or nil */
    VALUE limits_value;          /* the HTTP1::Limits, for messages; nil: the default ones */
    VALUE timeouts;              /* the HTTP::Timeouts whose seconds are below */
    VALUE pending;               /* String: bytes received and not consumed, while others may use the static buffer */
    VALUE response;              /* the one whose body is being read piece by piece, or by a volley */
    struct filling filling;      /* that body, where a volley reads it; else its `body` is nil */
    VALUE trailer;               /* String: the trailer section so far, or nil */
    VALUE url;                   /* of the request that was launched */
    VALUE prefix;                /* String: how the URLs begin that may be launched from here */
    VALUE block;                 /* the default header lines that go with them */
    VALUE unsent;                /* String: what could not be sent of it at once, or nil */
    struct volley *volley;       /* that it is aboard of, or NULL */
    struct head_bytes *last_head; /* of the answer before, or NULL */
    struct http1_limits limits;
    struct http1_body body;      /* of the answer */
    double first_byte;           /* seconds, INFINITY for none: see HTTP::Timeouts */
    double read;
    double total;
    double ends;                 /* monotonic seconds by which the exchange must be over, or INFINITY */
    double started;              /* monotonic seconds: when the exchange began */
    double kept_for;             /* seconds for which the peer keeps it idle, less a margin, or INFINITY */
    double kept_until;           /* monotonic seconds after which it is not used again, or INFINITY */
    double until;                /* of what was launched: the caller's deadline, or INFINITY */
    double sent_at;
    double first_at;             /* of its answer; 0: nothing has come */
    double began;                /* when the first byte of a body that is read piece by piece was there */
    uint64_t consumed;           /* bytes of the message, while its body is read piece by piece, or by a volley */
    size_t pending_at;           /* bytes of `pending` that are consumed */
    uint64_t ticket;             /* what the last volley knows it by, see rb_volley.h */
    unsigned generation;         /* of processes: it is of use in the one that made it */
    uint32_t uses_left;          /* requests that the peer still takes, or HTTP1_UNSAID */
    int descriptor;              /* of the socket, while somebody waits for it */
    unsigned moves;              /* of bytes, see plait_wire_keep_pace */
    uint8_t state;               /* enum wire_state */
    uint8_t kind;                /* of the request: enum http1_request_kind and WIRE_TO_LOG_IN, bits */
    uint8_t framing;             /* of the body that is read piece by piece: enum http1_framing */
    bool tls;
    bool busy;                   /* an exchange is under way */
    bool expired;                /* its deadline, and the socket was shut down for it */
    bool sent;                   /* a byte of the request was given to the kernel */
    bool received;               /* a byte of the answer has come */
    bool persistent;             /* the answer lets the connection be used again */
    bool read_out;               /* a body was read piece by piece to its end */
    bool told;                   /* a response has taken the phases: they are the first one's */
    bool launched;               /* a request, whose answer has not been had since; it may be closed by now */
    bool prompt;                 /* the last answer was one that a volley takes in by itself, see plait_wire_land */
};

/* One call of a method that sends or receives; it lies on the stack of who made it. */
struct exchange {
    VALUE self;
    struct wire *wire;
    VALUE first;            /* arguments: the URL, or the head */
    VALUE second;           /* the default header lines, or the body */
    VALUE url;              /* the response's, or nil */
    size_t offset;          /* of the target in the URL */
    VALUE timeouts;         /* HTTP::Timeouts, or nil */
    VALUE deadline;         /* a Float, or nil */
    VALUE failure;          /* the exception that ended the sending, or nil: there may be an answer nevertheless */
    struct http1_head head;
    const char *data;       /* bytes received and not consumed: in the static buffer, or in `pending` */
    size_t size;
    uint64_t consumed;      /* bytes of the message before `data` */
    ptrdiff_t head_size;    /* bytes of the head of the answer, once it is whole; before, 0 */
    double started;         /* monotonic seconds */
    double sent_at;
    double first_at;
    bool finished;          /* nothing went wrong */
    bool begun;             /* bytes of the final answer have come */
    bool drained;           /* nothing is left in the kernel: wait before receiving */
    bool ended;             /* the peer sends nothing any more: its end is left in the kernel, whatever else is */
    bool whole;             /* the answer is had with all of its body */
    bool deaf;              /* while sending: it is of no use to listen any more */
    bool stopped;           /* not all of the request was sent: the answer was there before, or the peer gone */
    bool surplus;           /* a byte has come, and was dropped, that belongs to no answer */
    bool continued;         /* 100 has come */
    bool slow;              /* more than one receive was needed */
};

/* What has come for a request that was launched. */
enum wire_arrival {
    ARRIVED_NOTHING,  /* it is to be waited on */
    ARRIVED_WHOLE,    /* a plain answer, all of it, and no more */
    ARRIVED_PART,     /* the head of one, and not all of its body */
    ARRIVED_OTHERWISE /* something else, and the wire has what plait_wire_load needs of it; or the end */
};

/* What a volley has heard of a connection: that bytes have come, that their end may have come with them, that it is broken. */
enum wire_news { NEWS_BYTES, NEWS_END, NEWS_BREAK };

/* What a wait is for, and so which time it may take. */
enum wire_wait { WAIT_TO_SEND, WAIT_FOR_ANSWER, WAIT_FOR_MORE, WAIT_TO_CONTINUE };

/* ---- rb_wire.c ---- */

struct wire *plait_wire_of(VALUE self);

/* Whether it is between two exchanges, this process's, and its peer still keeps it. */
bool plait_wire_reusable(const struct wire *wire);

/* Closes it, whoever is in an exchange. */
void plait_wire_release(struct wire *wire);

NORETURN(void plait_wire_raise_closed(const struct exchange *exchange));

void plait_wire_init_exchange(struct exchange *exchange, VALUE self);

/* The same, and takes the wire for the current fiber or thread; raises where it is not in that state. */
void plait_wire_enter(struct exchange *exchange, VALUE self, enum wire_state state);

/* What a request begins with: `started` and the timeouts are set. */
void plait_wire_begin(struct wire *wire, double deadline);

/* HTTP::Timeouts, or nil. */
void plait_wire_take_timeouts(VALUE self, VALUE timeouts);

/* Runs it, and leaves the wire: closed, if `run` has raised. */
VALUE plait_wire_guarded(struct exchange *exchange, VALUE (*run)(VALUE exchange));

/* ---- rb_wire_wait.c ---- */

/*
 * Waits for events, PLAIT_READABLE or PLAIT_WRITABLE or both, and returns those that came. Raises ReadTimeout or WriteTimeout;
 * of WAIT_TO_CONTINUE it returns 0 after a while.
 */
int plait_wire_wait(struct exchange *exchange, int events, enum wire_wait why);

NORETURN(void plait_wire_raise_late(const struct exchange *exchange, enum wire_wait why));

/* Raises as plait_wire_wait once the time for the whole is over. */
void plait_wire_check_time(const struct exchange *exchange, enum wire_wait why);

/*
 * Before a move that follows another one: a peer that is always ahead of us lets us never wait. Looks at the time, whether we
 * were closed, and lets others run once in a while.
 */
void plait_wire_keep_pace(const struct exchange *exchange, enum wire_wait why);

/* What its deadline calls: ends the connection. */
void plait_wire_expire(struct deadline *deadline);

/* Ends every wait for the wire, whoever waits. */
void plait_wire_shut_down(const struct wire *wire);

void plait_init_wire_wait(void);

/* ---- rb_wire_move.c ---- */

/* What a move of bytes returns besides their number. */
enum { MOVE_WAITS = -1, MOVE_FAILED = -2 };

/*
 * Without waiting. Both return how many bytes there were, MOVE_WAITS with the events to wait for, or MOVE_FAILED with
 * `failure` set. Of receiving, 0 is the end.
 */
ssize_t plait_wire_receive_now(struct exchange *exchange, char *to, size_t room, int *events);
ssize_t plait_wire_send_now(struct exchange *exchange, VALUE string, size_t from, bool more, int *events);

/* The same for a wire without TLS, of bytes that need no String. */
ssize_t plait_wire_send_bytes(struct exchange *exchange, const char *bytes, size_t size, bool more);

/* The class of TLS's errors, for wires with TLS only: for them it is loaded. */
VALUE plait_wire_tls_error(void);

/* Of a wire with TLS: whether decrypted bytes wait that no event will tell of. */
bool plait_wire_tls_pending(const struct wire *wire);

/* Whether an idle connection is of no use. */
bool plait_wire_unasked(struct wire *wire);

void plait_init_wire_move(void);

/* ---- rb_wire_send.c ---- */

/* Raises LocalProtocolError for what can't be the target of a GET. */
void plait_wire_check_target(VALUE self, VALUE url, size_t offset);

/* GET, of the arguments in `exchange`. */
void plait_wire_send_get(struct exchange *exchange);

/* Whether they are right, and so short that it can be sent in one piece. */
bool plait_wire_small_get(const struct exchange *exchange);

/* Sends such a one, without waiting; returns what is left of it, or nil. */
VALUE plait_wire_send_small_get(struct exchange *exchange);

/* Sends `first`, a head or nil, and `second`, a body: nil, a String, or what yields Strings by `each`. */
void plait_wire_send(struct exchange *exchange);

void plait_init_wire_send(void);

/* ---- rb_wire_receive.c ---- */

/* Before anything is sent, or the rest of it: prepares for the answer, with what has come of it already. */
void plait_wire_expect_head(struct exchange *exchange);

/* Takes in what there is, without waiting, while a request is being sent. */
void plait_wire_listen(struct exchange *exchange);

/* Waits for 100 or a final head; returns false when neither has come in time. */
bool plait_wire_await_continue(struct exchange *exchange);

void plait_init_wire_receive(void);

/* ---- rb_wire_body.c ---- */

/* The answer, with its body. */
VALUE plait_wire_receive_whole(struct exchange *exchange);

/* The same, once the head is there. */
VALUE plait_wire_receive_rest(struct exchange *exchange);

/*
 * Of a request that was launched: begins to receive a body whose end has not come, goes on without waiting, and ends it.
 * `conclude` goes on and ends it, and waits.
 */
void plait_wire_begin_filling(struct exchange *exchange);
enum wire_arrival plait_wire_fill(struct exchange *exchange);
VALUE plait_wire_end_filling(struct exchange *exchange);
VALUE plait_wire_conclude_filling(struct exchange *exchange);

/* The answer, its body still to be read. */
VALUE plait_wire_receive_head(struct exchange *exchange);

/* The next bytes of that body, or nil at its end. */
VALUE plait_wire_receive_piece(struct exchange *exchange);

/* ---- rb_wire_launch.c ---- */

/*
 * There is news of a launched request. Returns the response; nil when it is to be concluded; Qundef when further news is to
 * be waited for. Does not wait.
 */
VALUE plait_wire_land(VALUE self, enum wire_news news);

void plait_define_wire_launch(VALUE wire);

#endif
