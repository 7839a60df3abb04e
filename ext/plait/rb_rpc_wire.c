/*
 * Plait::RPC::NativeWire: the bytes of one connection, plain TCP or a UNIX socket, in both directions. What comes goes into
 * the connection's parser, a large string straight into its final memory; what goes is written by as few system calls as
 * possible. Its twin is lib/plait/rpc/pure_wire.rb, where the methods are documented; of messages, roles and waiting callers
 * it knows nothing.
 *
 * Nothing is lost or repeated when a thread is interrupted: bytes are counted before anything is raised, and only `wait`
 * waits. At most one is in `receive`, and one in `transmit` or `push`, at a time: the connection sees to that.
 */
#include <errno.h>
#include <math.h>
#include <ruby.h>
#include <ruby/fiber/scheduler.h>
#include <ruby/io.h>
#include <ruby/ractor.h>
#include <ruby/thread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "plait.h"
#include "rb_messagepack_rpc.h"
#include "rb_poll.h"
#include "rb_scheduler.h"
#include "rb_selector.h"

/* Not everywhere; Ruby sees to it that SIGPIPE does no harm. */
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

enum {
    CHUNK = 64 * 1024,   /* bytes received at once of small messages */
    LARGE = 1024 * 1024, /* of a large string */
    SLOW = 128 * 1024,   /* bytes from which on a move is worth giving the GVL to others */
    PARTS = 64           /* Strings in one sendmsg(2) */
};

static ID id_close;

/* Received small things, on their way into a parser: used up before anybody else can run. */
static char incoming[CHUNK];

/* Whoever reads, and whoever writes, may wait at the same time. */
struct wait {
    struct deadline deadline; /* first: by it `expire` finds the wait */
    struct native *native;    /* the scheduler's */
    VALUE fiber;              /* who waits, while he does */
    int descriptor;
};

enum { READER, WRITER, WAITS };

struct rpc_wire {
    struct wait waits[WAITS];
    VALUE io;            /* the socket */
    VALUE parser;        /* NativeParser */
    VALUE parts;         /* Strings to be sent, or nil */
    VALUE failure;       /* what broke it, or nil */
    long part;           /* the one of them that is being sent */
    size_t offset;       /* bytes of it that are sent */
    uint64_t pushed;     /* bytes, ever */
    uint64_t sent;       /* of these */
    unsigned generation; /* of processes: it is of use in the one that made it */
    bool drained;        /* the last receive took all there was: wait before the next */
};

/* ---- the object ---- */

static void wire_mark(void *data) {
    const struct rpc_wire *wire = data;
    rb_gc_mark(wire->io);
    rb_gc_mark(wire->parser);
    rb_gc_mark(wire->parts);
    rb_gc_mark(wire->failure);
    for (int i = 0; i < WAITS; i++) rb_gc_mark(wire->waits[i].fiber);
}

/* A fiber that was waiting may go with it, without having left. */
static void wire_free(void *data) {
    struct rpc_wire *wire = data;
    for (int i = 0; i < WAITS; i++) plait_deadline_remove(&wire->waits[i].deadline);
    xfree(wire);
}

static size_t wire_size(const void *data) {
    (void)data;
    return sizeof(struct rpc_wire);
}

