/* See rb_messagepack_rpc_small.h. A test compares it with the gem. */
#include "rb_messagepack_rpc_small.h"

#include <ruby/encoding.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Arrays in Arrays. */
enum { DEPTH = 8 };

static int utf8, binary;

/* ---- packing ---- */

struct packing {
    char *at;
    char *end;
};

static bool messagepack_rpc_small_put(struct packing *out, unsigned char first, uint64_t number, unsigned size) {
    if ((size_t)(out->end - out->at) < 1 + (size_t)size) return false;

    *out->at++ = (char)first;
    for (unsigned i = size; i > 0; i--) *out->at++ = (char)(number >> (8 * (i - 1)) & 0xff);
    return true;
}

static bool messagepack_rpc_small_put_bytes(struct packing *out, const char *bytes, size_t size) {
    if ((size_t)(out->end - out->at) < size) return false;

    memcpy(out->at, bytes, size);
    out->at += size;
    return true;
}

static bool messagepack_rpc_small_pack_integer(struct packing *out, long number) {
    if (number >= 0) {
        uint64_t value = (uint64_t)number;
        if (value < 0x80) return messagepack_rpc_small_put(out, (unsigned char)value, 0, 0);
        if (value <= UINT8_MAX) return messagepack_rpc_small_put(out, 0xcc, value, 1);
        if (value <= UINT16_MAX) return messagepack_rpc_small_put(out, 0xcd, value, 2);
        return value <= UINT32_MAX
            ? messagepack_rpc_small_put(out, 0xce, value, 4) : messagepack_rpc_small_put(out, 0xcf, value, 8);
    }
    uint64_t value = (uint64_t)(int64_t)number;
    if (number >= -32) return messagepack_rpc_small_put(out, (unsigned char)(value & 0xff), 0, 0);
    if (number >= INT8_MIN) return messagepack_rpc_small_put(out, 0xd0, value, 1);
    if (number >= INT16_MIN) return messagepack_rpc_small_put(out, 0xd1, value, 2);
    return number >= INT32_MIN
        ? messagepack_rpc_small_put(out, 0xd2, value, 4) : messagepack_rpc_small_put(out, 0xd3, value, 8);
}

static bool messagepack_rpc_small_pack_float(struct packing *out, double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return messagepack_rpc_small_put(out, 0xcb, bits, 8);
}

static bool messagepack_rpc_small_pack_text(struct packing *out, size_t size) {
    if (size < 32) return messagepack_rpc_small_put(out, (unsigned char)(0xa0 | size), 0, 0);
    if (size <= UINT8_MAX) return messagepack_rpc_small_put(out, 0xd9, size, 1);
    return size <= UINT16_MAX ? messagepack_rpc_small_put(out, 0xda, size, 2) : messagepack_rpc_small_put(out, 0xdb, size, 4);
}

static bool messagepack_rpc_small_pack_bytes(struct packing *out, size_t size) {
    if (size <= UINT8_MAX) return messagepack_rpc_small_put(out, 0xc4, size, 1);
    return size <= UINT16_MAX ? messagepack_rpc_small_put(out, 0xc5, size, 2) : messagepack_rpc_small_put(out, 0xc6, size, 4);
}

static bool messagepack_rpc_small_pack_string_header(struct packing *out, VALUE string) {
    int encoding = rb_enc_get_index(string);
    size_t size = (size_t)RSTRING_LEN(string);
    if ((encoding != utf8 && encoding != binary) || size > UINT32_MAX) return false;
    return encoding == utf8 ? messagepack_rpc_small_pack_text(out, size) : messagepack_rpc_small_pack_bytes(out, size);
}

static bool messagepack_rpc_small_pack_string(struct packing *out, VALUE string) {
    size_t size = (size_t)RSTRING_LEN(string);
    if (size > MESSAGEPACK_RPC_SMALL) return false;
    return messagepack_rpc_small_pack_string_header(out, string) &&
        messagepack_rpc_small_put_bytes(out, RSTRING_PTR(string), size);
}

size_t plait_messagepack_rpc_string_header(VALUE value, char out[MESSAGEPACK_RPC_STRING_HEADER]) {
    struct packing packing = {.at = out, .end = out + MESSAGEPACK_RPC_STRING_HEADER};
    if (RB_SPECIAL_CONST_P(value) || RB_BUILTIN_TYPE(value) != T_STRING || CLASS_OF(value) != rb_cString) return 0;
    return messagepack_rpc_small_pack_string_header(&packing, value) ? (size_t)(packing.at - out) : 0;
}

