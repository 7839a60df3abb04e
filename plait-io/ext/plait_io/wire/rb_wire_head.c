/*
 * The head of an ordinary request in one String: its first line, the default lines of its route, and the call's own fields. A
 * field that needs more thought (Host, Range, several values, another encoding …) is for Heads in
 * plait-http/lib/plait/http/connections/routes.rb, which writes the same bytes and raises what is wrong with them.
 */
#include "rb_wire_head.h"

#include <ruby/encoding.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "../http1/http1.h"
#include "../http1/http1_syntax.h"

/* Fields of a call, and bytes of their lines; a call with more goes the long way. */
enum { HEAD_FIELDS = 24, HEAD_LINES = 4096 };

struct head_lines {
    char bytes[HEAD_LINES];
    size_t size;
    struct http1_slice names[HEAD_FIELDS]; /* in `bytes` */
    unsigned count;
};

/* They decide about the framing, the connection or the coding of the answer. */
static const char *const head_delicate[] = {"host", "content-length", "transfer-encoding", "expect", "upgrade", "connection",
                                            "range", "accept-encoding", "te", "trailer"};

static bool head_is_delicate(const char *name, size_t size) {
    for (size_t i = 0; i < sizeof head_delicate / sizeof *head_delicate; i++) {
        if (http1_same_word(name, size, head_delicate[i])) return true;
    }
    return false;
}

/* Basic and Bearer credentials belong to a request; Negotiate and NTLM log in the connection. */
static bool head_is_login(const char *name, size_t name_size, const char *value, size_t size) {
    if (!http1_same_word(name, name_size, "authorization") && !http1_same_word(name, name_size, "proxy-authorization")) return false;

    size_t scheme = 0;
    while (scheme < size && !http1_is_space(value[scheme])) scheme++;
    return !http1_same_word(value, scheme, "basic") && !http1_same_word(value, scheme, "bearer");
}

static bool head_add(struct head_lines *lines, const char *bytes, size_t size) {
    if (size > sizeof lines->bytes - lines->size) return false;

    memcpy(lines->bytes + lines->size, bytes, size);
    lines->size += size;
    return true;
}

/* The text of a Symbol has hyphens for underscores, as in Headers. */
static bool head_add_name(struct head_lines *lines, VALUE name) {
    VALUE text = RB_SYMBOL_P(name) ? rb_sym2str(name) : name;
    if (!RB_TYPE_P(text, T_STRING) || lines->count == HEAD_FIELDS) return false;

    size_t at = lines->size, size = (size_t)RSTRING_LEN(text);
    if (!head_add(lines, RSTRING_PTR(text), size)) return false;
    for (size_t i = at; RB_SYMBOL_P(name) && i < lines->size; i++) lines->bytes[i] = lines->bytes[i] == '_' ? '-' : lines->bytes[i];
    lines->names[lines->count++] = (struct http1_slice){.at = (uint32_t)at, .size = (uint32_t)size};
    return http1_check_name(lines->bytes + at, size) == 0 && !head_is_delicate(lines->bytes + at, size);
}

static bool head_add_text(struct head_lines *lines, size_t name_at, const char *bytes, size_t size) {
    if (http1_check_value(bytes, size) || head_is_login(lines->bytes + name_at, lines->size - name_at, bytes, size)) return false;

    return head_add(lines, ": ", 2) && head_add(lines, bytes, size) && head_add(lines, "\r\n", 2);
}

/* Returns false for a value that is neither a String of ASCII's family nor a small Integer. */
static bool head_add_value(struct head_lines *lines, size_t name_at, VALUE value) {
    if (FIXNUM_P(value)) {
        char digits[24];
        int size = snprintf(digits, sizeof digits, "%ld", FIX2LONG(value));
        return head_add_text(lines, name_at, digits, (size_t)size);
    }
    if (!RB_TYPE_P(value, T_STRING) || !rb_enc_asciicompat(rb_enc_get(value))) return false;
    return head_add_text(lines, name_at, RSTRING_PTR(value), (size_t)RSTRING_LEN(value));
}

static bool head_add_field(struct head_lines *lines, VALUE name, VALUE value) {
    size_t at = lines->size;
    return head_add_name(lines, name) && head_add_value(lines, at, value);
}

struct head_walk {
    struct head_lines *lines;
    bool ordinary;
};

