/* What comes: answers go to the futures they belong to, a large string straight into its final memory. */
#include "rb_rpc_line_receive.h"

#include <errno.h>
#include <ruby/io.h>
#include <ruby/thread.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "../messagepack_rpc/rb_messagepack_rpc.h"
#include "../plait_io.h"
#include "rb_rpc_batch.h"
#include "rb_rpc_line_end.h"
#include "rb_rpc_line_members.h"
#include "rb_rpc_line_secure.h"
#include "rb_rpc_line_wait.h"
#include "rb_rpc_call_batch.h"

enum {
    CHUNK = 64 * 1024,   /* bytes received at once of small messages */
    LARGE = 1024 * 1024, /* of a large string */
    BEHIND = 256,        /* and of what is behind it */
    SLOW = 128 * 1024,   /* bytes from which on a receive is worth giving the GVL to others */
    TURN = 16            /* receives in a row, before others get their turn */
};

static ID id_arrived, id_arrived_together, id_room, id_places, id_content;
static VALUE sym_idle, sym_partial, sym_full, sym_closed, sym_answered, sym_refused, sym_result, sym_lost;
static VALUE end_of_input; /* an EOFError */
static VALUE protocol_error = Qnil;

/* Small things, on their way into a parser: used up before another thread can run. */
static char incoming[CHUNK];

/* ---- bytes ---- */

struct receive {
    int descriptor;
    char *to;
    size_t room;
    char behind[BEHIND]; /* where what does not fit goes, of a large one */
    size_t more;         /* bytes for which there is room in it */
    ssize_t received;    /* bytes, or -1 with error */
    int error;
    VALUE failure;       /* of TLS: an exception; or nil */
};

static ssize_t rpc_line_receive_both(struct receive *receive) {
    struct iovec vectors[] = {{.iov_base = receive->to, .iov_len = receive->room},
                              {.iov_base = receive->behind, .iov_len = receive->more}};
    struct msghdr message = {.msg_iov = vectors, .msg_iovlen = 2};
    return recvmsg(receive->descriptor, &message, MSG_DONTWAIT);
}

static void *rpc_line_receive_now(void *argument) {
    struct receive *receive = argument;
    do receive->received = receive->more
        ? rpc_line_receive_both(receive) : recv(receive->descriptor, receive->to, receive->room, MSG_DONTWAIT);
    while (receive->received < 0 && errno == EINTR);
    receive->error = errno;
    return NULL;
}

/*
 * A large one lets other threads run. With an interrupt at hand rb_nogvl does not call it at all; with RB_NOGVL_INTR_FAIL it
 * raises nothing after it either, so that what was received is counted.
 */
static void rpc_line_receive_without_gvl(struct line *line, struct receive *receive) {
    receive->received = -2;
    plait_line_wake_first(line);
    line->receiving = true;
    rb_nogvl(rpc_line_receive_now, receive, NULL, NULL, RB_NOGVL_INTR_FAIL);
    if (receive->received == -2) rpc_line_receive_now(receive);
    line->receiving = false;
}

/*
 * With its end comes the head of the next message: of a row of large ones each is received by one call, and none of its bytes
 * but the first few are copied twice.
 */
static void rpc_line_receive_large(struct line *line, struct receive *receive) {
    receive->to = plait_messagepack_rpc_room(line->parser, LARGE, &receive->room);
    if (receive->room == plait_messagepack_rpc_missing(line->parser)) receive->more = sizeof receive->behind;
    if (receive->room < SLOW) rpc_line_receive_now(receive);
    else rpc_line_receive_without_gvl(line, receive);
    if (receive->received <= 0) return;

    size_t received = (size_t)receive->received;
    size_t inside = received < receive->room ? received : receive->room;
    plait_messagepack_rpc_received(line->parser, inside);
    if (received > inside) plait_messagepack_rpc_feed(line->parser, receive->behind, received - inside);
}

bool plait_line_buffered(const struct line *line) {
    return line->ssl && !line->drained;
}

