/*
 * Plait::Protocols::HTTP1::NativeParser and NativeHead: the engine of http1.h for Ruby, for responses. Their twins are in
 * lib/plait/protocols/http1/pure/. Strings are made when they are asked for.
 */
#include "rb_http1.h"

#include <ruby/encoding.h>

#include "../plait_io.h"

/* ---- text ---- */

VALUE plait_http1_text(const char *data, size_t size) {
    VALUE string = rb_utf8_str_new(data, (long)size);
    if (rb_enc_str_coderange(string) == ENC_CODERANGE_BROKEN) rb_enc_associate(string, rb_ascii8bit_encoding());
    return string;
}

static VALUE http1_binary(VALUE buffer, size_t at, size_t size) {
    VALUE string = rb_str_subseq(buffer, (long)at, (long)size);
    return rb_enc_associate(string, rb_ascii8bit_encoding());
}

static VALUE http1_name_of(VALUE bytes, const struct http1_header *header) {
    return rb_enc_interned_str(RSTRING_PTR(bytes) + header->name_at, header->name_size, rb_utf8_encoding());
}

static VALUE http1_value_of(VALUE bytes, const struct http1_header *header) {
    return plait_http1_text(RSTRING_PTR(bytes) + header->value_at, header->value_size);
}

VALUE plait_http1_pair(VALUE bytes, const struct http1_header *header) {
    VALUE name = http1_name_of(bytes, header);
    return rb_assoc_new(name, http1_value_of(bytes, header));
}

/* ---- NativeHead ---- */

struct native_head {
    VALUE bytes;                  /* of the head, from which the slices count */
    struct http1_head head;       /* its table is `fields` */
    struct http1_header fields[]; /* head.count of them */
};

static void http1_native_head_mark(void *data) {
    rb_gc_mark(((struct native_head *)data)->bytes);
}

static size_t http1_native_head_size(const void *data) {
    const struct native_head *native = data;
    return sizeof *native + native->head.count * sizeof native->fields[0];
}

