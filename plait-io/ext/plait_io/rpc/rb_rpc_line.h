/*
 * Plait::RPC::NativeLine: what goes on between one socket, plain TCP or UNIX, and those who share it: calls and their answers,
 * who reads for whom, what is still to be sent. Its pure twin is plait-rpc/lib/plait/rpc/pure_line.rb, where the methods are documented.
 *
 *     rb_rpc_line_methods.c  the class: what Ruby calls
 *     rb_rpc_line_wait.c     waiting: on a scheduler or on a thread
 *     rb_rpc_line_members.c  the threads and fibers that stay: lists, and how they are woken
 *     rb_rpc_line_end.c      the end of a call that nobody waits for any more, and that of the line
 *     rb_rpc_line_send.c     frames out
 *     rb_rpc_line_receive.c  bytes in, answers to those they belong to
 *     rb_rpc_line_roles.c    one member reads for all, one waits until more can be sent, the others sleep
 *     rb_rpc_wakeup.c          how a thread is woken by one that sleeps already
 *     rb_rpc_call_batch.c        calls that leave together
 *     rb_rpc_batch.c         what came to a server at once
 *     rb_rpc_batch_run.c     how that is run
 *     rb_rpc_visit.c         who waits at one line of a server's for what it says next
 *     rb_rpc.c               defines the classes
 *
 * All of it runs with the GVL, which is the only lock: nothing else runs between two points where it may be given away. These
 * are: waiting, sleeping, the moves of much data (marked by `sending` and `receiving`), and every call into Ruby. There, and
 * nowhere else, a thread or fiber can be interrupted; what it held is given back by `rpc_line_roles_leave`.
 * A call into Ruby can be interrupted at its end, too, and who reads makes calls for others: what is taken from a list and not yet
 * given to whom it belongs must not wait for one, see `plait_undisturbed_by` and `left`.
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
    WANT_TURN,   /* to send, or to know that who sends is done */
    WANT_SENT,   /* all to be sent that was said before */
    WANT_LOOK,   /* only to take what is there, if nobody reads */
    WANT_END     /* nothing: it reads for the others until the end */
};

/* A thread or a fiber that stays on the line. It lies on the stack of who stays. */
struct member {
    struct member *next;  /* of those who sleep */
    struct member **back; /* what points at this one; NULL: it is in no list */
    struct member *peer;  /* the next one that sleeps for the same future */
    enum want want;
    VALUE future;         /* of WANT_ANSWER, else nil */
    uint64_t until;       /* of WANT_SENT: bytes */
    double limit;         /* monotonic seconds, or INFINITY */
    VALUE thread;         /* who it is */
    VALUE fiber;          /* where it has a scheduler, else nil */
    VALUE scheduler;      /* or nil */
    struct wakeup *wakeup;    /* by which its thread is woken; NULL: it never slept */
    bool woken;
    bool sole;            /* nobody but this one knows the future: without it the answer is not wanted */
};

/* Who reads, and who waits to send, may wait at the same time. */
struct line_wait {
    struct deadline deadline; /* first: by it `expire` finds the wait */
    struct native *native;    /* the scheduler's */
    VALUE fiber;              /* who waits, while he does; or nil */
    int descriptor;
};

enum { LINE_READER, LINE_DRAINER, LINE_WAITS };

struct line {
    struct line_wait *waits;  /* LINE_WAITS of them; NULL: it is served, and nobody waits at its socket */
    VALUE self;
    VALUE io;                 /* the socket */
    VALUE parser;             /* NativeParser */
    VALUE writer;             /* NativeWriter: frames that were not given to the kernel yet; nil when it isn't needed */
    VALUE parts;              /* Strings before those: they are being sent; or nil */
    VALUE connection;         /* Plait::RPC::Connection: makes the errors, and takes requests */
    VALUE calls;              /* id => Future, or nil */
    struct call_batch *call_batches;   /* many calls each */
    VALUE batch;              /* NativeBatch: requests that came just now; or nil */
    VALUE over;               /* why it is over: an Exception or a String; nil while it isn't */
    struct member *reader;    /* or NULL */
    struct member *drainer;   /* who waits until more can be sent, or NULL */
    struct member *sleeping;  /* list */
    struct member *due;       /* list: threads whose answer is there, and who are woken one after another */
    struct member **due_end;  /* where the next one is put */
    struct member *stirring;  /* the one of them who was woken last, while he has not left; or NULL */
    struct wakeup *wakeups;       /* list: nobody's now */
    VALUE gone;               /* the thread that left last with its answer, or nil: only compared, not marked */
    st_table *awaited;        /* future => the first of those who sleep for it; NULL: nobody has */
    uint64_t pushed;          /* bytes of frames, ever; those in the writer not counted */
    uint64_t sent;            /* of these */
    uint64_t received;        /* bytes, ever */
    size_t offset;            /* bytes of the first part that are sent */
    size_t room;              /* bytes unsent from which on who has more to say has to wait */
    double stirred;           /* when he was, or `expected` one left; monotonic seconds */
    double went;              /* when `gone` did; monotonic seconds */
    double touched;           /* when it was used last; monotonic seconds */
    double armed;             /* when the reader will look at the time, while he waits */
    double earliest;          /* no sleeping fiber's limit is earlier; INFINITY: there is none */
    uint32_t part;            /* the one that is being sent */
    uint32_t places;          /* requests that may be taken before it is asked again whether there is room */
    uint32_t last_id;
    unsigned generation;      /* of processes: it is of use in the one that made it */
    uint32_t crowd;           /* those in either list */
    int32_t eager;            /* whether calling those after the next was worth it; less than 0: so many are not called */
    uint8_t habit;            /* how sure it is that who has his answer calls again at once */
    uint8_t held;             /* enum messagepack_rpc_event: one that nobody had room for */
    bool served;              /* only `read_available` reads, and nobody waits to send */
    bool plain;               /* small values are packed and unpacked here */
    bool batches;             /* requests are handed on together */
    bool raw;                 /* the peer is an old one */
    bool drained;             /* the last receive took all there was: wait before the next */
    bool reading;             /* the reader waits for the socket */
    bool watched;             /* and looks soon who goes on */
    bool expected;            /* who left last will call again at once, and see to the others then */
    bool sending;             /* somebody sends, without the GVL */
    bool receiving;           /* somebody receives, without the GVL */
    bool unsent;              /* the peer takes no more now */
    bool taking;              /* messages are being taken in */
    bool left;                /* who took them in was interrupted: there are more of them than the socket knows of */
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
