/*
 * Plait::Protocols::RESP::ReplyScanner: what resp.h knows of replies, for Ruby. Commands are read in C alone, by the data plane.
 */
#include <string.h>

#include "../plait_shard.h"
#include "resp.h"

static VALUE rb_resp_module, rb_resp_sym_reply, rb_resp_sym_closed;

struct rb_resp_scanner {
    struct resp_reply reply;
    VALUE buffer;   /* a String of our own: from `at` on, the reply that is scanned */
    VALUE bytes;    /* of the reply that was returned, or nil */
    size_t at;      /* bytes of the buffer that are done with */
    size_t scanned; /* bytes of the reply that are in the buffer and scanned */
    bool opened;    /* initialized */
    bool finished;  /* no more bytes will be fed */
};

static VALUE resp_rb_resp_rules(void) {
    return rb_const_get(rb_resp_module, rb_intern("Rules"));
}

NORETURN(static void resp_rb_resp_raise_broken(const struct rb_resp_scanner *scanner, int result));
static void resp_rb_resp_raise_broken(const struct rb_resp_scanner *scanner, int result) {
    VALUE limits = rb_const_get(rb_resp_module, rb_intern("LIMITS"));
    plait_raise_broken(resp_rb_resp_rules(), resp_rule(result)->name, scanner->reply.at, limits);
}

static void resp_rb_resp_mark(void *data) {
    const struct rb_resp_scanner *scanner = data;
    rb_gc_mark(scanner->buffer);
    rb_gc_mark(scanner->bytes);
}

static size_t resp_rb_resp_size(const void *data) {
    (void)data;
    return sizeof(struct rb_resp_scanner);
}

static const rb_data_type_t rb_resp_type = {
    .wrap_struct_name = "Plait::Protocols::RESP::ReplyScanner",
    .function = {.dmark = resp_rb_resp_mark, .dfree = RUBY_DEFAULT_FREE, .dsize = resp_rb_resp_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE resp_rb_resp_allocate(VALUE class) {
    struct rb_resp_scanner *scanner;
    VALUE self = TypedData_Make_Struct(class, struct rb_resp_scanner, &rb_resp_type, scanner);
    scanner->buffer = scanner->bytes = Qnil;
    return self;
}

static struct rb_resp_scanner *resp_rb_resp_of(VALUE self) {
    struct rb_resp_scanner *scanner = rb_check_typeddata(self, &rb_resp_type);
    if (!scanner->opened) rb_raise(rb_eArgError, "it was never initialized");
    return scanner;
}

static VALUE resp_rb_resp_initialize(VALUE self) {
    struct rb_resp_scanner *scanner = rb_check_typeddata(self, &rb_resp_type);
    if (scanner->opened) plait_raise_misuse(resp_rb_resp_rules(), "it is initialized already");

    scanner->buffer = rb_str_buf_new(0);
    resp_reply_start(&scanner->reply, &resp_default_limits);
    scanner->opened = true;
    return self;
}

static void resp_rb_resp_drop_done(struct rb_resp_scanner *scanner) {
    size_t size = (size_t)RSTRING_LEN(scanner->buffer) - scanner->at;
    rb_str_modify(scanner->buffer);
    memmove(RSTRING_PTR(scanner->buffer), RSTRING_PTR(scanner->buffer) + scanner->at, size);
    rb_str_set_len(scanner->buffer, (long)size);
    scanner->at = 0;
}

static VALUE resp_rb_resp_feed(VALUE self, VALUE bytes) {
    struct rb_resp_scanner *scanner = resp_rb_resp_of(self);
    Check_Type(bytes, T_STRING);
    if (scanner->finished) plait_raise_misuse(resp_rb_resp_rules(), "bytes after finish");
    if (scanner->at) resp_rb_resp_drop_done(scanner);
    rb_str_buf_append(scanner->buffer, bytes);
    return self;
}

static VALUE resp_rb_resp_finish(VALUE self) {
    resp_rb_resp_of(self)->finished = true;
    return self;
}

static VALUE resp_rb_resp_tell(struct rb_resp_scanner *scanner, const char *data) {
    scanner->bytes = rb_str_new(data, (long)scanner->scanned);
    scanner->at += scanner->scanned;
    scanner->scanned = 0;
    resp_reply_start(&scanner->reply, &resp_default_limits);
    return rb_resp_sym_reply;
}

static VALUE resp_rb_resp_next_event(VALUE self) {
    struct rb_resp_scanner *scanner = resp_rb_resp_of(self);
    size_t size = (size_t)RSTRING_LEN(scanner->buffer) - scanner->at, used;
    const char *data = RSTRING_PTR(scanner->buffer) + scanner->at;
    scanner->bytes = Qnil;
    int event = resp_reply_scan(&scanner->reply, data + scanner->scanned, size - scanner->scanned, &used);
    scanner->scanned += used;
    if (event == RESP_REPLY) return resp_rb_resp_tell(scanner, data);
    if (event == RESP_MORE && scanner->finished) event = resp_reply_finish(&scanner->reply);
    else if (event == RESP_MORE) return Qnil;
    if (event < 0) resp_rb_resp_raise_broken(scanner, event);
    return rb_resp_sym_closed;
}

static VALUE resp_rb_resp_bytes(VALUE self) {
    return resp_rb_resp_of(self)->bytes;
}

static VALUE resp_rb_resp_type_byte(VALUE self) {
    VALUE bytes = resp_rb_resp_of(self)->bytes;
    return NIL_P(bytes) ? Qnil : rb_str_substr(bytes, 0, 1);
}

/* ReplyScanner.rules => {count: [text, limit or nil], …}, for Rules; with the rules of commands. */
static VALUE resp_rb_resp_all_rules(VALUE self) {
    VALUE hash = rb_hash_new();
    (void)self;
    for (int number = 1; number < RESP_RULE_COUNT; number++) {
        const struct resp_rule *rule = resp_rule(-number);
        VALUE limit = rule->limit ? ID2SYM(rb_intern(rule->limit)) : Qnil;
        rb_hash_aset(hash, ID2SYM(rb_intern(rule->name)), rb_assoc_new(rb_utf8_str_new_cstr(rule->text), limit));
    }
    return hash;
}

void plait_init_resp(VALUE plait) {
    rb_resp_module = rb_define_module_under(rb_define_module_under(plait, "Protocols"), "RESP");
    rb_gc_register_mark_object(rb_resp_module);
    rb_resp_sym_reply = ID2SYM(rb_intern("reply"));
    rb_resp_sym_closed = ID2SYM(rb_intern("closed"));
    plait_init_resp_values(rb_resp_module);
    VALUE scanner = rb_define_class_under(rb_resp_module, "ReplyScanner", rb_cObject);
    rb_define_alloc_func(scanner, resp_rb_resp_allocate);
    rb_define_singleton_method(scanner, "rules", resp_rb_resp_all_rules, 0);
    rb_define_method(scanner, "initialize", resp_rb_resp_initialize, 0);
    rb_define_method(scanner, "feed", resp_rb_resp_feed, 1);
    rb_define_method(scanner, "finish", resp_rb_resp_finish, 0);
    rb_define_method(scanner, "next_event", resp_rb_resp_next_event, 0);
    rb_define_method(scanner, "bytes", resp_rb_resp_bytes, 0);
    rb_define_method(scanner, "type", resp_rb_resp_type_byte, 0);
}