static const rb_data_type_t native_head_type = {
    .wrap_struct_name = "Plait::Protocols::HTTP1::NativeHead",
    .function = {.dmark = http1_native_head_mark, .dfree = RUBY_DEFAULT_FREE, .dsize = http1_native_head_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE native_head_class;

static VALUE http1_native_head_new(VALUE bytes, const struct http1_head *head) {
    size_t fields = head->count * sizeof head->table[0];
    struct native_head *native = xmalloc(sizeof *native + fields);
    native->bytes = bytes;
    native->head = *head;
    native->head.limits = NULL;
    native->head.table = native->fields;
    memcpy(native->fields, head->table, fields);
    VALUE self = TypedData_Wrap_Struct(native_head_class, &native_head_type, native);
    RB_GC_GUARD(bytes);
    return self;
}

static const struct native_head *http1_native_head_of(VALUE self) {
    return rb_check_typeddata(self, &native_head_type);
}

static VALUE http1_head_version(VALUE self) {
    return rb_utf8_str_new_cstr(http1_native_head_of(self)->head.minor ? "1.1" : "1.0");
}

static VALUE http1_head_status(VALUE self) {
    return INT2FIX(http1_native_head_of(self)->head.status);
}

static VALUE http1_head_reason(VALUE self) {
    const struct native_head *native = http1_native_head_of(self);
    struct http1_slice reason = native->head.reason;
    return plait_http1_text(RSTRING_PTR(native->bytes) + reason.at, reason.size);
}

static VALUE http1_head_framing(VALUE self) {
    static const char *const names[] = {
        [HTTP1_NO_BODY] = "none",      [HTTP1_LENGTH] = "length", [HTTP1_CHUNKED] = "chunked",
        [HTTP1_UNTIL_CLOSE] = "close", [HTTP1_TUNNEL] = "tunnel",
    };
    return ID2SYM(rb_intern(names[http1_native_head_of(self)->head.framing]));
}

/* nil also where it must be ignored (2xx to CONNECT) */
static VALUE http1_head_content_length(VALUE self) {
    const struct http1_head *head = &http1_native_head_of(self)->head;
    bool given = head->framing != HTTP1_TUNNEL && http1_head_find(head, HTTP1_FIELD_CONTENT_LENGTH);
    return given ? ULL2NUM(head->content_length) : Qnil;
}

static VALUE http1_head_persistent(VALUE self) {
    return http1_native_head_of(self)->head.persistent ? Qtrue : Qfalse;
}

static VALUE http1_unless_unsaid(uint32_t number) {
    return number == HTTP1_UNSAID ? Qnil : UINT2NUM(number);
}

static VALUE http1_head_kept_for(VALUE self) {
    return http1_unless_unsaid(http1_native_head_of(self)->head.kept_for);
}

static VALUE http1_head_kept_times(VALUE self) {
    return http1_unless_unsaid(http1_native_head_of(self)->head.kept_times);
}

static VALUE http1_head_interim(VALUE self) {
    return http1_native_head_of(self)->head.interim ? Qtrue : Qfalse;
}

static VALUE http1_head_upgrade(VALUE self) {
    return http1_native_head_of(self)->head.upgrade ? Qtrue : Qfalse;
}

static VALUE http1_head_bytes(VALUE self) {
    return http1_native_head_of(self)->bytes;
}

static VALUE http1_head_size(VALUE self) {
    return UINT2NUM(http1_native_head_of(self)->head.count);
}

static bool http1_named(const struct native_head *native, const struct http1_header *header, VALUE name) {
    return header->name_size == (size_t)RSTRING_LEN(name) &&
           STRNCASECMP(RSTRING_PTR(native->bytes) + header->name_at, RSTRING_PTR(name), header->name_size) == 0;
}

static VALUE http1_head_aref(VALUE self, VALUE name) {
    const struct native_head *native = http1_native_head_of(self);
    StringValue(name);
    for (uint32_t i = 0; i < native->head.count; i++) {
        if (http1_named(native, &native->fields[i], name)) return http1_value_of(native->bytes, &native->fields[i]);
    }
    return Qnil;
}

static VALUE http1_head_values(VALUE self, VALUE name) {
    const struct native_head *native = http1_native_head_of(self);
    VALUE values = rb_ary_new();
    StringValue(name);
    for (uint32_t i = 0; i < native->head.count; i++) {
        if (http1_named(native, &native->fields[i], name)) {
            rb_ary_push(values, http1_value_of(native->bytes, &native->fields[i]));
        }
    }
    return values;
}

static VALUE http1_head_each(VALUE self) {
    const struct native_head *native = http1_native_head_of(self);
    RETURN_ENUMERATOR(self, 0, 0);
    for (uint32_t i = 0; i < native->head.count; i++) rb_yield(plait_http1_pair(native->bytes, &native->fields[i]));
    return self;
}

static void http1_define_head(VALUE http1) {
    native_head_class = rb_define_class_under(http1, "NativeHead", rb_cObject);
    rb_undef_alloc_func(native_head_class);
    rb_include_module(native_head_class, rb_mEnumerable);
    rb_define_method(native_head_class, "version", http1_head_version, 0);
    rb_define_method(native_head_class, "status", http1_head_status, 0);
    rb_define_method(native_head_class, "reason", http1_head_reason, 0);
    rb_define_method(native_head_class, "framing", http1_head_framing, 0);
    rb_define_method(native_head_class, "content_length", http1_head_content_length, 0);
    rb_define_method(native_head_class, "persistent?", http1_head_persistent, 0);
    rb_define_method(native_head_class, "kept_for", http1_head_kept_for, 0);
    rb_define_method(native_head_class, "kept_times", http1_head_kept_times, 0);
    rb_define_method(native_head_class, "interim?", http1_head_interim, 0);
    rb_define_method(native_head_class, "upgrade?", http1_head_upgrade, 0);
    rb_define_method(native_head_class, "bytes", http1_head_bytes, 0);
    rb_define_method(native_head_class, "size", http1_head_size, 0);
    rb_define_method(native_head_class, "[]", http1_head_aref, 1);
    rb_define_method(native_head_class, "values", http1_head_values, 1);
    rb_define_method(native_head_class, "each", http1_head_each, 0);
}

/* ---- NativeParser ---- */

enum state { UNOPENED, IN_HEAD, IN_BODY, COMPLETE };

struct parser {
    struct http1_limits limits;
    struct http1_head head;
    struct http1_body body;
    struct http1_header *table; /* limits.headers of them */
    VALUE limits_value;         /* the HTTP1::Limits, for messages */
    VALUE buffer;               /* bytes fed; nil when all are consumed */
    VALUE head_value;           /* the last events' */
    VALUE data_value;
    VALUE trailers_value;
    VALUE trailer_text;         /* the trailer section so far, or nil */
    size_t at;                  /* bytes of the buffer that are consumed */
    size_t before;              /* bytes of this message consumed from buffers and heads before `at` */
    size_t error_at;            /* of the message */
    int broken;                 /* the negated rule */
    enum state state;
    bool own;      /* the buffer is ours alone: bytes may be appended to it */
    bool finished; /* no more bytes will be fed */
};

static void http1_parser_mark(void *data) {
    const struct parser *parser = data;
    rb_gc_mark(parser->limits_value);
    rb_gc_mark(parser->buffer);
    rb_gc_mark(parser->head_value);
    rb_gc_mark(parser->data_value);
    rb_gc_mark(parser->trailers_value);
    rb_gc_mark(parser->trailer_text);
}

static void http1_parser_free(void *data) {
    struct parser *parser = data;
    xfree(parser->table);
    xfree(parser);
}

static size_t http1_parser_size(const void *data) {
    const struct parser *parser = data;
    return sizeof *parser + (parser->table ? parser->limits.headers * sizeof parser->table[0] : 0);
}

static const rb_data_type_t parser_type = {
    .wrap_struct_name = "Plait::Protocols::HTTP1::NativeParser",
    .function = {.dmark = http1_parser_mark, .dfree = http1_parser_free, .dsize = http1_parser_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE http1_parser_allocate(VALUE class) {
    struct parser *parser;
    VALUE self = TypedData_Make_Struct(class, struct parser, &parser_type, parser);
    parser->limits_value = parser->buffer = parser->head_value = parser->data_value = Qnil;
    parser->trailers_value = parser->trailer_text = Qnil;
    return self;
}

static struct parser *http1_parser_of(VALUE self) {
    struct parser *parser = rb_check_typeddata(self, &parser_type);
    if (parser->state == UNOPENED) rb_raise(rb_eArgError, "the parser was never initialized");
    return parser;
}

static VALUE http1_rules(void) {
    return rb_path2class("Plait::Protocols::HTTP1::Rules");
}

NORETURN(static void http1_misuse(const char *message));
static void http1_misuse(const char *message) {
    plait_raise_misuse(http1_rules(), message);
}

NORETURN(static void http1_raise_broken(const struct parser *parser));
static void http1_raise_broken(const struct parser *parser) {
    plait_raise_broken(http1_rules(), http1_rule(parser->broken)->name, parser->error_at, parser->limits_value);
}

/* `at` counts from the first byte not consumed. */
NORETURN(static void http1_fail(struct parser *parser, ptrdiff_t broken, size_t at));
static void http1_fail(struct parser *parser, ptrdiff_t broken, size_t at) {
    parser->broken = (int)broken;
    parser->error_at = parser->before + at;
    http1_raise_broken(parser);
}

struct http1_limits plait_http1_limits(VALUE limits) {
    VALUE numbers = plait_limit_numbers(limits, 7);
    VALUE body = rb_ary_entry(numbers, 0);
    return (struct http1_limits){
        .body = NIL_P(body) ? UINT64_MAX : NUM2ULL(body),
        .start_line = NUM2UINT(rb_ary_entry(numbers, 1)),
        .head = NUM2UINT(rb_ary_entry(numbers, 2)),
        .headers = NUM2UINT(rb_ary_entry(numbers, 3)),
        .interim = NUM2UINT(rb_ary_entry(numbers, 4)),
        .chunk_extensions = NUM2UINT(rb_ary_entry(numbers, 5)),
        .trailer = NUM2UINT(rb_ary_entry(numbers, 6)),
        .lenient = RTEST(rb_funcall(limits, rb_intern("lenient?"), 0)),
    };
}

/* prepare(limits): called by initialize of Ruby's class. */
static VALUE http1_parser_prepare(VALUE self, VALUE limits_value) {
    struct parser *parser = rb_check_typeddata(self, &parser_type);
    if (parser->state != UNOPENED) http1_misuse("the parser is initialized already");

    parser->limits = plait_http1_limits(limits_value);
    parser->limits_value = limits_value;
    parser->table = ALLOC_N(struct http1_header, parser->limits.headers);
    http1_head_init(&parser->head, HTTP1_RESPONSE, &parser->limits, parser->table, parser->limits.headers);
    http1_head_start(&parser->head, HTTP1_TO_ANY);
    parser->state = IN_HEAD;
    return self;
}

static size_t http1_pending(const struct parser *parser) {
    return NIL_P(parser->buffer) ? 0 : (size_t)RSTRING_LEN(parser->buffer) - parser->at;
}

static void http1_consume(struct parser *parser, size_t size) {
    parser->at += size;
    parser->before += size;
    if (http1_pending(parser)) return;

    parser->buffer = Qnil;
    parser->own = false;
    parser->at = 0;
}

/* begin(head, connect, upgrade): what the request was. Bytes that were fed already belong to the next message. */
static VALUE http1_parser_begin(VALUE self, VALUE to_head, VALUE to_connect, VALUE to_upgrade) {
    struct parser *parser = http1_parser_of(self);
    bool untouched = parser->state == IN_HEAD && parser->before == 0 && parser->head.at == 0;
    if (parser->broken) http1_raise_broken(parser);
    if (parser->state == IN_BODY || !(parser->state == COMPLETE || untouched)) {
        http1_misuse("start in the middle of a message: read on until :done");
    }
    if (parser->head.framing == HTTP1_TUNNEL) http1_misuse("start in a tunnel: what follows is another protocol, see rest");

    unsigned request = (RTEST(to_head) ? HTTP1_TO_HEAD : 0) | (RTEST(to_connect) ? HTTP1_TO_CONNECT : 0) |
                       (RTEST(to_upgrade) ? HTTP1_TO_UPGRADE : 0);
    http1_head_start(&parser->head, request);
    parser->head_value = parser->data_value = parser->trailers_value = Qnil;
    parser->before = 0;
    parser->state = IN_HEAD;
    return self;
}

/* feed(bytes): nothing is copied unless a head has come in part. */
static VALUE http1_parser_feed(VALUE self, VALUE bytes) {
    struct parser *parser = http1_parser_of(self);
    StringValue(bytes);
    if (parser->finished) http1_misuse("bytes after finish");
    if (RSTRING_LEN(bytes) == 0) return self;

    if (NIL_P(parser->buffer)) {
        parser->buffer = rb_str_new_frozen(bytes);
        return self;
    }
    if (!parser->own) {
        parser->buffer = rb_str_new(RSTRING_PTR(parser->buffer) + parser->at, (long)http1_pending(parser));
        parser->at = 0;
        parser->own = true;
    }
    rb_str_cat(parser->buffer, RSTRING_PTR(bytes), RSTRING_LEN(bytes));
    RB_GC_GUARD(bytes);
    return self;
}

static VALUE http1_parser_finish(VALUE self) {
    http1_parser_of(self)->finished = true;
    return self;
}

static VALUE http1_symbol(const char *name) {
    return ID2SYM(rb_intern(name));
}

/* The end of the input where a head should come. */
static VALUE http1_end_in_head(struct parser *parser) {
    if (!parser->finished) return Qnil;

    int broken = http1_head_finish(&parser->head, http1_pending(parser));
    if (broken) http1_fail(parser, broken, parser->head.error_at);
    if (parser->before) http1_fail(parser, -HTTP1_E_TRUNCATED_HEAD, 0); /* only 1xx have come */
    return http1_symbol("closed");
}

static VALUE http1_next_in_head(struct parser *parser) {
    size_t size = http1_pending(parser);
    const char *data = size ? RSTRING_PTR(parser->buffer) + parser->at : "";
    ptrdiff_t consumed = http1_head_parse(&parser->head, data, size);
    if (consumed < 0) http1_fail(parser, consumed, parser->head.error_at);
    if (consumed == 0) return http1_end_in_head(parser);

    VALUE bytes = rb_obj_freeze(http1_binary(parser->buffer, parser->at, (size_t)consumed));
    parser->head_value = http1_native_head_new(bytes, &parser->head);
    http1_consume(parser, (size_t)consumed);
    if (parser->head.interim) {
        http1_head_continue(&parser->head);
        return http1_symbol("head");
    }
    parser->trailer_text = Qnil;
    parser->state = IN_BODY;
    parser->broken = http1_body_start(&parser->body, &parser->head); /* raised after this event */
    parser->error_at = parser->before;
    return http1_symbol("head");
}

static void http1_keep_trailer(struct parser *parser, const struct http1_piece *piece) {
    if (NIL_P(parser->trailer_text)) parser->trailer_text = rb_str_buf_new((long)piece->size);
    rb_str_cat(parser->trailer_text, RSTRING_PTR(parser->buffer) + parser->at + piece->at, (long)piece->size);
}

static VALUE http1_trailers_of(struct parser *parser) {
    VALUE source = parser->trailer_text;
    ptrdiff_t count = http1_fields_parse(RSTRING_PTR(source), (size_t)RSTRING_LEN(source), parser->table,
                                         parser->limits.headers);
    VALUE trailers = rb_ary_new();
    for (ptrdiff_t i = 0; i < count; i++) rb_ary_push(trailers, plait_http1_pair(source, &parser->table[i]));
    return trailers;
}

static VALUE http1_complete(struct parser *parser) {
    parser->state = COMPLETE;
    if (NIL_P(parser->trailer_text)) return http1_symbol("done");

    parser->trailers_value = http1_trailers_of(parser);
    parser->trailer_text = Qnil;
    return http1_symbol("trailers");
}

static VALUE http1_end_in_body(struct parser *parser) {
    if (!parser->finished) return Qnil;

    int broken = http1_body_finish(&parser->body);
    if (broken) http1_fail(parser, broken, 0);
    return http1_complete(parser);
}

static VALUE http1_next_in_body(struct parser *parser) {
    struct http1_piece piece;
    int event;
    do {
        size_t size = http1_pending(parser);
        const char *data = size ? RSTRING_PTR(parser->buffer) + parser->at : "";
        event = http1_body_next(&parser->body, data, size, &piece);
        if (event < 0) http1_fail(parser, event, piece.at);
        if (event == HTTP1_DATA) parser->data_value = http1_binary(parser->buffer, parser->at + piece.at, piece.size);
        if (event == HTTP1_TRAILER) http1_keep_trailer(parser, &piece);
        http1_consume(parser, piece.consumed);
    } while (event == HTTP1_TRAILER);

    if (event == HTTP1_DATA) return http1_symbol("data");
    return event == HTTP1_DONE ? http1_complete(parser) : http1_end_in_body(parser);
}

/* next_event: the kind of the next event, or nil when more bytes are needed. */
static VALUE http1_parser_next_event(VALUE self) {
    struct parser *parser = http1_parser_of(self);
    parser->data_value = Qnil;
    if (parser->broken) http1_raise_broken(parser);
    if (parser->state == IN_HEAD) return http1_next_in_head(parser);
    return parser->state == IN_BODY ? http1_next_in_body(parser) : http1_symbol("done");
}

static VALUE http1_parser_head(VALUE self) {
    return http1_parser_of(self)->head_value;
}

static VALUE http1_parser_data(VALUE self) {
    return http1_parser_of(self)->data_value;
}

static VALUE http1_parser_trailers(VALUE self) {
    return http1_parser_of(self)->trailers_value;
}

static VALUE http1_parser_pardoned(VALUE self) {
    return http1_parser_of(self)->body.pardoned ? Qtrue : Qfalse;
}

static VALUE http1_parser_rest(VALUE self) {
    const struct parser *parser = http1_parser_of(self);
    return NIL_P(parser->buffer) ? rb_str_new(NULL, 0) : http1_binary(parser->buffer, parser->at, http1_pending(parser));
}

/* NativeParser.rules => {bare_cr: [text, section, limit or nil, status], …}; a test compares it with Rules. */
static VALUE http1_parser_rules(VALUE self) {
    VALUE hash = rb_hash_new();
    (void)self;
    for (int number = 1; number < HTTP1_RULE_COUNT; number++) {
        const struct http1_rule *rule = http1_rule(-number);
        VALUE fields = plait_rule(rule->text, rule->section, rule->limit);
        rb_hash_aset(hash, http1_symbol(rule->name), rb_ary_push(fields, INT2FIX(rule->status)));
    }
    return hash;
}

void plait_init_http1(VALUE plait) {
    VALUE http1 = rb_define_module_under(rb_define_module_under(plait, "Protocols"), "HTTP1");
    http1_define_head(http1);

    VALUE parser = rb_define_class_under(http1, "NativeParser", rb_cObject);
    rb_define_alloc_func(parser, http1_parser_allocate);
    rb_define_singleton_method(parser, "rules", http1_parser_rules, 0);
    rb_define_private_method(parser, "prepare", http1_parser_prepare, 1);
    rb_define_private_method(parser, "begin_message", http1_parser_begin, 3);
    rb_define_method(parser, "feed", http1_parser_feed, 1);
    rb_define_method(parser, "finish", http1_parser_finish, 0);
    rb_define_method(parser, "next_event", http1_parser_next_event, 0);
    rb_define_method(parser, "head", http1_parser_head, 0);
    rb_define_method(parser, "data", http1_parser_data, 0);
    rb_define_method(parser, "trailers", http1_parser_trailers, 0);
    rb_define_method(parser, "pardoned?", http1_parser_pardoned, 0);
    rb_define_method(parser, "rest", http1_parser_rest, 0);
}
