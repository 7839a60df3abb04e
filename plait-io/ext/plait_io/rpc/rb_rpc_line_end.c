/* The end of a call that no member waits for any more, and that of a line. */
#include "rb_rpc_line_end.h"

#include "../plait_io.h"
#include "rb_rpc_line_members.h"
#include "rb_rpc_line_send.h"
#include "rb_rpc_line_wait.h"
#include "rb_rpc_call_batch.h"

static ID id_state, id_outcome, id_id, id_frame_end, id_close, id_ended;
static VALUE sym_lost, sym_unsent;

bool plait_line_drop(struct line *line, VALUE future, const char *state) {
    if (plait_line_settled(future)) return false;
    plait_call_batch_unlink(line, future);
    if (!NIL_P(line->calls)) rb_hash_delete(line->calls, rb_attr_get(future, id_id));
    plait_line_settle(line, future, ID2SYM(rb_intern(state)), Qnil);
    if (line->reading && line->reader->future == future) plait_line_rouse_reader(line);
    return true;
}

static VALUE rpc_line_end_close_io(VALUE io) {
    return rb_funcall(io, id_close, 0);
}

static VALUE rpc_line_end_ignore(VALUE unused, VALUE error) {
    (void)unused, (void)error;
    return Qnil;
}

static VALUE rpc_line_end_tell(VALUE argument) {
    const struct line *line = (const struct line *)argument;
    return rb_funcall(line->connection, id_ended, 1, line->over);
}

static void rpc_line_end_close(VALUE io) {
    rb_rescue2(rpc_line_end_close_io, io, rpc_line_end_ignore, Qnil, rb_eStandardError, (VALUE)0);
}

/* OpenSSL's socket closes both, but raises in a signal handler: it takes a Mutex. */
static VALUE rpc_line_end_close_quietly(VALUE argument) {
    const struct line *line = (const struct line *)argument;
    if (!NIL_P(line->secure)) rpc_line_end_close(line->secure);
    rpc_line_end_close(line->io);
    return Qnil;
}

/* The last member at the socket closes it. The socket of a server's line has to leave its reactor first. */
void plait_line_release(struct line *line) {
    if (NIL_P(line->over) || line->released) return;
    if (line->reader || line->drainer || line->sending || line->receiving) return;

    line->released = true;
    rb_ensure(rpc_line_end_tell, (VALUE)line, rpc_line_end_close_quietly, (VALUE)line);
}

/* ---- the end ---- */

struct end {
    struct line *line;
    VALUE reason;
};

static void rpc_line_end_fail(const struct end *end, VALUE future) {
    bool sent = plait_line_may_be_sent(end->line, NUM2ULL(rb_attr_get(future, id_frame_end)));
    rb_ivar_set(future, id_outcome, end->reason);
    rb_ivar_set(future, id_state, sent ? sym_lost : sym_unsent);
    plait_line_tell_followers(end->line, future);
}

static int rpc_line_end_fail_call(VALUE id, VALUE future, VALUE argument) {
    (void)id;
    rpc_line_end_fail((const struct end *)argument, future);
    return ST_CONTINUE;
}

static void rpc_line_end_fail_batches(const struct end *end) {
    while (end->line->call_batches) {
        VALUE batch = plait_call_batch_self(end->line->call_batches);
        plait_call_batch_unlink(end->line, batch);
        rpc_line_end_fail(end, batch);
        RB_GC_GUARD(batch);
    }
}

static VALUE rpc_line_end_finish(VALUE argument) {
    const struct end *end = (const struct end *)argument;
    struct line *line = end->line;
    if (!NIL_P(line->over)) return Qnil;

    VALUE calls = line->calls;
    line->over = end->reason;
    line->calls = line->writer = line->parts = Qnil;
    line->unsent = false;
    if (!NIL_P(calls)) rb_hash_foreach(calls, rpc_line_end_fail_call, argument);
    rpc_line_end_fail_batches(end);
    plait_line_shut(line);
    plait_line_wake_all(line);
    plait_line_release(line);
    return Qnil;
}

void plait_line_finish(struct line *line, VALUE reason) {
    struct end end = {.line = line, .reason = reason};
    if (NIL_P(line->over)) plait_undisturbed_by(rb_cObject, rpc_line_end_finish, (VALUE)&end);
}

void plait_init_rpc_line_end(void) {
    id_state = rb_intern("@state");
    id_outcome = rb_intern("@outcome");
    id_id = rb_intern("@id");
    id_frame_end = rb_intern("@frame_end");
    id_close = rb_intern("close");
    id_ended = rb_intern("ended");
    sym_lost = ID2SYM(rb_intern("lost"));
    sym_unsent = ID2SYM(rb_intern("unsent"));
}