/* A server takes all records that are here, and looks seldom whether more are. A caller has one answer at a time, mostly. */
static void rpc_line_receive_secure(struct line *line, struct receive *receive) {
    struct secure_step step;
    size_t total = 0;
    do {
        step = plait_line_secure_receive(line);
        if (step.count > 0) total += (size_t)step.count;
    } while (line->served && step.count > 0 && !step.drained && total < CHUNK);
    receive->room = total + step.drained;
    receive->received = total > 0 ? (ssize_t)total : step.count;
    receive->failure = step.failure;
    receive->error = EAGAIN;
}

static void rpc_line_receive_small(struct line *line, struct receive *receive) {
    receive->to = incoming;
    receive->room = sizeof incoming;
    rpc_line_receive_now(receive);
    if (receive->received > 0) plait_messagepack_rpc_feed(line->parser, incoming, (size_t)receive->received);
}

/* Returns bytes, 0 when there are none now, or -1: it is over, or at the end of the input. */
static ssize_t rpc_line_receive_note(struct line *line, const struct receive *receive) {
    if (receive->received > 0) {
        line->received += (uint64_t)receive->received;
        line->drained = (size_t)receive->received < receive->room + receive->more;
        return receive->received;
    }
    bool blocked = receive->error == EAGAIN || receive->error == EWOULDBLOCK;
    line->drained = receive->received < 0 && NIL_P(receive->failure) && blocked;
    if (line->drained) return 0;

    VALUE failure = receive->failure;
    if (receive->received < 0) plait_line_finish(line, NIL_P(failure) ? rb_syserr_new(receive->error, NULL) : failure);
    return -1;
}

/* `small`: what comes is copied, even of a large string. */
static ssize_t rpc_line_receive_portion(struct line *line, bool small) {
    struct receive receive = {.descriptor = plait_descriptor_of(line->io), .failure = Qnil};
    if (!NIL_P(line->secure)) rpc_line_receive_secure(line, &receive);
    else if (small || plait_messagepack_rpc_missing(line->parser) == 0) rpc_line_receive_small(line, &receive);
    else rpc_line_receive_large(line, &receive);
    return rpc_line_receive_note(line, &receive);
}

/* ---- messages ---- */

/* A large result is unpacked by the thread that asks for it. */
static void rpc_line_receive_settle_by_result(struct line *line, VALUE future) {
    VALUE plain = plait_line_plain_result(line);
    if (plain == Qundef) {
        plait_line_settle(line, future, sym_answered, plait_messagepack_rpc_result(line->parser));
        return;
    }
    rb_ivar_set(future, id_content, plain);
    plait_line_settle(line, future, sym_result, Qnil);
}

static void rpc_line_receive_take_answer(struct line *line) {
    if (line->call_batches && plait_call_batches_take(line)) return;
    if (NIL_P(line->calls)) return;

    VALUE future = rb_hash_delete(line->calls, plait_messagepack_rpc_id(line->parser));
    if (NIL_P(future)) return; /* no member waits for it any more */

    VALUE error = plait_messagepack_rpc_error(line->parser);
    if (NIL_P(error)) rpc_line_receive_settle_by_result(line, future);
    else plait_line_settle(line, future, sym_refused, rb_assoc_new(error, plait_messagepack_rpc_result(line->parser)));
}

static bool rpc_line_receive_wanted(const struct line *line) {
    if (plait_call_batches_find(line, plait_messagepack_rpc_number(line->parser))) return true;
    return !NIL_P(line->calls) && !NIL_P(rb_hash_lookup(line->calls, plait_messagepack_rpc_id(line->parser)));
}

static void rpc_line_receive_look_at_large(struct line *line) {
    if (plait_messagepack_rpc_answers(line->parser) && !rpc_line_receive_wanted(line)) {
        plait_messagepack_rpc_discard(line->parser);
    }
}

struct arrival {
    const struct line *line;
    VALUE id, name, params;
};

static VALUE rpc_line_receive_report(VALUE argument) {
    const struct arrival *arrival = (const struct arrival *)argument;
    return rb_funcall(arrival->line->connection, id_arrived, 3, arrival->id, arrival->name, arrival->params);
}

/* The parser has it no more: an interrupt comes after it. The reader of a server's line holds interrupts back already. */
static void rpc_line_receive_arrive(const struct line *line, VALUE id, VALUE name, VALUE params) {
    struct arrival arrival = {.line = line, .id = id, .name = name, .params = params};
    if (line->served) rpc_line_receive_report((VALUE)&arrival);
    else plait_undisturbed_by(rb_cObject, rpc_line_receive_report, (VALUE)&arrival);
}

