/*
 * Plait::Protocols::MessagePackRPC::NativeWriter: frames around packed values, for one writev. In Ruby it is PureWriter in
 * plait-rpc/lib/plait/protocols/messagepack_rpc/.
 */
#include "rb_messagepack_rpc.h"

#include "messagepack_rpc.h"

enum { FIRST_TAIL = 256 };

static ID id_refusal, id_raw, id_join;

struct writer {
    VALUE parts; /* what comes before the tail: an Array of Strings, or nil */
    VALUE tail;  /* joined small pieces: a String of our own, or nil */
    size_t size; /* bytes of the parts */
    size_t join; /* pieces of fewer bytes are copied into the tail */
    bool raw;    /* for a peer that knows no str 8 */
};

static void messagepack_rpc_writer_mark(void *data) {
    const struct writer *writer = data;
    rb_gc_mark(writer->parts);
    rb_gc_mark(writer->tail);
}

static size_t messagepack_rpc_writer_size(const void *data) {
    (void)data;
    return sizeof(struct writer);
}

static const rb_data_type_t writer_type = {
    .wrap_struct_name = "Plait::Protocols::MessagePackRPC::NativeWriter",
    .function = {.dmark = messagepack_rpc_writer_mark, .dfree = RUBY_DEFAULT_FREE, .dsize = messagepack_rpc_writer_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE messagepack_rpc_writer_allocate(VALUE class) {
    struct writer *writer;
    VALUE self = TypedData_Make_Struct(class, struct writer, &writer_type, writer);
    writer->parts = writer->tail = Qnil;
    writer->join = 16 * 1024;
    return self;
}

static struct writer *messagepack_rpc_writer_of(VALUE self) {
    return rb_check_typeddata(self, &writer_type);
}

/* initialize(raw: false, join: 16 KiB) */
static VALUE messagepack_rpc_writer_initialize(int argc, VALUE *argv, VALUE self) {
    struct writer *writer = messagepack_rpc_writer_of(self);
    ID names[] = {id_raw, id_join};
    VALUE options, values[2];
    rb_scan_args(argc, argv, "0:", &options);
    rb_get_kwargs(options, names, 0, 2, values);
    writer->raw = values[0] != Qundef && RTEST(values[0]);
    if (values[1] != Qundef) writer->join = NUM2SIZET(values[1]);
    return self;
}

/* ---- what may be sent ---- */

NORETURN(static void messagepack_rpc_writer_refuse(const char *rule, VALUE what));
static void messagepack_rpc_writer_refuse(const char *rule, VALUE what) {
    VALUE rules = rb_path2class("Plait::Protocols::MessagePackRPC::Rules");
    rb_exc_raise(rb_funcall(rules, id_refusal, 2, ID2SYM(rb_intern(rule)), what));
}

static uint64_t messagepack_rpc_writer_id_of(VALUE id, uint64_t largest) {
    bool small = FIXNUM_P(id) && FIX2LONG(id) >= 0;
    bool big = RB_TYPE_P(id, T_BIGNUM) && RBIGNUM_POSITIVE_P(id) && rb_absint_size(id, NULL) <= 8;
    uint64_t number = small || big ? NUM2ULL(id) : 0;
    if (!(small || big) || number > largest) messagepack_rpc_writer_refuse("id", id);
    return number;
}

static VALUE messagepack_rpc_writer_method_of(VALUE method) {
    if (SYMBOL_P(method)) method = rb_sym2str(method);
    if (!RB_TYPE_P(method, T_STRING) || (uint64_t)RSTRING_LEN(method) > UINT32_MAX) {
        messagepack_rpc_writer_refuse("method", method);
    }
    return method;
}

/* How many Strings a packed value is. */
static long messagepack_rpc_writer_pieces_of(VALUE packed) {
    return RB_TYPE_P(packed, T_ARRAY) ? RARRAY_LEN(packed) : 1;
}

static VALUE messagepack_rpc_writer_piece_of(VALUE packed, long number) {
    return RB_TYPE_P(packed, T_ARRAY) ? rb_ary_entry(packed, number) : packed;
}

static void messagepack_rpc_writer_check(VALUE packed, bool array) {
    long size = 0;
    for (long i = 0; i < messagepack_rpc_writer_pieces_of(packed); i++) {
        VALUE piece = messagepack_rpc_writer_piece_of(packed, i);
        if (!RB_TYPE_P(piece, T_STRING)) messagepack_rpc_writer_refuse("packed", packed);
        if (size == 0 && RSTRING_LEN(piece) && array && !mprpc_begins_array((unsigned char)*RSTRING_PTR(piece))) {
            messagepack_rpc_writer_refuse("params", packed);
        }
        size += RSTRING_LEN(piece);
    }
    if (size == 0) messagepack_rpc_writer_refuse("packed", packed);
}

/* ---- frames ---- */

static void messagepack_rpc_writer_join(struct writer *writer, const char *bytes, size_t size) {
    if (NIL_P(writer->tail)) writer->tail = rb_str_buf_new(size > FIRST_TAIL ? (long)size : FIRST_TAIL);
    rb_str_cat(writer->tail, bytes, (long)size);
}

static void messagepack_rpc_writer_push(struct writer *writer, VALUE part) {
    if (NIL_P(writer->parts)) writer->parts = rb_ary_new();
    rb_ary_push(writer->parts, part);
    writer->size += (size_t)RSTRING_LEN(part);
}

static void messagepack_rpc_writer_append(struct writer *writer, VALUE packed) {
    for (long i = 0; i < messagepack_rpc_writer_pieces_of(packed); i++) {
        VALUE piece = messagepack_rpc_writer_piece_of(packed, i);
        if ((size_t)RSTRING_LEN(piece) < writer->join) {
            messagepack_rpc_writer_join(writer, RSTRING_PTR(piece), (size_t)RSTRING_LEN(piece));
            continue;
        }
        if (!NIL_P(writer->tail)) messagepack_rpc_writer_push(writer, writer->tail);
        writer->tail = Qnil;
        messagepack_rpc_writer_push(writer, piece);
    }
    RB_GC_GUARD(packed);
}

static void messagepack_rpc_writer_append_head(struct writer *writer, enum mprpc_kind kind, uint64_t id) {
    char head[MPRPC_HEAD];
    messagepack_rpc_writer_join(writer, head, mprpc_write_head(head, kind, id));
}

static void messagepack_rpc_writer_append_method(struct writer *writer, VALUE method) {
    char header[MPRPC_STRING_HEADER];
    messagepack_rpc_writer_join(writer, header, mprpc_write_string_header(header, (uint32_t)RSTRING_LEN(method), writer->raw));
    messagepack_rpc_writer_join(writer, RSTRING_PTR(method), (size_t)RSTRING_LEN(method));
    RB_GC_GUARD(method);
}

static VALUE messagepack_rpc_writer_write_call(VALUE self, enum mprpc_kind kind, uint64_t id, VALUE method, VALUE params) {
    struct writer *writer = messagepack_rpc_writer_of(self);
    method = messagepack_rpc_writer_method_of(method);
    messagepack_rpc_writer_check(params, true);
    messagepack_rpc_writer_append_head(writer, kind, id);
    messagepack_rpc_writer_append_method(writer, method);
    messagepack_rpc_writer_append(writer, params);
    return self;
}

void plait_messagepack_rpc_write_small_request(VALUE self, uint32_t id, VALUE method, const char *params, size_t size) {
    struct writer *writer = messagepack_rpc_writer_of(self);
    method = messagepack_rpc_writer_method_of(method);
    messagepack_rpc_writer_append_head(writer, MPRPC_REQUEST, id);
    messagepack_rpc_writer_append_method(writer, method);
    messagepack_rpc_writer_join(writer, params, size);
}

void plait_messagepack_rpc_write_request(VALUE self, uint32_t id, VALUE method, VALUE params) {
    messagepack_rpc_writer_write_call(self, MPRPC_REQUEST, id, method, params);
}

void plait_messagepack_rpc_write_notification(VALUE self, VALUE method, VALUE params) {
    messagepack_rpc_writer_write_call(self, MPRPC_NOTIFICATION, 0, method, params);
}

static VALUE messagepack_rpc_writer_request(VALUE self, VALUE id, VALUE method, VALUE params) {
    return messagepack_rpc_writer_write_call(self, MPRPC_REQUEST, messagepack_rpc_writer_id_of(id, UINT32_MAX), method, params);
}

static VALUE messagepack_rpc_writer_notification(VALUE self, VALUE method, VALUE params) {
    return messagepack_rpc_writer_write_call(self, MPRPC_NOTIFICATION, 0, method, params);
}

static VALUE messagepack_rpc_writer_response(VALUE self, VALUE id, VALUE result) {
    struct writer *writer = messagepack_rpc_writer_of(self);
    uint64_t number = messagepack_rpc_writer_id_of(id, UINT64_MAX);
    messagepack_rpc_writer_check(result, false);
    messagepack_rpc_writer_append_head(writer, MPRPC_RESPONSE, number);
    messagepack_rpc_writer_join(writer, "\xc0", 1);
    messagepack_rpc_writer_append(writer, result);
    return self;
}

/* error(id, error, result = a packed nil): peers that name their errors send more about them as the result. */
static VALUE messagepack_rpc_writer_error(int argc, VALUE *argv, VALUE self) {
    struct writer *writer = messagepack_rpc_writer_of(self);
    rb_check_arity(argc, 2, 3);
    uint64_t number = messagepack_rpc_writer_id_of(argv[0], UINT64_MAX);
    for (int given = 1; given < argc; given++) messagepack_rpc_writer_check(argv[given], false);
    messagepack_rpc_writer_append_head(writer, MPRPC_RESPONSE, number);
    messagepack_rpc_writer_append(writer, argv[1]);
    if (argc == 3) messagepack_rpc_writer_append(writer, argv[2]);
    else messagepack_rpc_writer_join(writer, "\xc0", 1);
    return self;
}

void plait_messagepack_rpc_write_small_result(VALUE self, VALUE id, const char *result, size_t size) {
    struct writer *writer = messagepack_rpc_writer_of(self);
    messagepack_rpc_writer_append_head(writer, MPRPC_RESPONSE, messagepack_rpc_writer_id_of(id, UINT64_MAX));
    messagepack_rpc_writer_join(writer, "\xc0", 1);
    messagepack_rpc_writer_join(writer, result, size);
}

void plait_messagepack_rpc_write_result(VALUE self, VALUE id, VALUE result) {
    messagepack_rpc_writer_response(self, id, result);
}

void plait_messagepack_rpc_write_error(VALUE self, VALUE id, VALUE error, VALUE data) {
    VALUE arguments[] = {id, error, data};
    messagepack_rpc_writer_error(NIL_P(data) ? 2 : 3, arguments, self);
}

/* ---- what is pending ---- */

static size_t messagepack_rpc_writer_pending(const struct writer *writer) {
    return writer->size + (NIL_P(writer->tail) ? 0 : (size_t)RSTRING_LEN(writer->tail));
}

static VALUE messagepack_rpc_writer_bytesize(VALUE self) {
    return SIZET2NUM(messagepack_rpc_writer_pending(messagepack_rpc_writer_of(self)));
}

static VALUE messagepack_rpc_writer_empty(VALUE self) {
    return messagepack_rpc_writer_pending(messagepack_rpc_writer_of(self)) == 0 ? Qtrue : Qfalse;
}

static VALUE messagepack_rpc_writer_clear(VALUE self) {
    struct writer *writer = messagepack_rpc_writer_of(self);
    writer->parts = writer->tail = Qnil;
    writer->size = 0;
    return self;
}

size_t plait_messagepack_rpc_pending(VALUE self) {
    return messagepack_rpc_writer_pending(messagepack_rpc_writer_of(self));
}

VALUE plait_messagepack_rpc_pending_tail(VALUE self) {
    const struct writer *writer = messagepack_rpc_writer_of(self);
    return NIL_P(writer->parts) ? writer->tail : Qnil;
}

void plait_messagepack_rpc_clear(VALUE self, bool keep) {
    struct writer *writer = messagepack_rpc_writer_of(self);
    VALUE tail = writer->tail;
    messagepack_rpc_writer_clear(self);
    if (!keep || NIL_P(tail)) return;

    rb_str_set_len(tail, 0);
    writer->tail = tail;
}

/* take: all that is pending, as an Array of Strings. */
VALUE plait_messagepack_rpc_take(VALUE self) {
    struct writer *writer = messagepack_rpc_writer_of(self);
    if (!NIL_P(writer->tail) && RSTRING_LEN(writer->tail) > 0) messagepack_rpc_writer_push(writer, writer->tail);
    VALUE parts = NIL_P(writer->parts) ? rb_ary_new() : writer->parts;
    messagepack_rpc_writer_clear(self);
    return parts;
}

void plait_init_messagepack_rpc_writer(VALUE messagepack_rpc) {
    id_refusal = rb_intern("refusal");
    id_raw = rb_intern("raw");
    id_join = rb_intern("join");

    VALUE writer = rb_define_class_under(messagepack_rpc, "NativeWriter", rb_cObject);
    rb_define_alloc_func(writer, messagepack_rpc_writer_allocate);
    rb_define_method(writer, "initialize", messagepack_rpc_writer_initialize, -1);
    rb_define_method(writer, "request", messagepack_rpc_writer_request, 3);
    rb_define_method(writer, "notification", messagepack_rpc_writer_notification, 2);
    rb_define_method(writer, "response", messagepack_rpc_writer_response, 2);
    rb_define_method(writer, "error", messagepack_rpc_writer_error, -1);
    rb_define_method(writer, "bytesize", messagepack_rpc_writer_bytesize, 0);
    rb_define_method(writer, "empty?", messagepack_rpc_writer_empty, 0);
    rb_define_method(writer, "clear", messagepack_rpc_writer_clear, 0);
    rb_define_method(writer, "take", plait_messagepack_rpc_take, 0);
}
