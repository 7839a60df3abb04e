/*
 * Plait::RPC::NativeLine: one socket, TCP, UNIX or TLS, and the threads and fibers that share it: calls and their answers, the
 * reader for all of them, unsent frames. Its pure twin, plait-rpc/lib/plait/rpc/pure_line.rb, documents the methods.
 *
 *     rb_rpc_line_methods.c  the class: what Ruby calls
 *     rb_rpc_line_wait.c     waiting: on a scheduler or on a thread
 *     rb_rpc_line_members.c  the threads and fibers that stay: lists, and how they are woken
 *     rb_rpc_line_end.c      the end of a call that no member waits for, and that of the line
 *     rb_rpc_line_send.c     frames out
 *     rb_rpc_line_receive.c  bytes in, answers to their callers
 *     rb_rpc_line_secure.c   both over TLS
 *     rb_rpc_line_roles.c    one member reads for all, one waits until more can be sent, the others sleep
 *     rb_rpc_wakeup.c          how a thread is woken by one that sleeps already
 *     rb_rpc_call_batch.c        calls that leave together
 *     rb_rpc_batch.c         what came to a server at once
 *     rb_rpc_batch_run.c     how that is run
 *     rb_rpc_round.c         the leader of a server's workers, at all lines
 *     rb_rpc.c               defines the classes
 *
 * All of it runs with the GVL, which is the only lock: nothing else runs between two points where it may be given away. These
 * are: waiting, sleeping, the moves of much data (marked by `sending` and `receiving`), and every call into Ruby. There, and
 * nowhere else, a thread or fiber can be interrupted; what it held is given back by `rpc_line_roles_leave`.
 * An interrupt can also come at the end of a call into Ruby, and the reader makes calls for other members. What is taken from
 * a list must reach its owner without such a call, see `plait_undisturbed_by` and `left`.
 */
#ifndef PLAIT_RB_RPC_LINE_H
#define PLAIT_RB_RPC_LINE_H

#include <ruby.h>
#include <ruby/st.h>
#include <stdbool.h>
#include <stdint.h>

#include "../plait_io.h"
#include "rb_rpc_wakeup.h"

/* What a member waits for. */
enum want {
    WANT_ANSWER, /* its future to be settled */
    WANT_ROOM,   /* to be allowed to say more */
    WANT_TURN,   /* to send, or to know that the sender is done */
    WANT_SENT,   /* all to be sent that was said before */
    WANT_LOOK,   /* only to take what is there, if no member reads */
    WANT_END     /* nothing: it reads for the others until the end */
};

/* A thread or a fiber that stays on the line. The struct lies on the stack of that thread or fiber. */
struct member {
    struct member *next;  /* of the sleeping members */
    struct member **back; /* what points at this one; NULL: it is in no list */
    struct member *peer;  /* the next one that sleeps for the same future */
    enum want want;
    VALUE future;         /* of WANT_ANSWER, else nil */
    uint64_t until;       /* of WANT_SENT: bytes */
    double limit;         /* monotonic seconds, or INFINITY */
    VALUE thread;         /* the member's */
    VALUE fiber;          /* where it has a scheduler, else nil */
    VALUE scheduler;      /* or nil */
    struct wakeup *wakeup;    /* by which its thread is woken; NULL: it never slept */
    bool woken;
    bool sole;            /* no other member knows the future: without it the answer is not wanted */
};

/* The reader, and the member that waits to send, may wait at the same time. */
struct line_wait {
    struct deadline deadline; /* first: by it `expire` finds the wait */
    struct native *native;    /* the scheduler's */
    VALUE fiber;              /* that waits now; or nil */
    int descriptor;
};

enum { LINE_READER, LINE_DRAINER, LINE_WAITS };

struct line {
    struct line_wait *waits;  /* LINE_WAITS of them; NULL: it is served, and no member waits at its socket */
    VALUE self;
    VALUE io;                 /* the socket */
    VALUE secure;             /* OpenSSL's, over it; or nil */
    struct ssl_st *ssl;       /* libssl's of that */
    VALUE parser;             /* NativeParser */
    VALUE writer;             /* NativeWriter: frames that were not given to the kernel yet; nil when it isn't needed */
    VALUE parts;              /* Strings before the writer's: they are being sent; or nil */
    VALUE connection;         /* Plait::RPC::Connection: makes the errors, and takes requests */
    VALUE calls;              /* id => Future, or nil */
    struct call_batch *call_batches;   /* many calls each */
    VALUE batch;              /* NativeBatch: requests that came just now; or nil */
    VALUE over;               /* why it is over: an Exception or a String; nil while it isn't */
    struct member *reader;    /* or NULL */
    struct member *drainer;   /* waits until more can be sent; or NULL */
    struct member *sleeping;  /* list */
    struct member *due;       /* list: threads whose answer is there; they are woken one after another */
    struct member **due_end;  /* where the next one is put */
    struct member *stirring;  /* the one of them that was woken last, until it leaves; or NULL */
    struct wakeup *wakeups;   /* list: unused ones */
    st_table *awaited;        /* future => the first member that sleeps for it; NULL: no member has slept */
    uint64_t pushed;          /* bytes of frames, ever; frames in the writer not counted */
    uint64_t sent;            /* of these */
    uint64_t going;           /* bytes behind these that the kernel may take just now, without the GVL */
    uint64_t received;        /* bytes, ever */
    size_t offset;            /* bytes of the first part that are sent */
    size_t room;              /* unsent bytes from which on a caller has to wait */
    double stirred;           /* when `stirring` was woken; monotonic seconds */
    double touched;           /* when it was used last; monotonic seconds */
    double armed;             /* when the reader will look at the time, during a wait */
    double earliest;          /* no sleeping fiber's limit is earlier; INFINITY: there is none */
    uint32_t part;            /* the one that is being sent */
    uint32_t places;          /* requests that may be taken before it is asked again whether there is room */
    uint32_t last_id;
    unsigned generation;      /* of processes: it is of use in the one that made it */
    uint8_t held;             /* enum messagepack_rpc_event: one for which there was no room */
    bool served;              /* only `read_available` reads, and no member waits to send */
    bool plain;               /* small values are packed and unpacked here */
    bool batches;             /* requests are handed on together */
    bool raw;                 /* the peer is an old one */
    bool drained;             /* the last receive took all there was: wait before the next */
    bool reading;             /* the reader waits for the socket */
    bool draining;            /* so does the drainer, which is not the reader */
    bool sending;             /* a member sends, without the GVL */
    bool receiving;           /* a member receives, without the GVL */
    bool unsent;              /* the peer takes no more now */
    bool taking;              /* messages are being taken in */
    bool left;                /* the reader was interrupted: there are more of them than the socket knows of */
    bool intake;              /* requests are being handed on: what is answered meanwhile leaves together */
    bool woken;               /* others were woken: they may have more to say */
    bool released;            /* the socket is closed */
};

extern const rb_data_type_t plait_line_type;

static inline struct line *plait_line_of(VALUE self) {
    return rb_check_typeddata(self, &plait_line_type);
}

/* Answers were written: if they are many it is found out whether the peer takes them. May let others run. */
void plait_line_make_room(VALUE self);

/* Calls without an answer. */
size_t plait_line_pending(const struct line *line);

void plait_define_rpc_line(VALUE rpc);
void plait_init_rpc_line(void);

#endif
