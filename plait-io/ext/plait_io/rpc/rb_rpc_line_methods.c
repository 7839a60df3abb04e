/* See rb_rpc_line.h. What its errors say is in plait-rpc/lib/plait/rpc/connection.rb. */
#include "rb_rpc_line.h"

#include <math.h>
#include <ruby/io.h>

#include "../messagepack_rpc/rb_messagepack_rpc.h"
#include "../messagepack_rpc/rb_messagepack_rpc_small.h"
#include "../plait_io.h"
#include "../tls/rb_tls.h"
#include "rb_rpc_line_end.h"
#include "rb_rpc_line_members.h"
#include "rb_rpc_line_receive.h"
#include "rb_rpc_line_roles.h"
#include "rb_rpc_line_send.h"
#include "rb_rpc_line_wait.h"
#include "rb_rpc_call_batch.h"

/* Bytes that are gathered for one send. */
enum { GATHERED = 64 * 1024 };

/* Looks in a row while something comes: an end of the connection may be behind it. */
enum { LOOKS = 16 };

/* Seconds after which an unused connection is looked at before it is used again. */
static const double REST = 0.001;

static ID id_at_id, id_method_name, id_frame_end, id_complaint, id_close, id_unsent_left, id_pack;

/* ---- the object ---- */

static void rpc_line_mark(void *data) {
    const struct line *line = data;
    rb_gc_mark(line->self); /* so that it does not move */
    rb_gc_mark(line->io);
    rb_gc_mark(line->secure);
    rb_gc_mark(line->parser);
    rb_gc_mark(line->writer);
    rb_gc_mark(line->parts);
    rb_gc_mark(line->connection);
    rb_gc_mark(line->calls);
    rb_gc_mark(line->batch);
    rb_gc_mark(line->over);
    for (const struct call_batch *batch = line->call_batches; batch; batch = plait_call_batch_next(batch)) {
        rb_gc_mark(plait_call_batch_self(batch));
    }
    for (int i = 0; line->waits && i < LINE_WAITS; i++) rb_gc_mark(line->waits[i].fiber);
    plait_line_mark_members(line);
}

/* In a fork one of them may be locked for good. */
static void rpc_line_free_wakeups(struct line *line) {
    for (struct wakeup *next, *wakeup = line->wakeups; wakeup && line->generation == plait_generation(); wakeup = next) {
        next = wakeup->next;
        plait_wakeup_free(wakeup);
    }
}

/* A fiber that was waiting may go with it, without having left. */
static void rpc_line_free(void *data) {
    struct line *line = data;
    for (int i = 0; line->waits && i < LINE_WAITS; i++) plait_deadline_remove(&line->waits[i].deadline);
    xfree(line->waits);
    rpc_line_free_wakeups(line);
    if (line->awaited) st_free_table(line->awaited);
    xfree(line);
}

static size_t rpc_line_size(const void *data) {
    const struct line *line = data;
    return sizeof(struct line) + (line->waits ? LINE_WAITS * sizeof(struct line_wait) : 0) +
           (line->awaited ? st_memsize(line->awaited) : 0);
}