static bool messagepack_rpc_small_pack_value(struct packing *out, VALUE value, unsigned depth);

static bool messagepack_rpc_small_pack_array(struct packing *out, VALUE array, unsigned depth) {
    long count = RARRAY_LEN(array);
    if (depth == DEPTH || count > MESSAGEPACK_RPC_SMALL) return false;

    bool packed = count < 16
        ? messagepack_rpc_small_put(out, (unsigned char)(0x90 | count), 0, 0)
        : messagepack_rpc_small_put(out, 0xdc, (uint64_t)count, 2);
    for (long i = 0; packed && i < count; i++) packed = messagepack_rpc_small_pack_value(out, RARRAY_AREF(array, i), depth + 1);
    return packed;
}

/* Objects of these very classes: a subclass may have a form of its own. */
static bool messagepack_rpc_small_pack_value(struct packing *out, VALUE value, unsigned depth) {
    if (FIXNUM_P(value)) return messagepack_rpc_small_pack_integer(out, FIX2LONG(value));
    if (NIL_P(value)) return messagepack_rpc_small_put(out, 0xc0, 0, 0);
    if (value == Qfalse) return messagepack_rpc_small_put(out, 0xc2, 0, 0);
    if (value == Qtrue) return messagepack_rpc_small_put(out, 0xc3, 0, 0);
    if (RB_FLOAT_TYPE_P(value)) return messagepack_rpc_small_pack_float(out, RFLOAT_VALUE(value));
    if (RB_SPECIAL_CONST_P(value)) return false;
    if (RB_BUILTIN_TYPE(value) == T_STRING && CLASS_OF(value) == rb_cString) {
        return messagepack_rpc_small_pack_string(out, value);
    }
    return RB_BUILTIN_TYPE(value) == T_ARRAY && CLASS_OF(value) == rb_cArray &&
        messagepack_rpc_small_pack_array(out, value, depth);
}

size_t plait_messagepack_rpc_pack_small(VALUE value, char *out, size_t room) {
    struct packing packing = {.at = out, .end = out + room};
    return messagepack_rpc_small_pack_value(&packing, value, 0) ? (size_t)(packing.at - out) : 0;
}

/* ---- unpacking ---- */

struct unpacking {
    const unsigned char *at;
    const unsigned char *end;
};

static bool messagepack_rpc_small_take_number(struct unpacking *in, unsigned size, uint64_t *number) {
    if ((size_t)(in->end - in->at) < size) return false;

    *number = 0;
    for (unsigned i = 0; i < size; i++) *number = *number << 8 | *in->at++;
    return true;
}

static VALUE messagepack_rpc_small_unpack_float(struct unpacking *in, unsigned size) {
    uint64_t bits;
    if (!messagepack_rpc_small_take_number(in, size, &bits)) return Qundef;

    uint32_t half = (uint32_t)bits;
    float single;
    double number;
    memcpy(&single, &half, sizeof single);
    memcpy(&number, &bits, sizeof number);
    return DBL2NUM(size == 4 ? (double)single : number);
}

/* uint 8 … 64, int 8 … 64 */
static VALUE messagepack_rpc_small_unpack_integer(struct unpacking *in, unsigned char first) {
    unsigned size = 1U << (first & 3);
    uint64_t number;
    if (!messagepack_rpc_small_take_number(in, size, &number)) return Qundef;
    if (first <= 0xcf) return ULL2NUM(number);

    unsigned unused = 64 - 8 * size;
    return LL2NUM((int64_t)(number << unused) >> unused);
}

static VALUE messagepack_rpc_small_unpack_string(struct unpacking *in, uint64_t size, bool text) {
    if ((uint64_t)(in->end - in->at) < size) return Qundef;

    const char *bytes = (const char *)in->at;
    in->at += size;
    return text ? rb_utf8_str_new(bytes, (long)size) : rb_str_new(bytes, (long)size);
}

static VALUE messagepack_rpc_small_unpack_stored_string(struct unpacking *in, unsigned char first) {
    bool text = first >= 0xd9;
    uint64_t size;
    if (!messagepack_rpc_small_take_number(in, 1U << (first - (text ? 0xd9 : 0xc4)), &size)) return Qundef;
    return messagepack_rpc_small_unpack_string(in, size, text);
}

static VALUE messagepack_rpc_small_unpack_value(struct unpacking *in, unsigned depth);

static bool messagepack_rpc_small_unpack_elements(struct unpacking *in, VALUE array, uint64_t count, unsigned depth) {
    for (uint64_t i = 0; i < count; i++) {
        VALUE value = messagepack_rpc_small_unpack_value(in, depth);
        if (value == Qundef) return false;
        rb_ary_push(array, value);
    }
    return true;
}