static const rb_data_type_t wire_type = {
    .wrap_struct_name = "Plait::RPC::NativeWire",
    .function = {.dmark = wire_mark, .dfree = wire_free, .dsize = wire_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE wire_allocate(VALUE class) {
    struct rpc_wire *wire;
    VALUE self = TypedData_Make_Struct(class, struct rpc_wire, &wire_type, wire);
    wire->io = wire->parser = wire->parts = wire->failure = Qnil;
    for (int i = 0; i < WAITS; i++) wire->waits[i].fiber = Qnil;
    wire->generation = plait_generation();
    return self;
}

static struct rpc_wire *wire_of(VALUE self) {
    return rb_check_typeddata(self, &wire_type);
}

/* initialize(io, parser) */
static VALUE wire_initialize(VALUE self, VALUE io, VALUE parser) {
    struct rpc_wire *wire = wire_of(self);
    plait_messagepack_rpc_missing(parser); /* raises unless it is one */
    wire->io = rb_io_get_io(io);
    wire->parser = parser;
    return self;
}

/* ---- moving bytes ---- */

static bool would_block(int error) {
    return error == EAGAIN || error == EWOULDBLOCK;
}

/* One recv(2) or sendmsg(2) that does not wait. */
struct move {
    int descriptor;
    char *to;           /* of a recv, with its room */
    size_t room;
    struct msghdr *from; /* of a sendmsg */
    ssize_t moved;      /* bytes, or -1 with error */
    int error;
};

static void *move_now(void *argument) {
    struct move *move = argument;
    do {
        move->moved = move->from ? sendmsg(move->descriptor, move->from, MSG_DONTWAIT | MSG_NOSIGNAL)
                                 : recv(move->descriptor, move->to, move->room, MSG_DONTWAIT);
        move->error = errno;
    } while (move->moved < 0 && move->error == EINTR);
    return NULL;
}

/*
 * A large one lets other threads run meanwhile. With an interrupt at hand rb_nogvl does not call it at all; with RB_NOGVL_INTR_FAIL
 * it raises nothing after it either, so that what was moved is counted.
 */
static void move(struct move *move, size_t size) {
    if (size < SLOW) {
        move_now(move);
        return;
    }
    move->moved = -2;
    rb_nogvl(move_now, move, NULL, NULL, RB_NOGVL_INTR_FAIL);
    if (move->moved == -2) move_now(move);
}

/* ---- in ---- */

static ssize_t receive_large(struct rpc_wire *wire, struct move *receive) {
    receive->to = plait_messagepack_rpc_room(wire->parser, LARGE, &receive->room);
    move(receive, receive->room);
    if (receive->moved > 0) plait_messagepack_rpc_received(wire->parser, (size_t)receive->moved);
    return receive->moved;
}

static ssize_t receive_small(struct rpc_wire *wire, struct move *receive) {
    receive->to = incoming;
    receive->room = sizeof incoming;
    move_now(receive);
    if (receive->moved > 0) plait_messagepack_rpc_feed(wire->parser, incoming, (size_t)receive->moved);
    return receive->moved;
}

/* receive(anew = false) => bytes that have come, 0 when there are none, nil at the end */
static VALUE wire_receive(int argc, VALUE *argv, VALUE self) {
    struct rpc_wire *wire = wire_of(self);
    rb_check_arity(argc, 0, 1);
    if (wire->drained && !(argc == 1 && RTEST(argv[0]))) return INT2FIX(0);

    struct move receive = {.descriptor = plait_descriptor_of(wire->io)};
    bool large = plait_messagepack_rpc_missing(wire->parser) > 0;
    ssize_t received = large ? receive_large(wire, &receive) : receive_small(wire, &receive);
    if (received > 0) {
        wire->drained = (size_t)received < receive.room;
        return SSIZET2NUM(received);
    }
    wire->drained = false;
    if (received < 0 && would_block(receive.error)) return INT2FIX(0);
    if (received < 0) wire->failure = rb_syserr_new(receive.error, NULL);
    return Qnil;
}

/* ---- out ---- */

/* push(parts): an Array of Strings, to be sent behind what is to be sent already */
static VALUE wire_push(VALUE self, VALUE parts) {
    struct rpc_wire *wire = wire_of(self);
    Check_Type(parts, T_ARRAY);
    for (long i = 0; i < RARRAY_LEN(parts); i++) {
        Check_Type(rb_ary_entry(parts, i), T_STRING);
        wire->pushed += (uint64_t)RSTRING_LEN(rb_ary_entry(parts, i));
    }
    if (NIL_P(wire->parts)) wire->parts = parts;
    else rb_ary_concat(wire->parts, parts);
    return self;
}

/* The next Strings, kept on the stack so that no compaction moves them. Returns how many; their size is added. */
static int gather(const struct rpc_wire *wire, struct iovec *vectors, volatile VALUE *strings, size_t *size) {
    int count = 0;
    size_t offset = wire->offset;
    for (long i = wire->part; i < RARRAY_LEN(wire->parts) && count < PARTS; i++, count++) {
        strings[count] = rb_ary_entry(wire->parts, i);
        vectors[count] = (struct iovec){.iov_base = RSTRING_PTR(strings[count]) + offset,
                                        .iov_len = (size_t)RSTRING_LEN(strings[count]) - offset};
        *size += vectors[count].iov_len;
        offset = 0;
    }
    return count;
}

/* What is sent is not kept. */
static void note_sent(struct rpc_wire *wire, size_t sent) {
    wire->sent += sent;
    sent += wire->offset;
    while (wire->part < RARRAY_LEN(wire->parts)) {
        size_t size = (size_t)RSTRING_LEN(rb_ary_entry(wire->parts, wire->part));
        if (sent < size) break;
        sent -= size;
        rb_ary_store(wire->parts, wire->part++, Qnil);
    }
    wire->offset = sent;
    if (wire->part < RARRAY_LEN(wire->parts)) return;

    wire->parts = Qnil;
    wire->part = 0;
}

/* Returns whether all of it was taken; below 0: an error. */
static int send_some(struct rpc_wire *wire) {
    struct iovec vectors[PARTS];
    volatile VALUE strings[PARTS];
    size_t size = 0;
    struct msghdr message = {.msg_iov = vectors};
    message.msg_iovlen = (unsigned)gather(wire, vectors, strings, &size);
    struct move send = {.descriptor = plait_descriptor_of(wire->io), .from = &message};
    move(&send, size);
    if (send.moved < 0) {
        if (would_block(send.error)) return 0;
        wire->failure = rb_syserr_new(send.error, NULL);
        return -1;
    }
    note_sent(wire, (size_t)send.moved);
    return (size_t)send.moved == size;
}

/* transmit => true when all is sent, false when the peer takes no more now, nil when it is broken */
static VALUE wire_transmit(VALUE self) {
    struct rpc_wire *wire = wire_of(self);
    while (!NIL_P(wire->parts)) {
        int done = send_some(wire);
        if (done == 0) return Qfalse;
        if (done < 0) return Qnil;
    }
    return Qtrue;
}

/* ---- waiting ---- */

static void expire(struct deadline *deadline) {
    const struct wait *wait = (const struct wait *)deadline;
    plait_native_end_wait(wait->native, wait->descriptor, wait->fiber);
}

struct scheduler_wait {
    struct wait *wait;
    VALUE scheduler;
    VALUE io;
    int events;
    VALUE came;
};

static VALUE run_wait(VALUE argument) {
    struct scheduler_wait *call = (struct scheduler_wait *)argument;
    struct wait *wait = call->wait;
    struct deadline *deadline = isinf(wait->deadline.at) ? NULL : &wait->deadline;
    return plait_native_wait(wait->native, call->scheduler, call->io, call->events, deadline);
}

static VALUE end_wait(VALUE argument) {
    struct wait *wait = ((struct scheduler_wait *)argument)->wait;
    plait_deadline_remove(&wait->deadline);
    wait->fiber = Qnil;
    return Qnil;
}

static VALUE wait_with_timer(VALUE scheduler, VALUE io, int events, double limit) {
    double left = isinf(limit) ? 0 : limit - plait_now();
    VALUE seconds = isinf(limit) ? Qnil : DBL2NUM(left > 0 ? left : 0);
    return rb_fiber_scheduler_io_wait(scheduler, io, INT2FIX(events), seconds);
}

static VALUE wait_on_scheduler(struct rpc_wire *wire, VALUE scheduler, int events, double limit) {
    struct native *native = plait_native_of(scheduler);
    struct wait *wait = &wire->waits[events & PLAIT_READABLE ? READER : WRITER];
    bool swept = native && plait_native_ends_waits(native) && NIL_P(wait->fiber);
    if (!swept) return wait_with_timer(scheduler, wire->io, events, limit);

    wait->deadline.at = limit;
    wait->deadline.expire = expire;
    wait->native = native;
    wait->fiber = rb_fiber_current();
    wait->descriptor = plait_descriptor_of(wire->io);
    struct scheduler_wait call = {.wait = wait, .scheduler = scheduler, .io = wire->io, .events = events};
    return rb_ensure(run_wait, (VALUE)&call, end_wait, (VALUE)&call);
}

static int wait_once(struct rpc_wire *wire, int events, double limit) {
    VALUE scheduler = rb_fiber_scheduler_current();
    if (NIL_P(scheduler)) return plait_poll(plait_descriptor_of(wire->io), events, limit);

    VALUE came = wait_on_scheduler(wire, scheduler, events, limit);
    return RTEST(came) ? NUM2INT(came) & events : 0;
}

/* Returns the events that came; 0: the time is up. */
static int wait_for(struct rpc_wire *wire, int events, double limit) {
    int came;
    do came = wait_once(wire, events, limit);
    while (!came && (isinf(limit) || plait_now() < limit));
    return came;
}

static double limit_of(VALUE limit) {
    return NIL_P(limit) ? INFINITY : NUM2DBL(limit);
}

/* wait(events, limit) */
static VALUE wire_wait(VALUE self, VALUE events, VALUE limit) {
    struct rpc_wire *wire = wire_of(self);
    int came = wait_for(wire, NUM2INT(events), limit_of(limit));
    if (came & PLAIT_READABLE) wire->drained = false;
    RB_GC_GUARD(self);
    return INT2FIX(came);
}

/* ---- the rest ---- */

static VALUE wire_io(VALUE self) {
    return wire_of(self)->io;
}

static VALUE wire_failure(VALUE self) {
    return wire_of(self)->failure;
}

static VALUE wire_unsent(VALUE self) {
    const struct rpc_wire *wire = wire_of(self);
    return ULL2NUM(wire->pushed - wire->sent);
}

static VALUE wire_pushed(VALUE self) {
    return ULL2NUM(wire_of(self)->pushed);
}

static VALUE wire_sent(VALUE self) {
    return ULL2NUM(wire_of(self)->sent);
}

static VALUE wire_foreign(VALUE self) {
    return wire_of(self)->generation == plait_generation() ? Qfalse : Qtrue;
}

static VALUE close_io(VALUE io) {
    return rb_funcall(io, id_close, 0);
}

static VALUE ignore(VALUE unused, VALUE error) {
    (void)unused, (void)error;
    return Qnil;
}

/* shut: ends every wait, and leaves the descriptor to who waits */
static VALUE wire_shut(VALUE self) {
    const struct rpc_wire *wire = wire_of(self);
    if (wire->generation != plait_generation()) return Qnil;
    if (!RTEST(rb_funcall(wire->io, rb_intern("closed?"), 0))) shutdown(plait_descriptor_of(wire->io), SHUT_RDWR);
    return Qnil;
}

/* close: what is broken already may complain */
static VALUE wire_close(VALUE self) {
    struct rpc_wire *wire = wire_of(self);
    rb_rescue2(close_io, wire->io, ignore, Qnil, rb_eStandardError, (VALUE)0);
    wire->parts = Qnil;
    return Qnil;
}

static void define(VALUE rpc) {
    VALUE wire = rb_define_class_under(rpc, "NativeWire", rb_cObject);
    rb_define_alloc_func(wire, wire_allocate);
    rb_define_method(wire, "initialize", wire_initialize, 2);
    rb_define_method(wire, "receive", wire_receive, -1);
    rb_define_method(wire, "push", wire_push, 1);
    rb_define_method(wire, "transmit", wire_transmit, 0);
    rb_define_method(wire, "wait", wire_wait, 2);
    rb_define_method(wire, "io", wire_io, 0);
    rb_define_method(wire, "failure", wire_failure, 0);
    rb_define_method(wire, "unsent", wire_unsent, 0);
    rb_define_method(wire, "pushed", wire_pushed, 0);
    rb_define_method(wire, "sent", wire_sent, 0);
    rb_define_method(wire, "foreign?", wire_foreign, 0);
    rb_define_method(wire, "shut", wire_shut, 0);
    rb_define_method(wire, "close", wire_close, 0);
}

/* define_wire(rpc): Plait::RPC is loaded by its name; see rb_wire.c. */
static VALUE native_rpc_define_wire(VALUE self, VALUE rpc) {
    rb_ext_ractor_safe(false);
    define(rpc);
    rb_ext_ractor_safe(true);
    return self;
}

void plait_init_rpc_wire(VALUE plait) {
    id_close = rb_intern("close");
    VALUE native = rb_define_module_under(plait, "NativeRPC");
    rb_define_singleton_method(native, "define_wire", native_rpc_define_wire, 1);
}
