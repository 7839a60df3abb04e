/* See rb_response.h. The methods that need no C are in plait-http/lib/plait/http/response_methods.rb. */
#include "rb_response.h"

#include <ruby/encoding.h>

#include "../http1/rb_http1.h"
#include "../plait_io.h"

/* Kept small: responses may be many. */
struct response {
    VALUE members[RESPONSE_MEMBERS]; /* by enum response_member */
    float send;                      /* seconds, see plait_response_time */
    float first_byte;
    float read;
    struct head_bytes *head;
    struct http1_slice reason;       /* in the head */
    uint16_t status;
    uint8_t minor;                   /* of the version: 0 and 1 of HTTP/1, else HTTP/2 */
    bool encoded;                    /* there is a Content-Encoding */
    bool sets_cookies;               /* there is a Set-Cookie */
    int url_encoding;                /* index */
    uint32_t url_size;               /* bytes of `url`, until a String of it is a member */
    char url[];                      /* the caller may change the given String, and most never ask for it */
};

enum { VERSIONS = 3 };

static VALUE response_class = Qnil;
static VALUE versions[VERSIONS];
static VALUE no_trailers;

static void response_mark(void *data) {
    const struct response *response = data;
    for (int member = 0; member < RESPONSE_MEMBERS; member++) rb_gc_mark(response->members[member]);
}

static void response_free(void *data) {
    plait_head_bytes_release(((struct response *)data)->head);
    xfree(data);
}

static size_t response_size(const void *data) {
    const struct response *response = data;
    const struct head_bytes *head = response->head;
    return sizeof(struct response) + response->url_size + (sizeof *head + head->size) / head->holders;
}