/* Each element takes a byte at least. */
static VALUE messagepack_rpc_small_unpack_array(struct unpacking *in, uint64_t count, unsigned depth) {
    if (depth == DEPTH || count > (uint64_t)(in->end - in->at)) return Qundef;

    VALUE array = rb_ary_new_capa((long)count);
    return messagepack_rpc_small_unpack_elements(in, array, count, depth + 1) ? array : Qundef;
}

static VALUE messagepack_rpc_small_unpack_other(struct unpacking *in, unsigned char first, unsigned depth) {
    uint64_t count;
    switch (first) {
    case 0xc0: return Qnil;
    case 0xc2: return Qfalse;
    case 0xc3: return Qtrue;
    case 0xc4: case 0xc5: case 0xc6: case 0xd9: case 0xda: case 0xdb:
        return messagepack_rpc_small_unpack_stored_string(in, first);
    case 0xca: return messagepack_rpc_small_unpack_float(in, 4);
    case 0xcb: return messagepack_rpc_small_unpack_float(in, 8);
    case 0xdc:
        return messagepack_rpc_small_take_number(in, 2, &count) ? messagepack_rpc_small_unpack_array(in, count, depth) : Qundef;
    default: return first >= 0xcc && first <= 0xd3 ? messagepack_rpc_small_unpack_integer(in, first) : Qundef;
    }
}

static VALUE messagepack_rpc_small_unpack_value(struct unpacking *in, unsigned depth) {
    if (in->at == in->end) return Qundef;

    unsigned char first = *in->at++;
    if (first < 0x80) return INT2FIX(first);
    if (first >= 0xe0) return INT2FIX((int)first - 0x100);
    if (first >= 0xa0 && first <= 0xbf) return messagepack_rpc_small_unpack_string(in, first & 31U, true);
    if (first >= 0x90 && first <= 0x9f) return messagepack_rpc_small_unpack_array(in, first & 15U, depth);
    return messagepack_rpc_small_unpack_other(in, first, depth);
}

VALUE plait_messagepack_rpc_unpack_small(const char *bytes, size_t size) {
    struct unpacking in = {.at = (const unsigned char *)bytes, .end = (const unsigned char *)bytes + size};
    if (size > MESSAGEPACK_RPC_SMALL) return Qundef;

    VALUE value = messagepack_rpc_small_unpack_value(&in, 0);
    return in.at == in.end ? value : Qundef;
}

VALUE plait_messagepack_rpc_unpack_arguments(const char *bytes, size_t size, VALUE first) {
    struct unpacking in = {.at = (const unsigned char *)bytes, .end = (const unsigned char *)bytes + size};
    if (size == 0 || size > MESSAGEPACK_RPC_SMALL || *in.at < 0x90 || *in.at > 0x9f) return Qundef;

    unsigned count = *in.at++ & 15U;
    VALUE array = rb_ary_new_capa(1 + (long)count);
    rb_ary_push(array, first);
    return messagepack_rpc_small_unpack_elements(&in, array, count, 1) && in.at == in.end ? array : Qundef;
}

/* ---- for the tests ---- */

/* NativeSmall.pack(value) => String, or nil */
static VALUE messagepack_rpc_small_pack(VALUE self, VALUE value) {
    char bytes[MESSAGEPACK_RPC_SMALL];
    (void)self;
    size_t size = plait_messagepack_rpc_pack_small(value, bytes, sizeof bytes);
    return size ? rb_str_new(bytes, (long)size) : Qnil;
}

/* NativeSmall.unpack(bytes) => [value], or nil */
static VALUE messagepack_rpc_small_unpack(VALUE self, VALUE bytes) {
    (void)self;
    StringValue(bytes);
    VALUE copy = rb_str_new_frozen(bytes);
    VALUE value = plait_messagepack_rpc_unpack_small(RSTRING_PTR(copy), (size_t)RSTRING_LEN(copy));
    RB_GC_GUARD(copy);
    return value == Qundef ? Qnil : rb_ary_new_from_args(1, value);
}

void plait_init_messagepack_rpc_small(VALUE messagepack_rpc) {
    utf8 = rb_utf8_encindex();
    binary = rb_ascii8bit_encindex();
    VALUE small = rb_define_module_under(messagepack_rpc, "NativeSmall");
    rb_define_singleton_method(small, "pack", messagepack_rpc_small_pack, 1);
    rb_define_singleton_method(small, "unpack", messagepack_rpc_small_unpack, 1);
}