static void rpc_line_receive_hand_on(const struct line *line) {
    VALUE parser = line->parser;
    rpc_line_receive_arrive(line, plait_messagepack_rpc_id(parser), plait_messagepack_rpc_method_name(parser),
                            plait_messagepack_rpc_params(parser));
}

static VALUE rpc_line_receive_take_messages(VALUE argument) {
    struct line *line = (struct line *)argument;
    line->left = true;
    for (;;) {
        switch (plait_messagepack_rpc_next_event(line->parser)) {
        case MESSAGEPACK_RPC_MORE:
        case MESSAGEPACK_RPC_CLOSED: line->left = false; return Qtrue;
        case MESSAGEPACK_RPC_RESPONSE: rpc_line_receive_take_answer(line); break;
        case MESSAGEPACK_RPC_LARGE: rpc_line_receive_look_at_large(line); break;
        case MESSAGEPACK_RPC_REQUEST:
        case MESSAGEPACK_RPC_NOTIFICATION: rpc_line_receive_hand_on(line); break;
        default: break;
        }
    }
}

static VALUE rpc_line_receive_end_input(VALUE argument) {
    struct line *line = (struct line *)argument;
    plait_messagepack_rpc_end(line->parser);
    plait_line_finish(line, end_of_input);
    return Qtrue;
}

/* What came before the end is run all the same. */
static void rpc_line_receive_hand_batch_on(struct line *line) {
    VALUE batch = line->batch;
    line->batch = Qnil;
    line->places = 0;
    if (!NIL_P(batch)) rb_funcall(line->connection, id_arrived_together, 1, batch);
}

static bool rpc_line_receive_room(const struct line *line) {
    return RTEST(rb_funcall(line->connection, id_room, 0));
}

/* A batch has requests, or notifications, which have an order of their own. */
static bool rpc_line_receive_fits_batch(const struct line *line) {
    if (NIL_P(line->batch)) return true;
    return (plait_rpc_batch_notifications(line->batch) > 0) == (line->held == MESSAGEPACK_RPC_NOTIFICATION);
}

/* Returns false where there is no room. */
static bool rpc_line_receive_open_batch(struct line *line) {
    if (line->places == 0 || !rpc_line_receive_fits_batch(line)) {
        rpc_line_receive_hand_batch_on(line);
        long places = NUM2LONG(rb_funcall(line->connection, id_places, 0));
        line->places = places < UINT32_MAX ? (uint32_t)places : UINT32_MAX;
        if (line->places == 0) return false;
    }
    if (NIL_P(line->batch)) line->batch = plait_rpc_batch_new(line->self, line->connection);
    return true;
}

static bool rpc_line_receive_add_to_batch(struct line *line) {
    if (!rpc_line_receive_open_batch(line)) return false;

    plait_rpc_batch_add(line->batch, line->parser);
    line->places--;
    return true;
}

/* What is guarded against what the peer sends. */
struct guard {
    struct line *line;
    VALUE (*run)(VALUE);
};

static VALUE rpc_line_receive_hand_all_on(VALUE argument);
static VALUE rpc_line_receive_take_requests(VALUE argument);

/* An answer over a limit is lost for its call alone. */
static bool rpc_line_receive_excuse_answer(struct line *line, VALUE error) {
    if (plait_call_batches_find(line, plait_messagepack_rpc_number(line->parser))) return false;
    if (!plait_messagepack_rpc_excuse(line->parser)) return false;

    VALUE id = plait_messagepack_rpc_id(line->parser);
    VALUE future = NIL_P(line->calls) ? Qnil : rb_hash_delete(line->calls, id);
    if (!NIL_P(future)) plait_line_settle(line, future, sym_lost, error);
    return true;
}

