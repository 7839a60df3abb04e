/*
 * Plait::Protocols::MessagePackRPC::NativeParser: the engine of messagepack_rpc.h for Ruby. In Ruby it is PureParser in
 * plait-rpc/lib/plait/protocols/messagepack_rpc/. Strings are made when they are asked for.
 */
#include "rb_messagepack_rpc.h"

#include <ruby/encoding.h>

#include "messagepack_rpc.h"
#include "../plait_io.h"
#include "rb_messagepack_rpc_small.h"

enum {
    SHARED = 64 * 1024, /* packed values of so many bytes share the buffer's memory where they can */
    KEPT = 64 * 1024    /* a buffer with more memory than this is given up when little of it is in use */
};

static ID id_new, id_limits, id_large, id_bytes, id_bodies, id_marks, id_ambiguous;
static VALUE kinds[MPRPC_UNKNOWN];
/* The name that was asked for last: as a rule the next one too. */
static VALUE last_name = Qnil;

static VALUE sym_large, sym_discarded, sym_closed, sym_bin, sym_str;

struct parser {
    struct mprpc_limits limits;
    struct mprpc_scan scan;
    VALUE limits_value; /* the Limits, for messages */
    VALUE buffer;       /* a String of our own, or nil; from `at` on: the message that was announced or is scanned */
    VALUE body;         /* the large string that is being received, or nil */
    VALUE bodies;       /* large strings of this message, or nil when it has none */
    VALUE marks;        /* where their marks stand in the message, in its bytes without them */
    size_t at;          /* bytes of the buffer that are done with */
    uint64_t threshold; /* of large strings */
    bool opened;        /* initialized */
    bool finished;      /* no more bytes will be fed */
    bool announced;          /* the parser has announced the message to its caller */
    bool discarding;    /* no caller wants the message */
    bool lent;          /* the end of the buffer is a value that was handed out */
};

static void messagepack_rpc_parser_mark(void *data) {
    const struct parser *parser = data;
    rb_gc_mark(parser->limits_value);
    rb_gc_mark(parser->buffer);
    rb_gc_mark(parser->body);
    rb_gc_mark(parser->bodies);
    rb_gc_mark(parser->marks);
}

static void messagepack_rpc_parser_free(void *data) {
    struct parser *parser = data;
    xfree(parser->scan.levels);
    xfree(parser);
}

static size_t messagepack_rpc_parser_size(const void *data) {
    const struct parser *parser = data;
    return sizeof *parser + (parser->scan.levels ? parser->limits.nesting * sizeof *parser->scan.levels : 0);
}