static const rb_data_type_t response_type = {
    .wrap_struct_name = "Plait::HTTP::NativeResponse",
    .function = {.dmark = response_mark, .dfree = response_free, .dsize = response_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static struct response *response_of(VALUE self) {
    return rb_check_typeddata(self, &response_type);
}

void plait_head_bytes_release(struct head_bytes *head) {
    if (head && --head->holders == 0) xfree(head);
}

/* One more hold of the last one, if it is the same, or the first two of a new one. */
static struct head_bytes *response_hold(const char *bytes, size_t size, struct head_bytes **last) {
    struct head_bytes *head = *last;
    if (head && head->size == size && memcmp(head->bytes, bytes, size) == 0) {
        head->holders++;
        return head;
    }
    head = xmalloc(sizeof *head + size);
    head->holders = 2;
    head->size = (uint32_t)size;
    memcpy(head->bytes, bytes, size);
    plait_head_bytes_release(*last);
    return *last = head;
}

/* Of a String that may change. */
static size_t response_size_to_copy(VALUE url) {
    bool may_change = !NIL_P(url) && !OBJ_FROZEN(url);
    return may_change && RSTRING_LEN(url) <= UINT32_MAX ? (size_t)RSTRING_LEN(url) : 0;
}

static void response_copy_url(struct response *response, VALUE url, size_t size) {
    memcpy(response->url, RSTRING_PTR(url), size);
    response->url_size = (uint32_t)size;
    response->url_encoding = rb_enc_get_index(url);
}

VALUE plait_response_new(const struct http1_head *head, const char *bytes, size_t size, VALUE url, struct head_bytes **last) {
    size_t url_size = response_size_to_copy(url);
    struct response *response = xmalloc(sizeof *response + url_size);
    *response = (struct response){
        .reason = head->reason,
        .status = head->status,
        .minor = head->minor,
        .encoded = head->seen >> HTTP1_FIELD_CONTENT_ENCODING & 1,
        .sets_cookies = head->seen >> HTTP1_FIELD_SET_COOKIE & 1,
        .head = response_hold(bytes, size, last),
    };
    for (int member = 0; member < RESPONSE_MEMBERS; member++) response->members[member] = Qnil;
    if (url_size > 0) response_copy_url(response, url, url_size);
    VALUE self = TypedData_Wrap_Struct(response_class, &response_type, response);
    if (url_size == 0) plait_response_set(self, RESPONSE_URL, url);
    return self;
}

void plait_response_set(VALUE self, enum response_member member, VALUE value) {
    RB_OBJ_WRITE(self, &response_of(self)->members[member], value);
}

void plait_response_time(VALUE self, double send, double first_byte, double read) {
    struct response *response = response_of(self);
    response->send = (float)send;
    response->first_byte = (float)first_byte;
    response->read = (float)read;
}

void plait_response_time_read(VALUE self, double read) {
    response_of(self)->read = (float)read;
}

bool plait_response_is_plain(VALUE self) {
    const struct response *response = response_of(self);
    return response->status < 300 && !response->encoded;
}

/* ---- in Ruby ---- */

static VALUE response_status(VALUE self) {
    return INT2FIX(response_of(self)->status);
}

static VALUE response_version(VALUE self) {
    return versions[response_of(self)->minor];
}

static VALUE response_reason(VALUE self) {
    const struct response *response = response_of(self);
    VALUE reason = plait_http1_text(response->head->bytes + response->reason.at, response->reason.size);
    RB_GC_GUARD(self);
    return reason;
}

static VALUE response_head_bytes(VALUE self) {
    const struct response *response = response_of(self);
    VALUE bytes = rb_str_new(response->head->bytes, response->head->size);
    RB_GC_GUARD(self);
    return bytes;
}

static VALUE response_encoded(VALUE self) {
    return response_of(self)->encoded ? Qtrue : Qfalse;
}

static VALUE response_sets_cookies(VALUE self) {
    return response_of(self)->sets_cookies ? Qtrue : Qfalse;
}

static VALUE response_durations(VALUE self) {
    const struct response *response = response_of(self);
    return rb_ary_new_from_args(3, DBL2NUM(response->send), DBL2NUM(response->first_byte), DBL2NUM(response->read));
}

static VALUE response_trailers(VALUE self) {
    VALUE trailers = response_of(self)->members[RESPONSE_TRAILERS];
    return NIL_P(trailers) ? no_trailers : trailers;
}

static VALUE response_set_trailers(VALUE self, VALUE trailers) {
    plait_response_set(self, RESPONSE_TRAILERS, trailers);
    return trailers;
}

static VALUE response_set_durations(VALUE self, VALUE seconds) {
    Check_Type(seconds, T_ARRAY);
    if (RARRAY_LEN(seconds) != 3) rb_raise(rb_eArgError, "durations: three of them, not %ld", RARRAY_LEN(seconds));
    double each[3];
    for (int i = 0; i < 3; i++) each[i] = NUM2DBL(rb_ary_entry(seconds, i));
    plait_response_time(self, each[0], each[1], each[2]);
    return seconds;
}

#define MEMBER(name, member)                                    \
    static VALUE response_##name(VALUE self) {                  \
        return response_of(self)->members[member];              \
    }                                                           \
    static VALUE response_set_##name(VALUE self, VALUE value) { \
        plait_response_set(self, member, value);                \
        return value;                                           \
    }

MEMBER(body, RESPONSE_BODY)
MEMBER(phases, RESPONSE_PHASES)
MEMBER(given_request, RESPONSE_REQUEST)
MEMBER(index, RESPONSE_INDEX)

static VALUE response_url(VALUE self) {
    struct response *response = response_of(self);
    if (response->url_size > 0) {
        VALUE url = rb_enc_associate_index(rb_str_new(response->url, response->url_size), response->url_encoding);
        plait_response_set(self, RESPONSE_URL, url);
        response->url_size = 0;
    }
    return response->members[RESPONSE_URL];
}

static VALUE response_set_url(VALUE self, VALUE url) {
    response_of(self)->url_size = 0;
    plait_response_set(self, RESPONSE_URL, url);
    return url;
}