const rb_data_type_t plait_line_type = {
    .wrap_struct_name = "Plait::RPC::NativeLine",
    .function = {.dmark = rpc_line_mark, .dfree = rpc_line_free, .dsize = rpc_line_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE rpc_line_allocate(VALUE class) {
    struct line *line;
    VALUE self = TypedData_Make_Struct(class, struct line, &plait_line_type, line);
    line->io = line->parser = line->writer = line->parts = line->connection = line->calls = line->batch = line->over = Qnil;
    line->secure = Qnil;
    line->self = self;
    line->generation = plait_generation();
    line->last_id = UINT32_MAX;
    line->armed = line->earliest = INFINITY;
    line->touched = plait_now();
    line->due_end = &line->due;
    return self;
}

static void rpc_line_make_waits(struct line *line) {
    line->waits = ZALLOC_N(struct line_wait, LINE_WAITS);
    for (int i = 0; i < LINE_WAITS; i++) line->waits[i].fiber = Qnil;
}

static void rpc_line_load_names(ID *names) {
    names[0] = rb_intern("room");
    names[1] = rb_intern("served");
    names[2] = rb_intern("raw");
    names[3] = rb_intern("plain");
    names[4] = rb_intern("batches");
}

/* new(io, parser, connection, room:, served:, raw:, plain: false, batches: false) */
static VALUE rpc_line_initialize(int argc, VALUE *argv, VALUE self) {
    static ID names[5];
    if (!names[0]) rpc_line_load_names(names);
    struct line *line = plait_line_of(self);
    VALUE io, parser, connection, keywords, values[5];
    rb_scan_args(argc, argv, "3:", &io, &parser, &connection, &keywords);
    rb_get_kwargs(keywords, names, 3, 2, values);
    plait_messagepack_rpc_missing(parser); /* raises unless it is one */
    line->io = rb_io_get_io(io);
    if (line->io != io) {
        line->ssl = plait_tls_of(io);
        line->secure = io;
    }
    line->parser = parser;
    line->connection = connection;
    line->room = NUM2SIZET(values[0]);
    line->served = RTEST(values[1]);
    if (!line->served && !line->waits) rpc_line_make_waits(line);
    line->raw = RTEST(values[2]);
    line->plain = values[3] != Qundef && RTEST(values[3]);
    line->batches = line->plain && values[4] != Qundef && RTEST(values[4]);
    return self;
}

static bool rpc_line_foreign(const struct line *line) {
    return line->generation != plait_generation();
}

/* ---- saying something ---- */

NORETURN(static void rpc_line_raise_over(const struct line *line, VALUE reason));
static void rpc_line_raise_over(const struct line *line, VALUE reason) {
    rb_exc_raise(rb_funcall(line->connection, id_complaint, 1, reason));
}

static void rpc_line_check_open(const struct line *line) {
    if (rpc_line_foreign(line)) rpc_line_raise_over(line, rb_utf8_str_new_cstr("belongs to the parent process"));
    if (!NIL_P(line->over)) rpc_line_raise_over(line, line->over);
}

/* NaN is no moment that ever comes: a member that waits for it would never leave. */
static double rpc_line_limit_of(VALUE limit) {
    if (NIL_P(limit)) return INFINITY;

    double moment = NUM2DBL(limit);
    return isnan(moment) ? 0 : moment;
}

static bool rpc_line_overfull(const struct line *line) {
    return NIL_P(line->over) && plait_line_unsent(line) > line->room;
}

/* Much is said, and whether the peer takes it is not known yet: it is tried before more is said. */
static void rpc_line_try_to_send(VALUE self) {
    struct line *line = plait_line_of(self);
    if (line->sending && rpc_line_overfull(line)) {
        struct member member = plait_line_member(WANT_TURN, INFINITY);
        plait_line_stay(self, &member, NULL, NULL);
    }
    if (!line->unsent && rpc_line_overfull(line)) plait_line_flush(line);
}

/* Waits until there is room for another frame. Returns whether there is in time. */
static bool rpc_line_await_room(VALUE self, double limit) {
    struct line *line = plait_line_of(self);
    if (!rpc_line_overfull(line)) return true;
    rpc_line_try_to_send(self);
    if (!line->unsent || !rpc_line_overfull(line)) return true;
    if (line->served) rb_funcall(line->connection, id_unsent_left, 0);

    struct member member = plait_line_member(WANT_ROOM, limit);
    return plait_line_stay(self, &member, NULL, NULL);
}

/* Waits until so many bytes are sent, where no other member sends them. Returns false when the time is up before, or the line
 * over. */
static bool rpc_line_stay_until_sent(VALUE self, uint64_t until, double limit) {
    struct line *line = plait_line_of(self);
    if (line->served) {
        rb_funcall(line->connection, id_unsent_left, 0);
        return true;
    }
    struct member member = plait_line_member(WANT_SENT, limit);
    member.until = until;
    return plait_line_stay(self, &member, NULL, NULL);
}

NORETURN(static void rpc_line_raise_unsent(const struct line *line, uint64_t until));
static void rpc_line_raise_unsent(const struct line *line, uint64_t until) {
    VALUE options = rb_hash_new();
    rb_hash_aset(options, ID2SYM(rb_intern("retry_safe")), plait_line_may_be_sent(line, until) ? Qfalse : Qtrue);
    VALUE arguments[] = {line->over, options};
    rb_exc_raise(rb_funcallv_kw(line->connection, id_complaint, 2, arguments, RB_PASS_KEYWORDS));
}

/*
 * The same, but raises when the line is over before. What other members say behind these bytes doesn't count: the peer may have
 * acted on these long before.
 */
static bool rpc_line_drain(VALUE self, uint64_t until, double limit) {
    if (rpc_line_stay_until_sent(self, until, limit)) return true;

    const struct line *line = plait_line_of(self);
    if (!NIL_P(line->over)) rpc_line_raise_unsent(line, until);
    return false;
}

/* Sends what was said so far. Returns as above. */
static bool rpc_line_send_out(VALUE self, double limit) {
    struct line *line = plait_line_of(self);
    uint64_t until = plait_line_said(line);
    return plait_line_flush_soon(line) || rpc_line_drain(self, until, limit);
}

/* Takes what is there, where no member reads. */
static void rpc_line_look(VALUE self) {
    struct line *line = plait_line_of(self);
    uint64_t before;
    int looks = 0;
    do {
        if (line->reader || line->served || !NIL_P(line->over)) return;

        before = line->received;
        struct member member = plait_line_member(WANT_LOOK, INFINITY);
        line->drained = false;
        plait_line_stay(self, &member, NULL, NULL);
    } while (line->received != before && ++looks < LOOKS);
}

/* A connection that was at rest may have ended unnoticed: then the next call would be lost. */
static void rpc_line_look_after_rest(VALUE self) {
    struct line *line = plait_line_of(self);
    double now = plait_now();
    if (!line->reader && now - line->touched > REST) rpc_line_look(self);
    line->touched = now;
    rpc_line_check_open(line);
}

size_t plait_line_pending(const struct line *line) {
    return (NIL_P(line->calls) ? 0 : RHASH_SIZE(line->calls)) + plait_call_batches_pending(line);
}

static bool rpc_line_in_use(const struct line *line, uint32_t id) {
    if (plait_call_batches_find(line, id)) return true;
    return !NIL_P(line->calls) && RHASH_SIZE(line->calls) && !NIL_P(rb_hash_lookup(line->calls, UINT2NUM(id)));
}

/* The first of so many in a row. Ids are 32 bits long, and one may still be in use when all have been given once. */
static uint32_t rpc_line_free_ids(struct line *line, uint32_t count) {
    uint32_t first = line->last_id + 1;
    for (uint32_t number = 0; number < count; number++) {
        if (!rpc_line_in_use(line, first + number)) continue;
        first += number + 1;
        number = UINT32_MAX; /* begins again */
    }
    line->last_id = first + count - 1;
    return first;
}

static void rpc_line_note_call(struct line *line, VALUE future, VALUE id) {
    if (NIL_P(line->calls)) line->calls = rb_hash_new();
    rb_hash_aset(line->calls, id, future);
    rb_ivar_set(future, id_at_id, id);
    rb_ivar_set(future, id_frame_end, ULL2NUM(plait_line_said(line)));
}

static void rpc_line_enter_call(struct line *line, VALUE future, VALUE params) {
    uint32_t number = rpc_line_free_ids(line, 1);
    plait_messagepack_rpc_write_request(plait_line_writer(line), number, rb_attr_get(future, id_method_name), params);
    rpc_line_note_call(line, future, UINT2NUM(number));
}

static void rpc_line_enter_small_call(struct line *line, VALUE future, const char *bytes, size_t size) {
    uint32_t number = rpc_line_free_ids(line, 1);
    VALUE method = rb_attr_get(future, id_method_name);
    plait_messagepack_rpc_write_small_request(plait_line_writer(line), number, method, bytes, size);
    rpc_line_note_call(line, future, UINT2NUM(number));
}

/* ---- calls ---- */

struct entry {
    struct member *member;
    VALUE params;      /* packed; or nil: */
    const char *bytes; /* they are small */
    size_t size;
};

/* A member that sends and stays for the answer reads, if no other member does. */
static void rpc_line_begin_exchange(struct line *line, void *argument) {
    const struct entry *entry = argument;
    rpc_line_check_open(line);
    if (entry->bytes) rpc_line_enter_small_call(line, entry->member->future, entry->bytes, entry->size);
    else rpc_line_enter_call(line, entry->member->future, entry->params);
    if (!line->reader && !line->served) line->reader = entry->member;
    plait_line_flush_soon(line);
    if (line->served && line->unsent) rb_funcall(line->connection, id_unsent_left, 0);
}

static VALUE rpc_line_exchange(VALUE self, VALUE future, struct entry *entry, VALUE limit) {
    double moment = rpc_line_limit_of(limit);
    rpc_line_check_open(plait_line_of(self));
    rpc_line_look_after_rest(self);
    if (!rpc_line_await_room(self, moment)) return Qfalse;

    struct member member = plait_line_member(WANT_ANSWER, moment);
    member.future = future;
    member.sole = true;
    entry->member = &member;
    VALUE done = plait_line_stay(self, &member, rpc_line_begin_exchange, entry) ? Qtrue : Qfalse;
    RB_GC_GUARD(future);
    return done;
}

/* exchange(future, params, limit) */
static VALUE rpc_line_line_exchange(VALUE self, VALUE future, VALUE params, VALUE limit) {
    struct entry entry = {.params = params};
    VALUE done = rpc_line_exchange(self, future, &entry, limit);
    RB_GC_GUARD(params);
    return done;
}

/* ask(future, arguments, limit) => as `exchange`; nil: the arguments are not small, or not as msgpack has them by itself */
static VALUE rpc_line_ask(VALUE self, VALUE future, VALUE arguments, VALUE limit) {
    char bytes[MESSAGEPACK_RPC_SMALL];
    struct entry entry = {.params = Qnil, .bytes = bytes};
    if (plait_line_of(self)->plain) entry.size = plait_messagepack_rpc_pack_small(arguments, bytes, sizeof bytes);
    return entry.size ? rpc_line_exchange(self, future, &entry, limit) : Qnil;
}

/* call(future, params, limit, flush) => false: the time was up before anything was said; nil: before all of it was sent */
static VALUE rpc_line_call(VALUE self, VALUE future, VALUE params, VALUE limit, VALUE flush) {
    struct line *line = plait_line_of(self);
    double moment = rpc_line_limit_of(limit);
    rpc_line_check_open(line);
    rpc_line_look_after_rest(self);
    if (!rpc_line_await_room(self, moment)) return Qfalse;

    rpc_line_check_open(line);
    rpc_line_enter_call(line, future, params);
    if (!RTEST(flush) && plait_line_unsent(line) < GATHERED) return Qtrue;

    uint64_t until = plait_line_said(line);
    if (plait_line_flush_soon(line) || rpc_line_stay_until_sent(self, until, moment)) return Qtrue;
    if (NIL_P(line->over)) return Qnil;
    if (!plait_line_may_be_sent(line, until)) rpc_line_raise_over(line, line->over);
    return Qtrue; /* the future says what is known */
}

/* ---- many calls ---- */

struct shot {
    VALUE self;
    VALUE batch;
    VALUE codec;
    VALUE lists;
    double limit;
    VALUE said; /* as line_call */
};

static size_t rpc_line_pack_arguments(const struct line *line, VALUE arguments, char *out, size_t room) {
    if (!line->plain) return 0;
    if (RB_TYPE_P(arguments, T_ARRAY)) return plait_messagepack_rpc_pack_small(arguments, out, room);

    out[0] = (char)0x91;
    size_t size = plait_messagepack_rpc_pack_small(arguments, out + 1, room - 1);
    return size ? size + 1 : 0;
}

static void rpc_line_write_one(const struct shot *shot, uint32_t id, VALUE method, VALUE arguments) {
    char bytes[MESSAGEPACK_RPC_SMALL];
    struct line *line = plait_line_of(shot->self);
    size_t size = rpc_line_pack_arguments(line, arguments, bytes, sizeof bytes);
    if (size) {
        plait_messagepack_rpc_write_small_request(plait_line_writer(line), id, method, bytes, size);
        return;
    }
    VALUE list = RB_TYPE_P(arguments, T_ARRAY) ? arguments : rb_ary_new_from_args(1, arguments);
    VALUE packed = rb_funcall(shot->codec, id_pack, 1, list);
    if (NIL_P(line->over)) plait_messagepack_rpc_write_request(plait_line_writer(line), id, method, packed);
}

/* What was said before it can't be taken back: a line that ends meanwhile has settled all. */
static VALUE rpc_line_fire(VALUE argument) {
    struct shot *shot = (struct shot *)argument;
    struct line *line = plait_line_of(shot->self);
    VALUE method = rb_attr_get(shot->batch, id_method_name);
    long count = RARRAY_LEN(shot->lists);
    uint32_t first = rpc_line_free_ids(line, (uint32_t)count);
    plait_call_batch_open(line, shot->batch, first, count);
    rb_ivar_set(shot->batch, id_frame_end, ULL2NUM(plait_line_said(line) + 1));
    for (long i = 0; i < count && NIL_P(line->over); i++) {
        if (!rpc_line_await_room(shot->self, shot->limit)) return shot->said = Qfalse;
        if (!NIL_P(line->over)) break;
        rpc_line_write_one(shot, first + (uint32_t)i, method, rb_ary_entry(shot->lists, i));
        if (plait_line_unsent(line) >= GATHERED && !rpc_line_send_out(shot->self, shot->limit)) return shot->said = Qnil;
    }
    if (NIL_P(line->over) && !rpc_line_send_out(shot->self, shot->limit)) return shot->said = Qnil;
    return shot->said = Qtrue;
}

static VALUE rpc_line_cease(VALUE argument) {
    const struct shot *shot = (const struct shot *)argument;
    struct line *line = plait_line_of(shot->self);
    if (shot->said == Qtrue) return Qnil;

    plait_line_drop(line, shot->batch, "cancelled");
    if (NIL_P(line->over)) plait_line_flush_soon(line); /* the frames leave, though no member waits for the answers */
    return Qnil;
}

/* fire(batch, codec, lists, limit) => as `call` */
static VALUE rpc_line_line_fire(VALUE self, VALUE batch, VALUE codec, VALUE lists, VALUE limit) {
    struct shot shot = {.self = self, .batch = batch, .codec = codec, .lists = lists, .limit = rpc_line_limit_of(limit),
                        .said = Qundef};
    rpc_line_check_open(plait_line_of(self));
    Check_Type(lists, T_ARRAY);
    if (RARRAY_LEN(lists) == 0) rb_raise(rb_eArgError, "no calls");
    rpc_line_look_after_rest(self);
    VALUE said = rb_ensure(rpc_line_fire, (VALUE)&shot, rpc_line_cease, (VALUE)&shot);
    RB_GC_GUARD(batch);
    return said;
}

/* send_off(limit): what was said without being flushed */
static VALUE rpc_line_send_off(VALUE self, VALUE limit) {
    return rpc_line_foreign(plait_line_of(self)) || rpc_line_send_out(self, rpc_line_limit_of(limit)) ? Qtrue : Qnil;
}

/* notify(method, params, limit) */
static VALUE rpc_line_notify(VALUE self, VALUE method, VALUE params, VALUE limit) {
    struct line *line = plait_line_of(self);
    double moment = rpc_line_limit_of(limit);
    rpc_line_check_open(line);
    rpc_line_look_after_rest(self);
    if (!rpc_line_await_room(self, moment)) return Qfalse;

    rpc_line_check_open(line);
    plait_messagepack_rpc_write_notification(plait_line_writer(line), method, params);
    return rpc_line_send_out(self, moment) ? Qtrue : Qnil;
}

/* await(future, limit) */
static VALUE rpc_line_await(VALUE self, VALUE future, VALUE limit) {
    struct member member = plait_line_member(WANT_ANSWER, rpc_line_limit_of(limit));
    if (rpc_line_foreign(plait_line_of(self))) rpc_line_check_open(plait_line_of(self));
    member.future = future;
    VALUE done = plait_line_stay(self, &member, NULL, NULL) ? Qtrue : Qfalse;
    RB_GC_GUARD(future);
    return done;
}

/* drop(future, late) */
static VALUE rpc_line_drop(VALUE self, VALUE future, VALUE late) {
    if (rpc_line_foreign(plait_line_of(self))) return Qfalse;
    return plait_line_drop(plait_line_of(self), future, RTEST(late) ? "late" : "cancelled") ? Qtrue : Qfalse;
}

/* follow(future): the connection's `due` is called when it is settled; false: it is, or of the parent of a fork */
static VALUE rpc_line_follow(VALUE self, VALUE future) {
    return !rpc_line_foreign(plait_line_of(self)) && plait_line_follow(future) ? Qtrue : Qfalse;
}

/* look: takes what is there, where no member reads */
static VALUE rpc_line_line_look(VALUE self) {
    if (!rpc_line_foreign(plait_line_of(self))) rpc_line_look(self);
    return Qnil;
}

/* ---- answers ---- */

static VALUE rpc_line_flush_answer(VALUE self, VALUE flush) {
    struct line *line = plait_line_of(self);
    bool full = rpc_line_overfull(line);
    if (full) rpc_line_try_to_send(self);
    if (full && line->served) {
        if (line->unsent) rpc_line_drain(self, plait_line_said(line), INFINITY);
    } else if (RTEST(flush)) {
        rpc_line_send_out(self, INFINITY);
    }
    return Qnil;
}

void plait_line_make_room(VALUE self) {
    if (NIL_P(plait_line_of(self)->over)) rpc_line_flush_answer(self, Qfalse);
}

/* answer(id, result, flush) */
static VALUE rpc_line_answer(VALUE self, VALUE id, VALUE result, VALUE flush) {
    struct line *line = plait_line_of(self);
    if (rpc_line_foreign(line) || !NIL_P(line->over)) return Qnil;
    if (!line->served && RTEST(flush)) rpc_line_await_room(self, INFINITY);
    if (!NIL_P(line->over)) return Qnil;

    plait_messagepack_rpc_write_result(plait_line_writer(line), id, result);
    return rpc_line_flush_answer(self, flush);
}

/* refuse(id, error, data, flush) */
static VALUE rpc_line_refuse(VALUE self, VALUE id, VALUE error, VALUE data, VALUE flush) {
    struct line *line = plait_line_of(self);
    if (rpc_line_foreign(line) || !NIL_P(line->over)) return Qnil;

    plait_messagepack_rpc_write_error(plait_line_writer(line), id, error, data);
    return rpc_line_flush_answer(self, flush);
}

/* flush => whether all is sent */
static VALUE rpc_line_flush(VALUE self) {
    struct line *line = plait_line_of(self);
    return rpc_line_foreign(line) || !NIL_P(line->over) || plait_line_flush(line) ? Qtrue : Qfalse;
}

/* drain: waits until what was said is sent */
static VALUE rpc_line_line_drain(VALUE self) {
    return rpc_line_drain(self, plait_line_said(plait_line_of(self)), INFINITY) ? Qtrue : Qfalse;
}

/* ---- reading for good ---- */

static VALUE rpc_line_run_intake(VALUE argument) {
    struct line *line = (struct line *)argument;
    line->intake = line->taking = true;
    return plait_line_intake(line);
}

static VALUE rpc_line_end_intake(VALUE argument) {
    struct line *line = (struct line *)argument;
    line->intake = line->taking = false;
    plait_line_wake_first(line);
    if (NIL_P(line->over) && !plait_line_flush(line) && line->served) rb_funcall(line->connection, id_unsent_left, 0);
    return Qnil;
}

/* read_available => :idle, :partial, :full or :closed */
static VALUE rpc_line_read_available(VALUE self) {
    struct line *line = plait_line_of(self);
    if (rpc_line_foreign(line) || !NIL_P(line->over)) return ID2SYM(rb_intern("closed"));

    VALUE state = rb_ensure(rpc_line_run_intake, (VALUE)line, rpc_line_end_intake, (VALUE)line);
    RB_GC_GUARD(self);
    return NIL_P(line->over) ? state : ID2SYM(rb_intern("closed"));
}

/* run: stays, so that there is always a reader, until the line is over */
static VALUE rpc_line_run(VALUE self) {
    struct member member = plait_line_member(WANT_END, INFINITY);
    plait_line_stay(self, &member, NULL, NULL);
    return Qnil;
}

/* ---- state ---- */

static VALUE rpc_line_unsent(VALUE self) {
    return ULL2NUM(plait_line_unsent(plait_line_of(self)));
}

static VALUE rpc_line_sending(VALUE self) {
    return plait_line_of(self)->sending ? Qtrue : Qfalse;
}

static VALUE rpc_line_sent(VALUE self) {
    return ULL2NUM(plait_line_of(self)->sent);
}

static VALUE rpc_line_received(VALUE self) {
    return ULL2NUM(plait_line_of(self)->received);
}

static VALUE rpc_line_congested(VALUE self) {
    return plait_line_congested(plait_line_of(self)) ? Qtrue : Qfalse;
}

static VALUE rpc_line_pending(VALUE self) {
    return SIZET2NUM(plait_line_pending(plait_line_of(self)));
}

static VALUE rpc_line_buffered(VALUE self) {
    return plait_line_buffered(plait_line_of(self)) ? Qtrue : Qfalse;
}

static VALUE rpc_line_idle(VALUE self) {
    const struct line *line = plait_line_of(self);
    return plait_line_pending(line) == 0 && !line->unsent && plait_messagepack_rpc_idle(line->parser) ? Qtrue : Qfalse;
}

static VALUE rpc_line_usable(VALUE self) {
    const struct line *line = plait_line_of(self);
    return NIL_P(line->over) && !rpc_line_foreign(line) ? Qtrue : Qfalse;
}

static VALUE rpc_line_over(VALUE self) {
    return plait_line_of(self)->over;
}

static VALUE rpc_line_line_foreign(VALUE self) {
    return rpc_line_foreign(plait_line_of(self)) ? Qtrue : Qfalse;
}

static VALUE rpc_line_io(VALUE self) {
    const struct line *line = plait_line_of(self);
    return NIL_P(line->secure) ? line->io : line->secure;
}

/* finish(reason): in a fork, our descriptor of it is closed */
static VALUE rpc_line_finish(VALUE self, VALUE reason) {
    struct line *line = plait_line_of(self);
    if (!rpc_line_foreign(line)) {
        plait_line_finish(line, reason);
    } else if (!line->released) {
        line->released = true;
        line->over = reason;
        rb_funcall(line->io, id_close, 0);
    }
    return Qnil;
}

/* transfer: on the thread of the reader's scheduler, see plait_line_rouse_reader */
static VALUE rpc_line_transfer(VALUE self) {
    plait_line_end_waits(plait_line_of(self));
    return Qnil;
}

void plait_define_rpc_line(VALUE rpc) {
    VALUE line = rb_define_class_under(rpc, "NativeLine", rb_cObject);
    rb_define_alloc_func(line, rpc_line_allocate);
    rb_define_method(line, "initialize", rpc_line_initialize, -1);
    rb_define_method(line, "exchange", rpc_line_line_exchange, 3);
    rb_define_method(line, "ask", rpc_line_ask, 3);
    rb_define_method(line, "call", rpc_line_call, 4);
    rb_define_method(line, "fire", rpc_line_line_fire, 4);
    rb_define_method(line, "send_off", rpc_line_send_off, 1);
    rb_define_method(line, "notify", rpc_line_notify, 3);
    rb_define_method(line, "await", rpc_line_await, 2);
    rb_define_method(line, "drop", rpc_line_drop, 2);
    rb_define_method(line, "follow", rpc_line_follow, 1);
    rb_define_method(line, "look", rpc_line_line_look, 0);
    rb_define_method(line, "answer", rpc_line_answer, 3);
    rb_define_method(line, "refuse", rpc_line_refuse, 4);
    rb_define_method(line, "flush", rpc_line_flush, 0);
    rb_define_method(line, "drain", rpc_line_line_drain, 0);
    rb_define_method(line, "read_available", rpc_line_read_available, 0);
    rb_define_method(line, "run", rpc_line_run, 0);
    rb_define_method(line, "finish", rpc_line_finish, 1);
    rb_define_method(line, "unsent", rpc_line_unsent, 0);
    rb_define_method(line, "sending?", rpc_line_sending, 0);
    rb_define_method(line, "sent", rpc_line_sent, 0);
    rb_define_method(line, "received", rpc_line_received, 0);
    rb_define_method(line, "congested?", rpc_line_congested, 0);
    rb_define_method(line, "pending", rpc_line_pending, 0);
    rb_define_method(line, "idle?", rpc_line_idle, 0);
    rb_define_method(line, "buffered?", rpc_line_buffered, 0);
    rb_define_method(line, "usable?", rpc_line_usable, 0);
    rb_define_method(line, "over", rpc_line_over, 0);
    rb_define_method(line, "foreign?", rpc_line_line_foreign, 0);
    rb_define_method(line, "io", rpc_line_io, 0);
    rb_define_method(line, "transfer", rpc_line_transfer, 0);
}

void plait_init_rpc_line(void) {
    id_at_id = rb_intern("@id");
    id_method_name = rb_intern("@method_name");
    id_frame_end = rb_intern("@frame_end");
    id_complaint = rb_intern("complaint");
    id_close = rb_intern("close");
    id_unsent_left = rb_intern("unsent_left");
    id_pack = rb_intern("pack");
}