/* Whether there is room for what is over a limit, as for any request. */
static bool rpc_line_receive_room_for_excess(struct line *line, const struct guard *guard) {
    if (guard->run == rpc_line_receive_take_requests) return false; /* it is left to read_available, which meets it again */
    if (guard->run != rpc_line_receive_hand_all_on) return true;
    if (!line->batches) return rpc_line_receive_room(line);

    line->held = NIL_P(plait_messagepack_rpc_id(line->parser)) ? MESSAGEPACK_RPC_NOTIFICATION : MESSAGEPACK_RPC_REQUEST;
    bool open = rpc_line_receive_open_batch(line);
    line->held = MESSAGEPACK_RPC_MORE;
    return open;
}

/* It is handed on with the error in the place of its arguments. */
static bool rpc_line_receive_excuse_request(struct line *line, const struct guard *guard, VALUE error) {
    VALUE id = plait_messagepack_rpc_id(line->parser);
    VALUE name = plait_messagepack_rpc_method_name(line->parser);
    if (!plait_messagepack_rpc_excuse(line->parser)) return false;

    if (guard->run == rpc_line_receive_hand_all_on && line->batches) {
        plait_rpc_batch_add_other(line->batch, id, name, error);
        line->places--;
    } else {
        rpc_line_receive_arrive(line, id, name, error);
    }
    return true;
}

/* Qundef: it goes on. */
static VALUE rpc_line_receive_finish_by(VALUE argument, VALUE error) {
    const struct guard *guard = (const struct guard *)argument;
    struct line *line = guard->line;
    if (plait_messagepack_rpc_answers(line->parser)) {
        if (rpc_line_receive_excuse_answer(line, error)) return Qundef;
    } else if (plait_messagepack_rpc_excusable(line->parser)) {
        if (!rpc_line_receive_room_for_excess(line, guard)) return Qfalse;
        if (rpc_line_receive_excuse_request(line, guard, error)) return Qundef;
    }
    rpc_line_receive_hand_batch_on(line);
    plait_line_finish(line, error);
    return Qfalse;
}

static VALUE rpc_line_receive_run_guarded(VALUE argument) {
    const struct guard *guard = (const struct guard *)argument;
    return guard->run((VALUE)guard->line);
}

/* What the peer sends may break the protocol: then it is over. */
static VALUE rpc_line_receive_guarded(struct line *line, VALUE (*run)(VALUE)) {
    if (NIL_P(protocol_error)) protocol_error = rb_path2class("Plait::RemoteProtocolError");
    struct guard guard = {.line = line, .run = run};
    VALUE result;
    do result = rb_rescue2(rpc_line_receive_run_guarded, (VALUE)&guard, rpc_line_receive_finish_by, (VALUE)&guard,
                           protocol_error, (VALUE)0);
    while (result == Qundef);
    return result;
}

/* The calling member is the reader: if it is interrupted, `rpc_line_roles_leave` does the rest. */
void plait_line_take_in(struct line *line) {
    ssize_t received = 1;
    line->taking = true;
    if (line->left) rpc_line_receive_guarded(line, rpc_line_receive_take_messages);
    for (int turn = 0; turn < TURN && received != 0 && !line->drained && NIL_P(line->over); turn++) {
        received = rpc_line_receive_portion(line, false);
        if (received != 0) {
            rpc_line_receive_guarded(line, received > 0 ? rpc_line_receive_take_messages : rpc_line_receive_end_input);
        }
    }
    line->taking = false;
    plait_line_wake_first(line);
    plait_line_release(line);
}

/* ---- messages, for a permanent reader ---- */

static bool rpc_line_receive_take(struct line *line) {
    switch (line->held) {
    case MESSAGEPACK_RPC_REQUEST:
    case MESSAGEPACK_RPC_NOTIFICATION:
        if (line->batches) return rpc_line_receive_add_to_batch(line);
        if (!rpc_line_receive_room(line)) return false;
        rpc_line_receive_hand_on(line);
        return true;
    case MESSAGEPACK_RPC_RESPONSE: rpc_line_receive_take_answer(line); return true;
    case MESSAGEPACK_RPC_LARGE:
        rpc_line_receive_look_at_large(line); return plait_messagepack_rpc_answers(line->parser) || rpc_line_receive_room(line);
    default: return true;
    }
}

