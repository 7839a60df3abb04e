/*
 * Plait::HTTP::NativeWire: one HTTP/1.1 connection of a client. It sends a request and receives the answer to it; of pools,
 * redirects and retries it knows nothing. Its pure twin is plait-http/lib/plait/http/pure_wire.rb.
 *
 *     rb_wire_methods.c   the class: what Ruby calls
 *     rb_wire_exchange.c  its memory, its end, and the guard around each exchange
 *     rb_wire_checkout.c  a plain GET on an idle connection of the client's cache
 *     rb_wire_head.c      heads of ordinary requests
 *     rb_wire_send.c      requests
 *     rb_wire_receive.c   answers: bytes and heads
 *     rb_wire_body.c      their bodies
 *     rb_wire_move.c      bytes, plain or by TLS
 *     rb_wire_wait.c      waiting: on a scheduler or on a thread, within the deadlines
 *     rb_wire_launch.c    requests whose answers no fiber waits for: a batch does, see rb_wire_batch.h
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
    WIRE_LAUNCHED,  /* a request is on its way, and no fiber waits for the answer */
    WIRE_TUNNEL,    /* what follows is another protocol */
    WIRE_DETACHED,  /* other code uses the connection now */
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
    size_t ready; /* of them, bytes whose memory is there */
};

/* Kept small: of a wire that waits there may be ten thousand. */
struct wire {
    struct deadline deadline;    /* of the current wait; first: by it `expire` finds the wire */
    VALUE io;                    /* the socket, or OpenSSL's over it */
    VALUE raw;                   /* the socket */
    VALUE endpoint;              /* for messages: a String, an Io::Endpoint, or nil */
    VALUE phases;                /* Io::Connector::Phases, or nil */
    VALUE limits_value;          /* the HTTP1::Limits, for messages; nil: the default ones */
    VALUE timeouts;              /* the HTTP::Timeouts whose seconds are below */
    VALUE pending;               /* String: bytes received and not consumed, while others may use the static buffer */
    VALUE response;              /* the one whose body is being read piece by piece, or by a batch */
    struct filling filling;      /* that body, where a batch reads it; else its `body` is nil */
    VALUE trailer;               /* String: the trailer section so far, or nil */
    VALUE url;                   /* of the request that was launched */
    VALUE prefix;                /* String: how the URLs begin that may be launched from here */
    VALUE block;                 /* the default header lines that go with them */
    VALUE unsent;                /* String: what could not be sent of it at once, or nil */
    struct ssl_st *ssl;          /* of `io`, or NULL without TLS */
    struct wire_batch *batch;       /* that it is aboard of, or NULL */
    bool awaits;                    /* it waits for bytes of the peer */
    struct head_bytes *last_head; /* of the answer before, or NULL */
    struct http1_limits limits;
    struct http1_body body;      /* of the answer */
    double first_byte;           /* seconds, INFINITY for none: see HTTP::Timeouts */
    double read;
    double write;
    double total;
    double ends;                 /* monotonic seconds by which the exchange must be over, or INFINITY */
    double started;              /* monotonic seconds: when the exchange began */
    double kept_for;             /* seconds for which the peer keeps it idle, less a margin, or INFINITY */
    double kept_until;           /* monotonic seconds after which it is not used again, or INFINITY */
    double until;                /* of what was launched: the caller's deadline, or INFINITY */
    double sent_at;
    double first_at;             /* of its answer; 0: nothing has come */
    double began;                /* when the first byte of a body that is read piece by piece was there */
    uint64_t consumed;           /* bytes of the message, while its body is read piece by piece, or by a batch */
    size_t pending_at;           /* bytes of `pending` that are consumed */
    uint64_t ticket;             /* what the last batch knows it by, see rb_wire_batch.h */
    unsigned generation;         /* of processes: it is of use in the one that made it */
    uint32_t uses_left;          /* requests that the peer still takes, or HTTP1_UNSAID */
    int descriptor;              /* of the socket, during a wait for it */
    unsigned moves;              /* of bytes, see plait_wire_keep_pace */
    uint8_t state;               /* enum wire_state */
    uint8_t kind;                /* of the request: enum http1_request_kind and WIRE_TO_LOG_IN, bits */
    uint8_t framing;             /* of the body that is read piece by piece: enum http1_framing */
    bool busy;                   /* an exchange is under way */
    bool expired;                /* its deadline, and the socket was shut down for it */
    bool sent;                   /* a byte of the request was given to the kernel */
    bool received;               /* a byte of the answer has come */
    bool persistent;             /* the answer lets the connection be used again */
    bool read_out;               /* a body was read piece by piece to its end */
    bool phases_taken;                   /* a response has taken the phases: they are the first one's */
    bool session_kept;           /* of TLS, for the next connection */
    bool launched;               /* a request, whose answer has not been had since; it may be closed by now */
    bool prompt;                 /* the last answer was one that a batch takes in by itself, see plait_wire_land */
};

/* One call of a method that sends or receives; it lies on the caller's stack. */
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
    double listened_at;     /* between two pieces of a body; 0: not yet */
    bool finished;          /* nothing went wrong */
    bool answer_began;             /* bytes of the final answer have come */
    bool drained;           /* nothing is left in the kernel: wait before receiving */
    bool ended;             /* the peer sends nothing any more: its end is left in the kernel, whatever else is */
    bool whole;             /* the answer is had with all of its body */
    bool deaf;              /* while sending: it is of no use to listen any more */
    bool stopped;           /* not all of the request was sent: the answer was there before, or the peer gone */
    bool surplus;           /* a byte has come, and was dropped, that belongs to no answer */
    bool continued;         /* 100 has come */
    bool slow;              /* more than one receive was needed */
    bool repaired;          /* the head broke a rule that a lenient client lets pass */
};

/* What has come for a request that was launched. */
enum wire_arrival {
    ARRIVED_NOTHING,  /* it is to be waited on */
    ARRIVED_WHOLE,    /* a plain answer, all of it, and no more */
    ARRIVED_PART,     /* the head of one, and not all of its body */
    ARRIVED_OTHERWISE /* something else, and the wire has what plait_wire_load needs of it; or the end */
};

extern const rb_data_type_t plait_wire_type;

static inline struct wire *plait_wire_of(VALUE self) {
    return rb_check_typeddata(self, &plait_wire_type);
}

#endif
