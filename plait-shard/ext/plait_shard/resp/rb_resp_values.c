/* Commands of the control plane as bytes, and replies as objects of Ruby. */
#include <string.h>

#include "../plait_shard.h"
#include "resp.h"

/* Arrays in Arrays: Redis needs 7, and C's stack has an end. */
enum { DEEPEST = 128 };

/* Digits of a number that surely fits a long. */
enum { SHORT = 18 };

/* Elements for which memory is reserved before they are read: a length may be wrong. */
enum { RESERVE = 4096 };

static VALUE resp_failure_class;

struct resp_decoding {
    const char *data;
    size_t size, at;
    unsigned depth;
};

static VALUE resp_values_decode_next(struct resp_decoding *decoding);

NORETURN(static void resp_values_refuse(const char *what));
static void resp_values_refuse(const char *what) {
    rb_raise(rb_eArgError, "a reply %s", what);
}

static VALUE resp_values_failure(const char *text, size_t size) {
    return rb_struct_new(resp_failure_class, rb_str_new(text, (long)size));
}

/* The bytes up to the next CRLF, and goes on behind it. */
static const char *resp_values_line(struct resp_decoding *decoding, size_t *size) {
    const char *from = decoding->data + decoding->at;
    const char *end = memmem(from, decoding->size - decoding->at, "\r\n", 2);
    if (!end) resp_values_refuse("without an end");
    *size = (size_t)(end - from);
    decoding->at += *size + 2;
    return from;
}

static VALUE resp_values_integer(const char *text, size_t size) {
    bool negative = size > 0 && *text == '-';
    size_t at = negative;
    long number = 0;
    for (; at < size && size <= SHORT && text[at] >= '0' && text[at] <= '9'; at++) number = number * 10 + (text[at] - '0');
    if (size > (size_t)negative && at == size) return LONG2NUM(negative ? -number : number);
    return rb_str_to_inum(rb_str_new(text, (long)size), 10, 1);
}

static bool resp_values_is(const char *text, size_t size, const char *word) {
    return size == strlen(word) && memcmp(text, word, size) == 0;
}

static VALUE resp_values_float(const char *text, size_t size) {
    if (resp_values_is(text, size, "inf")) return rb_const_get(rb_cFloat, rb_intern("INFINITY"));
    if (resp_values_is(text, size, "-inf")) return rb_float_new(-RFLOAT_VALUE(rb_const_get(rb_cFloat, rb_intern("INFINITY"))));
    if (resp_values_is(text, size, "nan")) return rb_const_get(rb_cFloat, rb_intern("NAN"));
    return rb_float_new(rb_str_to_dbl(rb_str_new(text, (long)size), 1));
}

static VALUE resp_values_string(struct resp_decoding *decoding, char type, long size) {
    if (size < 0) return Qnil;
    if ((size_t)size + 2 > decoding->size - decoding->at) resp_values_refuse("without an end");

    const char *text = decoding->data + decoding->at;
    decoding->at += (size_t)size + 2;
    return type == '!' ? resp_values_failure(text, (size_t)size) : rb_str_new(text, size);
}

static VALUE resp_values_array(struct resp_decoding *decoding, long size) {
    if (size < 0) return Qnil;

    VALUE array = rb_ary_new_capa(size < RESERVE ? size : RESERVE);
    while (size-- > 0) rb_ary_push(array, resp_values_decode_next(decoding));
    return array;
}

static VALUE resp_values_hash(struct resp_decoding *decoding, long size) {
    VALUE hash = rb_hash_new();
    while (size-- > 0) {
        VALUE key = resp_values_decode_next(decoding);
        rb_hash_aset(hash, key, resp_values_decode_next(decoding));
    }
    return hash;
}

/* Attributes say something of the value behind them, and are passed over. */
static VALUE resp_values_behind_attributes(struct resp_decoding *decoding, long size) {
    resp_values_hash(decoding, size);
    return resp_values_decode_next(decoding);
}

static VALUE resp_values_sized(struct resp_decoding *decoding, char type, long size) {
    switch (type) {
    case '*':
    case '~':
    case '>': return resp_values_array(decoding, size);
    case '%': return resp_values_hash(decoding, size);
    case '|': return resp_values_behind_attributes(decoding, size);
    case '$':
    case '!':
    case '=': return resp_values_string(decoding, type, size);
    default: resp_values_refuse("of a type that does not exist");
    }
}

static VALUE resp_values_decode_next(struct resp_decoding *decoding) {
    if (decoding->at >= decoding->size) resp_values_refuse("without an end");
    char type = decoding->data[decoding->at++];
    size_t size;
    const char *text = resp_values_line(decoding, &size);
    switch (type) {
    case '+': return rb_str_new(text, (long)size);
    case '-': return resp_values_failure(text, size);
    case ':':
    case '(': return resp_values_integer(text, size);
    case '#': return resp_values_is(text, size, "t") ? Qtrue : Qfalse;
    case '_': return Qnil;
    case ',': return resp_values_float(text, size);
    default: break;
    }
    if (++decoding->depth > DEEPEST) resp_values_refuse("with Arrays in Arrays, more than 128 deep");
    VALUE value = resp_values_sized(decoding, type, NUM2LONG(resp_values_integer(text, size)));
    decoding->depth--;
    return value;
}

/* RESP.decode(bytes): of one whole reply */
static VALUE resp_values_decode(VALUE self, VALUE bytes) {
    (void)self;
    Check_Type(bytes, T_STRING);
    bytes = rb_str_new_frozen(bytes);
    struct resp_decoding decoding = {.data = RSTRING_PTR(bytes), .size = (size_t)RSTRING_LEN(bytes)};
    VALUE value = resp_values_decode_next(&decoding);
    RB_GC_GUARD(bytes);
    return value;
}

static void resp_values_add(VALUE all, VALUE text) {
    rb_str_buf_cat(all, RSTRING_PTR(text), RSTRING_LEN(text));
    RB_GC_GUARD(text);
}

static void resp_values_add_header(VALUE all, char type, long number) {
    char header[RESP_HEADER];
    rb_str_buf_cat(all, header, (long)resp_write_header(header, type, (uint64_t)number));
}

/* RESP.encode(words): an Array, of a command; as it is sent */
static VALUE resp_values_encode(VALUE self, VALUE words) {
    (void)self;
    Check_Type(words, T_ARRAY);
    words = rb_ary_dup(words); /* `to_s` of a word may change the Array */
    VALUE all = rb_str_buf_new(64);
    resp_values_add_header(all, '*', RARRAY_LEN(words));
    for (long index = 0; index < RARRAY_LEN(words); index++) {
        VALUE word = rb_obj_as_string(RARRAY_AREF(words, index));
        resp_values_add_header(all, '$', RSTRING_LEN(word));
        resp_values_add(all, word);
        rb_str_buf_cat(all, "\r\n", 2);
    }
    RB_GC_GUARD(words);
    return all;
}

/* RESP.define_values(failure): once its class in Ruby is there */
static VALUE resp_values_define(VALUE self, VALUE failure) {
    resp_failure_class = failure;
    rb_gc_register_mark_object(failure);
    rb_define_singleton_method(self, "decode", resp_values_decode, 1);
    rb_define_singleton_method(self, "encode", resp_values_encode, 1);
    return self;
}

void plait_init_resp_values(VALUE module) {
    rb_define_singleton_method(module, "define_values", resp_values_define, 1);
}