/* Returns false where a message has to wait until there is room. */
static bool rpc_line_receive_take_all(struct line *line) {
    for (;;) {
        if (line->held == MESSAGEPACK_RPC_MORE) line->held = plait_messagepack_rpc_next_event(line->parser);
        if (line->held == MESSAGEPACK_RPC_MORE || line->held == MESSAGEPACK_RPC_CLOSED) return true;
        if (!rpc_line_receive_take(line)) return false;
        line->held = MESSAGEPACK_RPC_MORE;
    }
}

static VALUE rpc_line_receive_hand_all_on(VALUE argument) {
    struct line *line = (struct line *)argument;
    bool all = rpc_line_receive_take_all(line);
    rpc_line_receive_hand_batch_on(line);
    return all ? Qtrue : Qfalse;
}

VALUE plait_line_intake(struct line *line) {
    if (!RTEST(rpc_line_receive_guarded(line, rpc_line_receive_hand_all_on))) return NIL_P(line->over) ? sym_full : sym_closed;

    ssize_t received = NIL_P(line->over) ? rpc_line_receive_portion(line, false) : -1;
    if (received < 0 && NIL_P(line->over)) rpc_line_receive_guarded(line, rpc_line_receive_end_input);
    if (received > 0 && !RTEST(rpc_line_receive_guarded(line, rpc_line_receive_hand_all_on)) && NIL_P(line->over)) {
        return sym_full;
    }
    if (!NIL_P(line->over)) {
        plait_line_release(line);
        return sym_closed;
    }
    return plait_messagepack_rpc_idle(line->parser) ? sym_idle : sym_partial;
}

/* ---- requests, for a worker that runs them at once ---- */

bool plait_line_holds_request(const struct line *line) {
    return line->held == MESSAGEPACK_RPC_REQUEST || line->held == MESSAGEPACK_RPC_NOTIFICATION;
}

/* What is anything else is held for read_available. */
static VALUE rpc_line_receive_take_requests(VALUE argument) {
    struct line *line = (struct line *)argument;
    for (;;) {
        if (line->held == MESSAGEPACK_RPC_MORE) line->held = plait_messagepack_rpc_next_event(line->parser);
        if (line->held == MESSAGEPACK_RPC_MORE) return Qtrue;
        if (!plait_line_holds_request(line)) return Qfalse;
        if (line->places == 0 || !rpc_line_receive_fits_batch(line)) return Qfalse;
        if (NIL_P(line->batch)) line->batch = plait_rpc_batch_new(line->self, line->connection);
        plait_rpc_batch_add(line->batch, line->parser);
        line->places--;
        line->held = MESSAGEPACK_RPC_MORE;
    }
}

/* An end is left to read_available, which finds it again. */
VALUE plait_line_take_requests(struct line *line, uint32_t most, VALUE *batch) {
    if (!plait_line_holds_request(line)) {
        ssize_t received = rpc_line_receive_portion(line, true);
        if (received == 0) return sym_idle;
        if (received < 0) return NIL_P(line->over) ? sym_full : sym_closed;
    }
    line->places = most;
    VALUE all = rpc_line_receive_guarded(line, rpc_line_receive_take_requests);
    line->places = 0;
    if (!NIL_P(line->over)) {
        plait_line_release(line);
        return sym_closed;
    }
    *batch = line->batch;
    line->batch = Qnil;
    if (!RTEST(all)) return sym_full;
    return plait_messagepack_rpc_idle(line->parser) ? sym_idle : sym_partial;
}

void plait_init_rpc_line_receive(void) {
    id_arrived = rb_intern("arrived");
    id_arrived_together = rb_intern("arrived_together");
    id_room = rb_intern("room?");
    id_places = rb_intern("places");
    sym_idle = ID2SYM(rb_intern("idle"));
    sym_partial = ID2SYM(rb_intern("partial"));
    sym_full = ID2SYM(rb_intern("full"));
    sym_closed = ID2SYM(rb_intern("closed"));
    sym_answered = ID2SYM(rb_intern("answered"));
    sym_refused = ID2SYM(rb_intern("refused"));
    sym_result = ID2SYM(rb_intern("result"));
    sym_lost = ID2SYM(rb_intern("lost"));
    id_content = rb_intern("@content");
    rb_gc_register_address(&protocol_error);
    end_of_input = rb_obj_freeze(rb_exc_new_cstr(rb_eEOFError, "the end of the input"));
    rb_gc_register_mark_object(end_of_input);
}
