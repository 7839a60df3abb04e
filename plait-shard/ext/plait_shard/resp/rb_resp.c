/*
 * Plait::Protocols::RESP::NativeCommandParser and NativeReplyScanner: the engine of resp.h for Ruby. Their twins are in
 * lib/plait/protocols/resp/pure/.
 */
#include <string.h>

#include "../plait_shard.h"
#include "resp.h"

static ID id_new, id_limits;
static VALUE sym_command, sym_reply, sym_closed;

/* What both have. */
struct intake {
    struct resp_limits limits;
    VALUE limits_value; /* the Limits, for messages */
    VALUE buffer;       /* a String of our own: from `at` on, the command or reply that is scanned */
    size_t at;          /* bytes of the buffer that are done with */
    bool opened;        /* initialized */
    bool finished;      /* no more bytes will be fed */
};

struct parser {
    struct intake intake;
    struct resp_command command;
    VALUE arguments; /* of the command that was told, or nil */
    VALUE bytesize;
};

struct scanner {
    struct intake intake;
    struct resp_reply reply;
    size_t scanned; /* bytes of the reply that are in the buffer and scanned */
    VALUE bytes;    /* of the reply that was told, or nil */
};

/* ---- both ---- */

static VALUE rules(void) {
    return rb_path2class("Plait::Protocols::RESP::Rules");
}

NORETURN(static void raise_broken(const struct intake *intake, int result, uint64_t at));
static void raise_broken(const struct intake *intake, int result, uint64_t at) {
    plait_raise_broken(rules(), resp_rule(result)->name, at, intake->limits_value);
}

NORETURN(static void raise_misuse(const char *message));
static void raise_misuse(const char *message) {
    plait_raise_misuse(rules(), message);
}

static void mark(const struct intake *intake) {
    rb_gc_mark(intake->limits_value);
    rb_gc_mark(intake->buffer);
}

static void check_open(const struct intake *intake) {
    if (!intake->opened) rb_raise(rb_eArgError, "it was never initialized");
}

/* (limits: Limits.new) */
static void open_intake(struct intake *intake, int argc, VALUE *argv) {
    if (intake->opened) raise_misuse("it is initialized already");

    VALUE options, limits;
    rb_scan_args(argc, argv, "0:", &options);
    rb_get_kwargs(options, &id_limits, 0, 1, &limits);
    if (limits == Qundef) limits = rb_funcall(rb_path2class("Plait::Protocols::RESP::Limits"), id_new, 0);
    VALUE numbers = plait_limit_numbers(limits, 5);
    intake->limits = (struct resp_limits){
        .bulk = NUM2ULL(rb_ary_entry(numbers, 0)),
        .command = NUM2ULL(rb_ary_entry(numbers, 1)),
        .elements = NUM2ULL(rb_ary_entry(numbers, 2)),
        .arguments = NUM2UINT(rb_ary_entry(numbers, 3)),
        .line = NUM2UINT(rb_ary_entry(numbers, 4)),
    };
    intake->limits_value = limits;
    intake->buffer = rb_str_buf_new(0);
    intake->opened = true;
}

static void drop_done(struct intake *intake) {
    size_t size = (size_t)RSTRING_LEN(intake->buffer) - intake->at;
    rb_str_modify(intake->buffer);
    memmove(RSTRING_PTR(intake->buffer), RSTRING_PTR(intake->buffer) + intake->at, size);
    rb_str_set_len(intake->buffer, (long)size);
    intake->at = 0;
}

static void keep(struct intake *intake, VALUE bytes) {
    check_open(intake);
    Check_Type(bytes, T_STRING);
    if (intake->finished) raise_misuse("bytes after finish");
    if (intake->at) drop_done(intake);
    rb_str_buf_append(intake->buffer, bytes);
}

static const char *bytes_of(const struct intake *intake, size_t *size) {
    *size = (size_t)RSTRING_LEN(intake->buffer) - intake->at;
    return RSTRING_PTR(intake->buffer) + intake->at;
}

/* ---- commands ---- */

static void parser_mark(void *data) {
    const struct parser *parser = data;
    mark(&parser->intake);
    rb_gc_mark(parser->arguments);
}

static void parser_free(void *data) {
    struct parser *parser = data;
    xfree(parser->command.spans);
    xfree(parser);
}

static size_t parser_size(const void *data) {
    const struct parser *parser = data;
    return sizeof *parser + parser->command.room * sizeof *parser->command.spans;
}