static const rb_data_type_t parser_type = {
    .wrap_struct_name = "Plait::Protocols::MessagePackRPC::NativeParser",
    .function = {.dmark = messagepack_rpc_parser_mark, .dfree = messagepack_rpc_parser_free,
                 .dsize = messagepack_rpc_parser_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE messagepack_rpc_parser_allocate(VALUE class) {
    struct parser *parser;
    VALUE self = TypedData_Make_Struct(class, struct parser, &parser_type, parser);
    parser->limits_value = parser->buffer = parser->body = parser->bodies = parser->marks = Qnil;
    return self;
}

static struct parser *messagepack_rpc_parser_of(VALUE self) {
    struct parser *parser = rb_check_typeddata(self, &parser_type);
    if (!parser->opened) rb_raise(rb_eArgError, "the parser was never initialized");
    return parser;
}

/* ---- errors ---- */

static VALUE messagepack_rpc_rules(void) {
    return rb_path2class("Plait::Protocols::MessagePackRPC::Rules");
}

VALUE plait_messagepack_rpc_misuse(const char *message) {
    return plait_misuse(messagepack_rpc_rules(), message);
}

NORETURN(static void messagepack_rpc_raise_broken(const struct parser *parser));
static void messagepack_rpc_raise_broken(const struct parser *parser) {
    const char *name = mprpc_rule(-(int)parser->scan.rule)->name;
    plait_raise_broken(messagepack_rpc_rules(), name, parser->scan.error_at, parser->limits_value);
}

/* ---- beginnings ---- */

static void messagepack_rpc_start(struct parser *parser) {
    uint32_t *levels = parser->scan.levels;
    mprpc_start(&parser->scan, &parser->limits, levels, parser->threshold);
    parser->body = parser->bodies = parser->marks = Qnil;
    parser->announced = parser->discarding = parser->lent = false;
}

static uint64_t messagepack_rpc_threshold_of(VALUE large) {
    if (large == Qundef) return 64 * 1024;
    if (NIL_P(large)) return UINT64_MAX;
    if (!RB_INTEGER_TYPE_P(large) || RTEST(rb_funcall(large, '<', 1, INT2FIX(1)))) {
        rb_exc_raise(plait_messagepack_rpc_misuse("large: must be a number of bytes, at least 1, or nil"));
    }
    return NUM2ULL(large);
}

/* initialize(limits: Limits.new, large: 64 KiB) */
static VALUE messagepack_rpc_parser_initialize(int argc, VALUE *argv, VALUE self) {
    struct parser *parser = rb_check_typeddata(self, &parser_type);
    if (parser->opened) rb_exc_raise(plait_messagepack_rpc_misuse("the parser is initialized already"));

    ID names[] = {id_limits, id_large};
    VALUE options, values[2];
    rb_scan_args(argc, argv, "0:", &options);
    rb_get_kwargs(options, names, 0, 2, values);
    VALUE limits = values[0];
    if (limits == Qundef) limits = rb_funcall(rb_path2class("Plait::Protocols::MessagePackRPC::Limits"), id_new, 0);

    VALUE numbers = plait_limit_numbers(limits, 4);
    parser->limits = (struct mprpc_limits){
        .message = NUM2ULL(rb_ary_entry(numbers, 0)),
        .nesting = NUM2UINT(rb_ary_entry(numbers, 1)),
        .elements = NUM2UINT(rb_ary_entry(numbers, 2)),
        .method_name = NUM2UINT(rb_ary_entry(numbers, 3)),
    };
    parser->threshold = messagepack_rpc_threshold_of(values[1]);
    parser->limits_value = limits;
    messagepack_rpc_start(parser);
    parser->opened = true;
    return self;
}

/* ---- the buffer ---- */

static size_t messagepack_rpc_pending(const struct parser *parser) {
    return NIL_P(parser->buffer) ? 0 : (size_t)RSTRING_LEN(parser->buffer) - parser->at;
}

static const char *messagepack_rpc_pending_bytes(const struct parser *parser) {
    return NIL_P(parser->buffer) ? "" : RSTRING_PTR(parser->buffer) + parser->at;
}

/* Moves what is in use to the beginning. */
static void messagepack_rpc_compact(struct parser *parser) {
    size_t size = messagepack_rpc_pending(parser);
    rb_str_modify(parser->buffer);
    memmove(RSTRING_PTR(parser->buffer), messagepack_rpc_pending_bytes(parser), size);
    rb_str_set_len(parser->buffer, (long)size);
    parser->at = 0;
}

static char *messagepack_rpc_room_in_buffer(struct parser *parser, size_t wanted) {
    if (NIL_P(parser->buffer)) parser->buffer = rb_str_buf_new((long)wanted);
    if (rb_str_capacity(parser->buffer) - (size_t)RSTRING_LEN(parser->buffer) < wanted && parser->at) {
        messagepack_rpc_compact(parser);
    }

    size_t size = (size_t)RSTRING_LEN(parser->buffer);
    if (rb_str_capacity(parser->buffer) - size < wanted) {
        rb_str_modify_expand(parser->buffer, (long)(wanted > size ? wanted : size));
    } else {
        rb_str_modify(parser->buffer);
    }
    return RSTRING_PTR(parser->buffer) + size;
}

/* Between messages, with nothing here: an idle connection costs no memory but the parser. */
static void messagepack_rpc_rest(struct parser *parser) {
    if (!NIL_P(parser->buffer)) rb_str_resize(parser->buffer, 0);
    parser->at = 0;
    xfree(parser->scan.levels);
    parser->scan.levels = NULL;
}

/* A large message's memory is not kept for the small ones behind it. */
static void messagepack_rpc_give_up_memory(struct parser *parser) {
    size_t size = messagepack_rpc_pending(parser);
    size_t capacity = NIL_P(parser->buffer) ? 0 : rb_str_capacity(parser->buffer);
    if (!(parser->lent && size == 0) && (capacity <= KEPT || size > capacity / 8)) return;

    parser->buffer = size ? rb_str_new(messagepack_rpc_pending_bytes(parser), (long)size) : Qnil;
    parser->at = 0;
}

static void messagepack_rpc_begin_next(struct parser *parser) {
    parser->at += (size_t)parser->scan.at;
    messagepack_rpc_give_up_memory(parser);
    messagepack_rpc_start(parser);
}

/* ---- large strings ---- */

static size_t messagepack_rpc_missing(const struct parser *parser) {
    if (NIL_P(parser->body)) return 0;

    size_t here = (size_t)RSTRING_LEN(parser->body);
    if (here > parser->scan.large.size) {
        rb_exc_raise(plait_messagepack_rpc_misuse("more was appended to the body than it misses"));
    }
    return parser->scan.large.size - here;
}

/* The string's memory is reserved as mprpc_reserve allows. */
static char *messagepack_rpc_room_in_body(struct parser *parser, size_t wanted, size_t *size) {
    size_t here = (size_t)RSTRING_LEN(parser->body);
    size_t capacity = rb_str_capacity(parser->body);
    if (capacity <= here) {
        rb_str_modify_expand(parser->body, (long)(mprpc_reserve(parser->scan.large.size, here) - here));
        capacity = rb_str_capacity(parser->body);
    } else {
        rb_str_modify(parser->body);
    }
    size_t most = messagepack_rpc_missing(parser);
    if (most > capacity - here) most = capacity - here;
    *size = wanted < most ? wanted : most;
    return RSTRING_PTR(parser->body) + here;
}

static VALUE messagepack_rpc_take_out(struct parser *parser) {
    const struct mprpc_large *large = &parser->scan.large;
    VALUE body = rb_str_buf_new((long)mprpc_reserve(large->size, 0));
    rb_str_cat(body, messagepack_rpc_pending_bytes(parser) + large->begins,
               (long)(messagepack_rpc_pending(parser) - large->begins));
    if (NIL_P(parser->bodies)) {
        parser->bodies = rb_ary_new();
        parser->marks = rb_ary_new();
    }
    rb_ary_push(parser->bodies, body);
    rb_ary_push(parser->marks, SIZET2NUM(large->at));

    char mark[MPRPC_MARK];
    mprpc_take_out(&parser->scan, mark, (uint32_t)RARRAY_LEN(parser->bodies) - 1);
    rb_str_modify(parser->buffer);
    rb_str_set_len(parser->buffer, (long)(parser->at + large->at));
    rb_str_cat(parser->buffer, mark, MPRPC_MARK);
    parser->body = body;
    return sym_large;
}

static void messagepack_rpc_complete_body(struct parser *parser) {
    rb_enc_associate(parser->body, parser->scan.large.text ? rb_utf8_encoding() : rb_ascii8bit_encoding());
    parser->body = Qnil;
}

/* ---- bytes in ---- */

char *plait_messagepack_rpc_room(VALUE self, size_t wanted, size_t *size) {
    struct parser *parser = messagepack_rpc_parser_of(self);
    if (messagepack_rpc_missing(parser)) return messagepack_rpc_room_in_body(parser, wanted, size);

    *size = wanted;
    return messagepack_rpc_room_in_buffer(parser, wanted);
}

void plait_messagepack_rpc_received(VALUE self, size_t size) {
    struct parser *parser = messagepack_rpc_parser_of(self);
    VALUE string = messagepack_rpc_missing(parser) ? parser->body : parser->buffer;
    rb_str_set_len(string, RSTRING_LEN(string) + (long)size);
}

size_t plait_messagepack_rpc_missing(VALUE self) {
    return messagepack_rpc_missing(messagepack_rpc_parser_of(self));
}

void plait_messagepack_rpc_feed(VALUE self, const char *bytes, size_t size) {
    size_t room;
    for (size_t at = 0; at < size; at += room) {
        char *memory = plait_messagepack_rpc_room(self, size - at, &room);
        memcpy(memory, bytes + at, room);
        plait_messagepack_rpc_received(self, room);
    }
}

static VALUE messagepack_rpc_parser_feed(VALUE self, VALUE bytes) {
    StringValue(bytes);
    if (messagepack_rpc_parser_of(self)->finished) rb_exc_raise(plait_messagepack_rpc_misuse("bytes after finish"));

    plait_messagepack_rpc_feed(self, RSTRING_PTR(bytes), (size_t)RSTRING_LEN(bytes));
    RB_GC_GUARD(bytes);
    return self;
}

static VALUE messagepack_rpc_parser_finish(VALUE self) {
    messagepack_rpc_parser_of(self)->finished = true;
    return self;
}

static VALUE messagepack_rpc_parser_reset(VALUE self) {
    struct parser *parser = messagepack_rpc_parser_of(self);
    messagepack_rpc_rest(parser);
    messagepack_rpc_start(parser);
    parser->finished = false;
    return self;
}

/* ---- events out ---- */

static VALUE messagepack_rpc_more(struct parser *parser) {
    bool resting = parser->scan.stage == MPRPC_IN_ARRAY && messagepack_rpc_pending(parser) == 0;
    if (resting) messagepack_rpc_rest(parser);
    if (!parser->finished) return Qnil;
    if (mprpc_finish(&parser->scan, messagepack_rpc_pending(parser), messagepack_rpc_missing(parser)) < 0) {
        messagepack_rpc_raise_broken(parser);
    }
    return sym_closed;
}

static void messagepack_rpc_drop(struct parser *parser) {
    size_t size = messagepack_rpc_pending(parser);
    if (parser->scan.at < size) size = (size_t)parser->scan.at;
    mprpc_drop(&parser->scan, size);
    parser->at += size;
}

static VALUE messagepack_rpc_tell(struct parser *parser) {
    parser->announced = true;
    return parser->discarding ? sym_discarded : kinds[parser->scan.kind];
}

/* next_event: the kind of the next event, or nil when more bytes are needed. */
static VALUE messagepack_rpc_parser_next_event(VALUE self) {
    struct parser *parser = messagepack_rpc_parser_of(self);
    if (parser->scan.stage == MPRPC_BROKEN) messagepack_rpc_raise_broken(parser);
    if (parser->announced) messagepack_rpc_begin_next(parser);
    if (messagepack_rpc_missing(parser)) return messagepack_rpc_more(parser);
    if (!NIL_P(parser->body)) messagepack_rpc_complete_body(parser);
    if (!parser->scan.levels && messagepack_rpc_pending(parser)) {
        parser->scan.levels = ALLOC_N(uint32_t, parser->limits.nesting + 1);
    }

    int event = mprpc_scan(&parser->scan, messagepack_rpc_pending_bytes(parser), messagepack_rpc_pending(parser));
    if (event < 0) messagepack_rpc_raise_broken(parser);
    if (event == MPRPC_MESSAGE) return messagepack_rpc_tell(parser);
    if (event == MPRPC_LARGE) return messagepack_rpc_take_out(parser);
    if (parser->discarding) messagepack_rpc_drop(parser);
    return messagepack_rpc_more(parser);
}

static void messagepack_rpc_discard_rest(struct parser *parser) {
    parser->body = parser->bodies = parser->marks = Qnil;
    parser->discarding = true;
    messagepack_rpc_drop(parser);
}

/* discard: what is still to come of this message is not kept. */
static VALUE messagepack_rpc_parser_discard(VALUE self) {
    struct parser *parser = messagepack_rpc_parser_of(self);
    if (parser->announced || parser->discarding || parser->scan.stage == MPRPC_IN_ARRAY || parser->scan.stage == MPRPC_BROKEN) {
        return self;
    }
    mprpc_put_back(&parser->scan, messagepack_rpc_missing(parser));
    messagepack_rpc_discard_rest(parser);
    return self;
}

/* excuse: after LimitExceeded, whether only this message is lost: it is not kept, and the next one follows. */
static VALUE messagepack_rpc_parser_excuse(VALUE self) {
    return plait_messagepack_rpc_excuse(self) ? Qtrue : Qfalse;
}

bool plait_messagepack_rpc_excusable(VALUE self) {
    return mprpc_excusable(&messagepack_rpc_parser_of(self)->scan);
}

bool plait_messagepack_rpc_excuse(VALUE self) {
    struct parser *parser = messagepack_rpc_parser_of(self);
    if (!mprpc_excuse(&parser->scan)) return false;

    messagepack_rpc_discard_rest(parser);
    return true;
}

enum messagepack_rpc_event plait_messagepack_rpc_next_event(VALUE self) {
    VALUE event = messagepack_rpc_parser_next_event(self);
    if (NIL_P(event)) return MESSAGEPACK_RPC_MORE;
    if (event == kinds[MPRPC_RESPONSE]) return MESSAGEPACK_RPC_RESPONSE;
    if (event == kinds[MPRPC_REQUEST]) return MESSAGEPACK_RPC_REQUEST;
    if (event == kinds[MPRPC_NOTIFICATION]) return MESSAGEPACK_RPC_NOTIFICATION;
    if (event == sym_large) return MESSAGEPACK_RPC_LARGE;
    return event == sym_closed ? MESSAGEPACK_RPC_CLOSED : MESSAGEPACK_RPC_DISCARDED;
}

void plait_messagepack_rpc_discard(VALUE self) {
    messagepack_rpc_parser_discard(self);
}

void plait_messagepack_rpc_end(VALUE self) {
    messagepack_rpc_parser_of(self)->finished = true;
    messagepack_rpc_parser_next_event(self);
}

/* ---- what a message says ---- */

static VALUE messagepack_rpc_parser_kind(VALUE self) {
    unsigned kind = messagepack_rpc_parser_of(self)->scan.kind;
    return kind == MPRPC_UNKNOWN ? Qnil : kinds[kind];
}

VALUE plait_messagepack_rpc_id(VALUE self) {
    const struct parser *parser = messagepack_rpc_parser_of(self);
    return parser->scan.identified ? ULL2NUM(parser->scan.id) : Qnil;
}

uint64_t plait_messagepack_rpc_number(VALUE self) {
    return messagepack_rpc_parser_of(self)->scan.id;
}

/* UTF-8 where it is that, else binary. */
static VALUE messagepack_rpc_interned_name(const struct parser *parser, const struct mprpc_span *method) {
    VALUE name = rb_enc_interned_str(messagepack_rpc_pending_bytes(parser) + method->at, (long)method->size,
                                     rb_utf8_encoding());
    if (rb_enc_str_coderange(name) != ENC_CODERANGE_BROKEN) return name;

    return rb_enc_interned_str(messagepack_rpc_pending_bytes(parser) + method->at, (long)method->size, rb_ascii8bit_encoding());
}

static bool messagepack_rpc_has_bytes(VALUE string, const char *bytes, size_t size) {
    return !NIL_P(string) && (size_t)RSTRING_LEN(string) == size && memcmp(RSTRING_PTR(string), bytes, size) == 0;
}

VALUE plait_messagepack_rpc_method_name(VALUE self) {
    const struct parser *parser = messagepack_rpc_parser_of(self);
    const struct mprpc_span *method = &parser->scan.method;
    size_t end = method->at + method->size;
    if (method->at == 0 || parser->discarding || end > messagepack_rpc_pending(parser) || end > parser->limits.message) {
        return Qnil;
    }
    if (messagepack_rpc_has_bytes(last_name, messagepack_rpc_pending_bytes(parser) + method->at, method->size)) {
        return last_name;
    }

    return last_name = messagepack_rpc_interned_name(parser, method);
}

static VALUE messagepack_rpc_bytes_of(struct parser *parser, const struct mprpc_span *span) {
    size_t at = parser->at + span->at;
    if (span->size < SHARED) return rb_str_new(RSTRING_PTR(parser->buffer) + at, (long)span->size);

    if (at + span->size == (size_t)RSTRING_LEN(parser->buffer)) parser->lent = true;
    return rb_str_subseq(parser->buffer, (long)at, (long)span->size);
}

/* Where marks stand in the packed value; nil when there are none. */
static VALUE messagepack_rpc_marks_in(const struct parser *parser, const struct mprpc_span *span) {
    VALUE marks = Qnil;
    for (long i = 0; !NIL_P(parser->marks) && i < RARRAY_LEN(parser->marks); i++) {
        size_t at = NUM2SIZET(rb_ary_entry(parser->marks, i));
        if (at < span->at || at >= span->at + span->size) continue;
        if (NIL_P(marks)) marks = rb_ary_new();
        rb_ary_push(marks, SIZET2NUM(at - span->at));
    }
    return marks;
}

/*
 * As Skeleton.new, but without a method of Ruby: an interrupt could come at that method's end. The reading thread would then
 * lose the answer to another thread's call.
 */
static VALUE messagepack_rpc_skeleton(const struct parser *parser, VALUE bytes, VALUE marks) {
    static VALUE class;
    if (!class) rb_gc_register_mark_object(class = rb_path2class("Plait::Protocols::MessagePackRPC::Skeleton"));
    VALUE skeleton = rb_obj_alloc(class);
    rb_ivar_set(skeleton, id_bytes, bytes);
    rb_ivar_set(skeleton, id_bodies, parser->bodies);
    rb_ivar_set(skeleton, id_marks, marks);
    rb_ivar_set(skeleton, id_ambiguous, parser->scan.clash ? Qtrue : Qfalse);
    return skeleton;
}

static VALUE messagepack_rpc_packed(struct parser *parser, const struct mprpc_span *span) {
    VALUE marks = messagepack_rpc_marks_in(parser, span);
    VALUE bytes = messagepack_rpc_bytes_of(parser, span);
    return NIL_P(marks) ? bytes : messagepack_rpc_skeleton(parser, bytes, marks);
}

static bool messagepack_rpc_tells(const struct parser *parser, bool response) {
    return parser->announced && !parser->discarding && (parser->scan.kind == MPRPC_RESPONSE) == response;
}

VALUE plait_messagepack_rpc_params(VALUE self) {
    struct parser *parser = messagepack_rpc_parser_of(self);
    return messagepack_rpc_tells(parser, false) ? messagepack_rpc_packed(parser, &parser->scan.value) : Qnil;
}

static bool messagepack_rpc_small(const struct parser *parser, const struct mprpc_span *span) {
    return NIL_P(parser->marks) && span->size <= MESSAGEPACK_RPC_SMALL;
}

VALUE plait_messagepack_rpc_small_params(VALUE self, VALUE first) {
    const struct parser *parser = messagepack_rpc_parser_of(self);
    const struct mprpc_span *value = &parser->scan.value;
    if (!messagepack_rpc_tells(parser, false) || !messagepack_rpc_small(parser, value)) return Qundef;
    return plait_messagepack_rpc_unpack_arguments(messagepack_rpc_pending_bytes(parser) + value->at, value->size, first);
}

VALUE plait_messagepack_rpc_small_result(VALUE self) {
    const struct parser *parser = messagepack_rpc_parser_of(self);
    const struct mprpc_span *value = &parser->scan.value;
    if (!messagepack_rpc_tells(parser, true) || !messagepack_rpc_small(parser, value)) return Qundef;
    return plait_messagepack_rpc_unpack_small(messagepack_rpc_pending_bytes(parser) + value->at, value->size);
}

VALUE plait_messagepack_rpc_large_result(VALUE self) {
    const struct parser *parser = messagepack_rpc_parser_of(self);
    const struct mprpc_span *value = &parser->scan.value;
    if (!messagepack_rpc_tells(parser, true) || NIL_P(parser->marks) || value->size != MPRPC_MARK) return Qundef;

    for (long i = 0; i < RARRAY_LEN(parser->marks); i++) {
        if (NUM2SIZET(rb_ary_entry(parser->marks, i)) == value->at) return rb_ary_entry(parser->bodies, i);
    }
    return Qundef;
}

VALUE plait_messagepack_rpc_result(VALUE self) {
    struct parser *parser = messagepack_rpc_parser_of(self);
    return messagepack_rpc_tells(parser, true) ? messagepack_rpc_packed(parser, &parser->scan.value) : Qnil;
}

/* nil also for a packed nil */
VALUE plait_messagepack_rpc_error(VALUE self) {
    struct parser *parser = messagepack_rpc_parser_of(self);
    const struct mprpc_span *error = &parser->scan.error;
    if (!messagepack_rpc_tells(parser, true) || (unsigned char)messagepack_rpc_pending_bytes(parser)[error->at] == 0xc0) {
        return Qnil;
    }
    return messagepack_rpc_packed(parser, error);
}

static VALUE messagepack_rpc_parser_bytesize(VALUE self) {
    const struct parser *parser = messagepack_rpc_parser_of(self);
    uint64_t size = parser->announced ? parser->scan.at : messagepack_rpc_pending(parser) - messagepack_rpc_missing(parser);
    return ULL2NUM(size + parser->scan.removed);
}

static VALUE messagepack_rpc_parser_idle(VALUE self) {
    const struct parser *parser = messagepack_rpc_parser_of(self);
    if (parser->announced) return messagepack_rpc_pending(parser) == parser->scan.at ? Qtrue : Qfalse;
    return parser->scan.stage == MPRPC_IN_ARRAY && messagepack_rpc_pending(parser) == 0 ? Qtrue : Qfalse;
}

bool plait_messagepack_rpc_idle(VALUE self) {
    return messagepack_rpc_parser_idle(self) == Qtrue;
}

bool plait_messagepack_rpc_answers(VALUE self) {
    return messagepack_rpc_parser_of(self)->scan.kind == MPRPC_RESPONSE;
}

/* ---- the large string that is being received ---- */

static VALUE messagepack_rpc_parser_body(VALUE self) {
    return messagepack_rpc_parser_of(self)->body;
}

static VALUE messagepack_rpc_parser_body_type(VALUE self) {
    const struct parser *parser = messagepack_rpc_parser_of(self);
    if (NIL_P(parser->body)) return Qnil;
    return parser->scan.large.text ? sym_str : sym_bin;
}

static VALUE messagepack_rpc_parser_body_size(VALUE self) {
    const struct parser *parser = messagepack_rpc_parser_of(self);
    return NIL_P(parser->body) ? Qnil : UINT2NUM(parser->scan.large.size);
}

static VALUE messagepack_rpc_parser_missing(VALUE self) {
    return SIZET2NUM(messagepack_rpc_missing(messagepack_rpc_parser_of(self)));
}

/* NativeParser.rules => {never_used: [text, section, limit or nil], …}; a test compares it with Rules. */
static VALUE messagepack_rpc_parser_rules(VALUE self) {
    VALUE hash = rb_hash_new();
    (void)self;
    for (int number = 1; number < MPRPC_RULE_COUNT; number++) {
        const struct mprpc_rule *rule = mprpc_rule(-number);
        rb_hash_aset(hash, ID2SYM(rb_intern(rule->name)), plait_rule(rule->text, rule->section, rule->limit));
    }
    return hash;
}

/* ---- wiring ---- */

static void messagepack_rpc_define_names(void) {
    rb_gc_register_address(&last_name);
    id_new = rb_intern("new");
    id_limits = rb_intern("limits");
    id_large = rb_intern("large");
    id_bytes = rb_intern("@bytes");
    id_bodies = rb_intern("@bodies");
    id_marks = rb_intern("@marks");
    id_ambiguous = rb_intern("@ambiguous");
    kinds[MPRPC_REQUEST] = ID2SYM(rb_intern("request"));
    kinds[MPRPC_RESPONSE] = ID2SYM(rb_intern("response"));
    kinds[MPRPC_NOTIFICATION] = ID2SYM(rb_intern("notification"));
    sym_large = ID2SYM(rb_intern("large"));
    sym_discarded = ID2SYM(rb_intern("discarded"));
    sym_closed = ID2SYM(rb_intern("closed"));
    sym_bin = ID2SYM(rb_intern("bin"));
    sym_str = ID2SYM(rb_intern("str"));
}

static void messagepack_rpc_define_parser(VALUE parser) {
    rb_define_alloc_func(parser, messagepack_rpc_parser_allocate);
    rb_define_singleton_method(parser, "rules", messagepack_rpc_parser_rules, 0);
    rb_define_method(parser, "initialize", messagepack_rpc_parser_initialize, -1);
    rb_define_method(parser, "feed", messagepack_rpc_parser_feed, 1);
    rb_define_method(parser, "finish", messagepack_rpc_parser_finish, 0);
    rb_define_method(parser, "reset", messagepack_rpc_parser_reset, 0);
    rb_define_method(parser, "next_event", messagepack_rpc_parser_next_event, 0);
    rb_define_method(parser, "discard", messagepack_rpc_parser_discard, 0);
    rb_define_method(parser, "excuse", messagepack_rpc_parser_excuse, 0);
    rb_define_method(parser, "kind", messagepack_rpc_parser_kind, 0);
    rb_define_method(parser, "id", plait_messagepack_rpc_id, 0);
    rb_define_method(parser, "method_name", plait_messagepack_rpc_method_name, 0);
    rb_define_method(parser, "params", plait_messagepack_rpc_params, 0);
    rb_define_method(parser, "result", plait_messagepack_rpc_result, 0);
    rb_define_method(parser, "error", plait_messagepack_rpc_error, 0);
    rb_define_method(parser, "bytesize", messagepack_rpc_parser_bytesize, 0);
    rb_define_method(parser, "idle?", messagepack_rpc_parser_idle, 0);
    rb_define_method(parser, "body", messagepack_rpc_parser_body, 0);
    rb_define_method(parser, "body_type", messagepack_rpc_parser_body_type, 0);
    rb_define_method(parser, "body_size", messagepack_rpc_parser_body_size, 0);
    rb_define_method(parser, "missing", messagepack_rpc_parser_missing, 0);
}

void plait_init_messagepack_rpc(VALUE plait) {
    VALUE messagepack_rpc = rb_define_module_under(rb_define_module_under(plait, "Protocols"), "MessagePackRPC");
    messagepack_rpc_define_names();
    messagepack_rpc_define_parser(rb_define_class_under(messagepack_rpc, "NativeParser", rb_cObject));
    plait_init_messagepack_rpc_small(messagepack_rpc);
    plait_init_messagepack_rpc_writer(messagepack_rpc);
}