static bool response_has_line(const char *head, size_t size, const char *start) {
    size_t length = strlen(start);
    const char *end = head + size, *line = head;
    while ((line = memchr(line, '\n', (size_t)(end - line)))) {
        line++;
        if ((size_t)(end - line) >= length && strncasecmp(line, start, length) == 0) return true;
    }
    return false;
}

/* assemble(head_bytes, status, minor, reason_at, reason_size, encoded): of a head that no wire has received. */
static VALUE response_assemble(int argc, VALUE *argv, VALUE class) {
    (void)class;
    rb_check_arity(argc, 6, 6);
    VALUE bytes = argv[0];
    StringValue(bytes);
    struct http1_head head = {
        .status = NUM2USHORT(argv[1]),
        .minor = (uint8_t)NUM2UINT(argv[2]),
        .reason = {.at = NUM2UINT(argv[3]), .size = NUM2UINT(argv[4])},
        .seen = RTEST(argv[5]) ? (uint64_t)1 << HTTP1_FIELD_CONTENT_ENCODING : 0,
    };
    size_t size = (size_t)RSTRING_LEN(bytes);
    if (response_has_line(RSTRING_PTR(bytes), size, "set-cookie:")) head.seen |= (uint64_t)1 << HTTP1_FIELD_SET_COOKIE;
    bool fits = head.minor < VERSIONS && head.reason.at <= size && head.reason.size <= size - head.reason.at;
    if (!fits || size > HTTP1_LARGEST_HEAD) rb_raise(rb_eArgError, "not a head");

    struct head_bytes *own = NULL;
    VALUE self = plait_response_new(&head, RSTRING_PTR(bytes), size, Qnil, &own);
    plait_head_bytes_release(own);
    RB_GC_GUARD(bytes);
    return self;
}

void plait_define_response(VALUE http) {
    response_class = rb_define_class_under(http, "NativeResponse", rb_cObject);
    rb_undef_alloc_func(response_class);
    rb_define_singleton_method(response_class, "assemble", response_assemble, -1);
    rb_funcall(response_class, rb_intern("private_class_method"), 1, ID2SYM(rb_intern("assemble")));
    rb_define_method(response_class, "status", response_status, 0);
    rb_define_method(response_class, "version", response_version, 0);
    rb_define_method(response_class, "reason", response_reason, 0);
    rb_define_method(response_class, "head_bytes", response_head_bytes, 0);
    rb_define_method(response_class, "encoded?", response_encoded, 0);
    rb_define_method(response_class, "sets_cookies?", response_sets_cookies, 0);
    rb_define_method(response_class, "durations", response_durations, 0);
    rb_define_method(response_class, "durations=", response_set_durations, 1);
    rb_define_method(response_class, "trailers", response_trailers, 0);
    rb_define_method(response_class, "trailers=", response_set_trailers, 1);
    rb_define_method(response_class, "body", response_body, 0);
    rb_define_method(response_class, "body=", response_set_body, 1);
    rb_define_method(response_class, "url", response_url, 0);
    rb_define_method(response_class, "url=", response_set_url, 1);
    rb_define_method(response_class, "phases", response_phases, 0);
    rb_define_method(response_class, "phases=", response_set_phases, 1);
    rb_define_method(response_class, "given_request", response_given_request, 0);
    rb_define_method(response_class, "request=", response_set_given_request, 1);
    rb_define_method(response_class, "index", response_index, 0);
    rb_define_method(response_class, "index=", response_set_index, 1);
}

void plait_init_response(void) {
    static const char *const names[VERSIONS] = {"1.0", "1.1", "2"};
    rb_gc_register_address(&response_class);
    for (int minor = 0; minor < VERSIONS; minor++) {
        versions[minor] = rb_obj_freeze(rb_utf8_str_new_cstr(names[minor]));
        rb_gc_register_mark_object(versions[minor]);
    }
    no_trailers = rb_obj_freeze(rb_ary_new());
    rb_gc_register_mark_object(no_trailers);
}