static const rb_data_type_t parser_type = {
    .wrap_struct_name = "Plait::Protocols::RESP::NativeCommandParser",
    .function = {.dmark = parser_mark, .dfree = parser_free, .dsize = parser_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE parser_allocate(VALUE class) {
    struct parser *parser;
    VALUE self = TypedData_Make_Struct(class, struct parser, &parser_type, parser);
    parser->intake.limits_value = parser->intake.buffer = parser->arguments = parser->bytesize = Qnil;
    return self;
}

static struct parser *parser_of(VALUE self) {
    struct parser *parser = rb_check_typeddata(self, &parser_type);
    check_open(&parser->intake);
    return parser;
}

static void start_command(struct parser *parser) {
    struct resp_span *spans = parser->command.spans;
    resp_command_start(&parser->command, &parser->intake.limits, spans, parser->command.room);
}

static VALUE parser_initialize(int argc, VALUE *argv, VALUE self) {
    struct parser *parser = rb_check_typeddata(self, &parser_type);
    open_intake(&parser->intake, argc, argv);
    start_command(parser);
    return self;
}

static VALUE parser_feed(VALUE self, VALUE bytes) {
    keep(&parser_of(self)->intake, bytes);
    return self;
}

static VALUE parser_finish(VALUE self) {
    parser_of(self)->intake.finished = true;
    return self;
}

/* As many as there are, twice the room of before; what was announced is no reason to reserve memory. */
static void more_spans(struct parser *parser) {
    uint32_t room = parser->command.room ? parser->command.room * 2 : 8;
    REALLOC_N(parser->command.spans, struct resp_span, room);
    parser->command.room = room;
}

static VALUE arguments_of(const struct resp_command *command, const char *data) {
    VALUE arguments = rb_ary_new_capa(command->count);
    for (uint32_t i = 0; i < command->count; i++) {
        rb_ary_push(arguments, rb_str_new(data + command->spans[i].at, (long)command->spans[i].size));
    }
    return arguments;
}

/* An inline command is scanned as the array it stands for. */
static VALUE arguments_of_line(struct parser *parser, const char *line, size_t size) {
    VALUE array = rb_str_buf_new((long)resp_inline_room(size));
    size_t written;
    int result = resp_inline(line, size, RSTRING_PTR(array), &written);
    if (result < 0) {
        parser->command.stage = RESP_BROKEN;
        parser->command.rule = (uint8_t)-result;
        raise_broken(&parser->intake, result, parser->command.error_at = 0);
    }
    static const struct resp_limits any = {UINT64_MAX >> 2, UINT64_MAX >> 2, UINT64_MAX >> 2, UINT32_MAX, UINT32_MAX};
    struct resp_command *command = &parser->command;
    resp_command_start(command, &any, command->spans, command->room);
    while (resp_command_scan(command, RSTRING_PTR(array), written) == RESP_SPANS) more_spans(parser);
    VALUE arguments = arguments_of(command, RSTRING_PTR(array));
    RB_GC_GUARD(array);
    return arguments;
}

/* Returns whether it is one that has arguments. */
static bool tell_command(struct parser *parser, const char *data, bool line) {
    VALUE buffer = parser->intake.buffer;
    size_t size = parser->command.at;
    parser->arguments = line ? arguments_of_line(parser, data, size) : arguments_of(&parser->command, data);
    parser->bytesize = SIZET2NUM(size);
    parser->intake.at += size;
    start_command(parser);
    RB_GC_GUARD(buffer);
    return RARRAY_LEN(parser->arguments) > 0;
}

static VALUE end_of_commands(struct parser *parser, size_t size) {
    if (!parser->intake.finished) return Qnil;
    int result = resp_command_finish(&parser->command, size);
    if (result < 0) raise_broken(&parser->intake, result, parser->command.error_at);
    return sym_closed;
}

static VALUE parser_next_event(VALUE self) {
    struct parser *parser = parser_of(self);
    parser->arguments = parser->bytesize = Qnil;
    for (;;) {
        size_t size;
        const char *data = bytes_of(&parser->intake, &size);
        int event = resp_command_scan(&parser->command, data, size);
        if (event < 0) raise_broken(&parser->intake, event, parser->command.error_at);
        if (event == RESP_MORE) return end_of_commands(parser, size);
        if (event == RESP_SPANS) more_spans(parser);
        else if (tell_command(parser, data, event == RESP_INLINE)) return sym_command;
    }
}

static VALUE parser_arguments(VALUE self) {
    return parser_of(self)->arguments;
}

static VALUE parser_bytesize(VALUE self) {
    return parser_of(self)->bytesize;
}

/* NativeCommandParser.rules => {count: [text, reply or nil, limit or nil], …}; a test compares it with Rules. */
static VALUE parser_rules(VALUE self) {
    VALUE hash = rb_hash_new();
    (void)self;
    for (int number = 1; number < RESP_RULE_COUNT; number++) {
        const struct resp_rule *rule = resp_rule(-number);
        rb_hash_aset(hash, ID2SYM(rb_intern(rule->name)), plait_rule(rule->text, rule->reply, rule->limit));
    }
    return hash;
}

/* ---- replies ---- */

static void scanner_mark(void *data) {
    const struct scanner *scanner = data;
    mark(&scanner->intake);
    rb_gc_mark(scanner->bytes);
}

static size_t scanner_size(const void *data) {
    (void)data;
    return sizeof(struct scanner);
}

static const rb_data_type_t scanner_type = {
    .wrap_struct_name = "Plait::Protocols::RESP::NativeReplyScanner",
    .function = {.dmark = scanner_mark, .dfree = RUBY_DEFAULT_FREE, .dsize = scanner_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE scanner_allocate(VALUE class) {
    struct scanner *scanner;
    VALUE self = TypedData_Make_Struct(class, struct scanner, &scanner_type, scanner);
    scanner->intake.limits_value = scanner->intake.buffer = scanner->bytes = Qnil;
    return self;
}

static struct scanner *scanner_of(VALUE self) {
    struct scanner *scanner = rb_check_typeddata(self, &scanner_type);
    check_open(&scanner->intake);
    return scanner;
}

static VALUE scanner_initialize(int argc, VALUE *argv, VALUE self) {
    struct scanner *scanner = rb_check_typeddata(self, &scanner_type);
    open_intake(&scanner->intake, argc, argv);
    resp_reply_start(&scanner->reply, &scanner->intake.limits);
    return self;
}

static VALUE scanner_feed(VALUE self, VALUE bytes) {
    keep(&scanner_of(self)->intake, bytes);
    return self;
}

static VALUE scanner_finish(VALUE self) {
    scanner_of(self)->intake.finished = true;
    return self;
}

static VALUE tell_reply(struct scanner *scanner, const char *data) {
    scanner->bytes = rb_str_new(data, (long)scanner->scanned);
    scanner->intake.at += scanner->scanned;
    scanner->scanned = 0;
    resp_reply_start(&scanner->reply, &scanner->intake.limits);
    return sym_reply;
}

static VALUE scanner_next_event(VALUE self) {
    struct scanner *scanner = scanner_of(self);
    size_t size, used;
    const char *data = bytes_of(&scanner->intake, &size);
    scanner->bytes = Qnil;
    int event = resp_reply_scan(&scanner->reply, data + scanner->scanned, size - scanner->scanned, &used);
    scanner->scanned += used;
    if (event == RESP_REPLY) return tell_reply(scanner, data);
    if (event == RESP_MORE && scanner->intake.finished) event = resp_reply_finish(&scanner->reply);
    else if (event == RESP_MORE) return Qnil;
    if (event < 0) raise_broken(&scanner->intake, event, scanner->reply.at);
    return sym_closed;
}

static VALUE scanner_bytes(VALUE self) {
    return scanner_of(self)->bytes;
}

static VALUE scanner_type_byte(VALUE self) {
    VALUE bytes = scanner_of(self)->bytes;
    return NIL_P(bytes) ? Qnil : rb_str_substr(bytes, 0, 1);
}

/* ---- wiring ---- */

static void define_names(void) {
    id_new = rb_intern("new");
    id_limits = rb_intern("limits");
    sym_command = ID2SYM(rb_intern("command"));
    sym_reply = ID2SYM(rb_intern("reply"));
    sym_closed = ID2SYM(rb_intern("closed"));
}

static void define_scanner(VALUE scanner) {
    rb_define_alloc_func(scanner, scanner_allocate);
    rb_define_method(scanner, "initialize", scanner_initialize, -1);
    rb_define_method(scanner, "feed", scanner_feed, 1);
    rb_define_method(scanner, "finish", scanner_finish, 0);
    rb_define_method(scanner, "next_event", scanner_next_event, 0);
    rb_define_method(scanner, "bytes", scanner_bytes, 0);
    rb_define_method(scanner, "type", scanner_type_byte, 0);
}

void plait_init_resp(VALUE plait) {
    VALUE resp = rb_define_module_under(rb_define_module_under(plait, "Protocols"), "RESP");
    define_names();
    define_scanner(rb_define_class_under(resp, "NativeReplyScanner", rb_cObject));
    VALUE parser = rb_define_class_under(resp, "NativeCommandParser", rb_cObject);
    rb_define_alloc_func(parser, parser_allocate);
    rb_define_singleton_method(parser, "rules", parser_rules, 0);
    rb_define_method(parser, "initialize", parser_initialize, -1);
    rb_define_method(parser, "feed", parser_feed, 1);
    rb_define_method(parser, "finish", parser_finish, 0);
    rb_define_method(parser, "next_event", parser_next_event, 0);
    rb_define_method(parser, "arguments", parser_arguments, 0);
    rb_define_method(parser, "bytesize", parser_bytesize, 0);
}
