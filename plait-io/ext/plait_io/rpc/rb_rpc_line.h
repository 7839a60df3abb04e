/*
 * Plait::RPC::NativeLine: what goes on between one socket, plain TCP or UNIX, and those who share it: calls and their answers,
 * who reads for whom, what is still to be sent. Its pure twin is plait-rpc/lib/plait/rpc/pure_line.rb, where the methods are documented.
 *
 *     rb_rpc_line.c          the class: what Ruby calls
 *     rb_rpc_line_roles.c    those who wait: one reads for all, one waits until more can be sent, the others sleep
 *     rb_rpc_line_receive.c  bytes in, answers to those they belong to
 *     rb_rpc_line_send.c     frames out
 *     rb_rpc_line_wait.c     waiting: on a scheduler or on a thread
 *     rb_rpc_bell.c          how a thread is woken by one that sleeps already
 *     rb_rpc_volley.c        calls that leave together
 *     rb_rpc_batch.c         what came to a server at once, and how it is run
 *     rb_rpc_visit.c         who waits at one line of a server's for what it says next
 *
 * All of it runs with the GVL, which is the only lock: nothing else runs between two points where it may be given away. These
 * are: waiting, sleeping, the moves of much data (marked by `sending` and `receiving`), and every call into Ruby. There, and
 * nowhere else, a thread or fiber can be interrupted; what it held is given back by `leave`.
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
#include "rb_rpc_bell.h"
#include "rb_rpc_volley.h"

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
    struct bell *bell;    /* by which its thread is woken; NULL: it never slept */
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
    struct volley *volleys;   /* many calls each */
    VALUE batch;              /* NativeBatch: requests that came just now; or nil */
    VALUE over;               /* why it is over: an Exception or a String; nil while it isn't */
    struct member *reader;    /* or NULL */
    struct member *drainer;   /* who waits until more can be sent, or NULL */
    struct member *sleeping;  /* list */
    struct member *due;       /* list: threads whose answer is there, and who are woken one after another */
    struct member **due_end;  /* where the next one is put */
    struct member *stirring;  /* the one of them who was woken last, while he has not left; or NULL */
    struct bell *bells;       /* list: nobody's now */
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

struct line *plait_line_of(VALUE self);

/* Answers were written: if they are many it is found out whether the peer takes them. May let others run. */
void plait_line_make_room(VALUE self);

/* Calls without an answer. */
size_t plait_line_pending(const struct line *line);

/* ---- rb_rpc_line_roles.c ---- */

/* Stays until the member has what it wants, or its time is up: then false. `begin` runs first. Raises once the line is over. */
bool plait_line_stay(VALUE self, struct member *member, void (*begin)(struct line *line, void *argument), void *argument);

struct member plait_line_member(enum want want, double limit);

/* Has nobody wait for this answer any more. */
bool plait_line_drop(struct line *line, VALUE future, const char *state);

/* Has the connection told when it is settled; false: it is. */
bool plait_line_follow(VALUE future);

/* Who leaves the line with his answer calls again at once, as far as is known: those in turn speak together. */
bool plait_line_in_step(const struct line *line);

/* Of those whose answers are there, unless one of them is on his way. */
void plait_line_wake_first(struct line *line);

/* Who has said something, and stays for the answer. Returns whether it is sent by who is woken after him. */
bool plait_line_return(struct line *line, const struct member *member);

void plait_line_settle(struct line *line, VALUE future, VALUE state, VALUE outcome);
void plait_line_wake_senders(struct line *line);
void plait_line_wake_all(struct line *line);

/* The line is over: every call that has no answer fails at once. */
void plait_line_finish(struct line *line, VALUE reason);

/* Closes the socket, once it is over and nobody is at it. */
void plait_line_release(struct line *line);

void plait_line_mark_members(const struct line *line);
void plait_init_rpc_line_roles(void);

/* ---- rb_rpc_line_receive.c ---- */

/* What is there, without waiting: by callers, for one another. */
void plait_line_take_in(struct line *line);

/* What the parser has told as the result, where that takes no time: something small, or a String; else Qundef. */
VALUE plait_line_plain_result(const struct line *line);

/* What is there, without waiting, for who reads for good: requests are handed on. Returns a Symbol. */
VALUE plait_line_intake(struct line *line);

/*
 * A few requests that are there, as a batch, for who runs them at once; else `batch` is left as it is. Returns :idle, :partial,
 * :closed; or :full, there is something that read_available has to look at.
 */
VALUE plait_line_visit(struct line *line, VALUE *batch);
void plait_init_rpc_line_receive(void);

/* ---- rb_rpc_line_send.c ---- */

VALUE plait_line_writer(struct line *line);
void plait_init_rpc_line_send(void);

/* Bytes that are said and not sent. */
uint64_t plait_line_unsent(const struct line *line);

/* Bytes that were said, ever. */
uint64_t plait_line_said(const struct line *line);

/* Writes the answer; false: the result isn't small. Nothing is sent. */
bool plait_line_answer_small(struct line *line, VALUE id, VALUE result);

/* The same of a String of any size, which is not copied when it is large. */
bool plait_line_answer_string(struct line *line, VALUE id, VALUE result);

/* Sends what the peer takes. Returns whether that is all, or somebody else sees to it. */
bool plait_line_flush(struct line *line);

/* Sends, unless somebody is about to. */
bool plait_line_flush_soon(struct line *line);

/* ---- rb_rpc_line_wait.c ---- */

/*
 * Waits for the events, PLAIT_READABLE or PLAIT_WRITABLE or both, or until the moment. The others' bells are rung as soon as the
 * GVL is given away; so by `sleep`.
 */
void plait_line_wait(struct line *line, int events, double limit, struct bells others);
void plait_line_sleep(struct line *line, struct member *member, struct bells others);
void plait_line_wake(const struct line *line, struct member *member);

/* Runs what calls into Ruby for others, and must not be broken off: an interrupt of this class (Object: a kill, too) comes after
 * it. */
VALUE plait_undisturbed_by(VALUE class, VALUE (*run)(VALUE), VALUE argument);

/* So that it can be woken. */
void plait_line_give_bell(struct line *line, struct member *member);
void plait_line_take_bell(struct line *line, struct member *member);
void plait_line_let_others_run(const struct member *member);

/* The reader goes on: what he waits for was settled by somebody else. */
void plait_line_rouse_reader(const struct line *line);

/* On the thread of a scheduler whose fibers wait for the socket: they go on. */
void plait_line_end_waits(const struct line *line);

/* Ends every wait, and leaves the descriptor to who waits. */
void plait_line_shut(const struct line *line);

#endif