static int head_walk_field(VALUE name, VALUE value, VALUE argument) {
    struct head_walk *walk = (struct head_walk *)argument;
    walk->ordinary = head_add_field(walk->lines, name, value);
    return walk->ordinary ? ST_CONTINUE : ST_STOP;
}

static bool head_mentions(const struct head_lines *lines, const char *name, size_t size) {
    for (unsigned i = 0; i < lines->count; i++) {
        const struct http1_slice *own = &lines->names[i];
        if (own->size == size && strncasecmp(lines->bytes + own->at, name, size) == 0) return true;
    }
    return false;
}

/* The route's lines, without the fields that the call itself gives. */
static void head_append_block(VALUE head, VALUE block, const struct head_lines *lines) {
    const char *at = RSTRING_PTR(block), *end = at + RSTRING_LEN(block);
    while (at < end) {
        const char *feed = memchr(at, '\n', (size_t)(end - at)), *colon = memchr(at, ':', (size_t)(end - at));
        const char *next = feed ? feed + 1 : end;
        if (!colon || colon > next || !head_mentions(lines, at, (size_t)(colon - at))) rb_str_cat(head, at, next - at);
        at = next;
    }
    RB_GC_GUARD(block);
}

static bool head_add_fields(struct head_lines *lines, VALUE fields) {
    if (NIL_P(fields)) return true;
    if (!RB_TYPE_P(fields, T_HASH)) return false;

    struct head_walk walk = {.lines = lines, .ordinary = true};
    rb_hash_foreach(fields, head_walk_field, (VALUE)&walk);
    return walk.ordinary;
}

/* What the call itself does not name. */
static bool head_add_default(struct head_lines *lines, const char *name, VALUE value) {
    if (NIL_P(value) || head_mentions(lines, name, strlen(name))) return true;

    size_t at = lines->size;
    if (!head_add(lines, name, strlen(name))) return false;
    return head_add_value(lines, at, value);
}

/* A target without its fragment, which is not the server's business (RFC 9110 §7.1). Returns false for a wrong one. */
static bool head_append_first_line(VALUE head, VALUE method, VALUE url, size_t offset) {
    const char *target = RSTRING_PTR(url) + offset;
    size_t size = (size_t)RSTRING_LEN(url) - offset;
    const char *fragment = memchr(target, '#', size);
    if (fragment) size = (size_t)(fragment - target);
    bool slash = size == 0 || *target == '?';
    rb_str_cat(head, RSTRING_PTR(method), RSTRING_LEN(method));
    rb_str_cat(head, " /", slash ? 2 : 1);
    rb_str_cat(head, target, (long)size);
    rb_str_cat(head, " HTTP/1.1\r\n", 11);
    return http1_run(target, 0, size, CLASS_TARGET) == size && (slash || *target == '/');
}

/*
 * head(method, url, offset, block, fields, type, length, cookie) => String, or nil: the call needs the long way. The target begins
 * at `offset`; `type`, `length` and `cookie` are the values of Content-Type, Content-Length and Cookie, or nil.
 */
static VALUE head_make(int argc, VALUE *argv, VALUE self) {
    (void)self;
    rb_check_arity(argc, 8, 8);
    VALUE method = argv[0], url = argv[1], block = argv[3];
    Check_Type(method, T_STRING);
    Check_Type(url, T_STRING);
    Check_Type(block, T_STRING);
    size_t offset = NUM2SIZET(argv[2]);
    if (offset > (size_t)RSTRING_LEN(url)) rb_raise(rb_eArgError, "the target can't begin behind the URL");

    struct head_lines lines;
    lines.size = lines.count = 0;
    if (!head_add_fields(&lines, argv[4])) return Qnil;
    if (!head_add_default(&lines, "Content-Type", argv[5]) || !head_add_default(&lines, "Content-Length", argv[6])) return Qnil;
    if (!head_add_default(&lines, "Cookie", argv[7])) return Qnil;

    VALUE head = rb_str_buf_new(RSTRING_LEN(method) + RSTRING_LEN(url) + RSTRING_LEN(block) + (long)lines.size + 16);
    if (!head_append_first_line(head, method, url, offset)) return Qnil;
    head_append_block(head, block, &lines);
    RB_GC_GUARD(method);
    RB_GC_GUARD(url);
    rb_str_cat(head, lines.bytes, (long)lines.size);
    return rb_str_cat(head, "\r\n", 2);
}

void plait_init_wire_head(VALUE native) {
    rb_define_singleton_method(native, "head", head_make, -1);
}
