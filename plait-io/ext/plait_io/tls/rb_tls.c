/* See rb_tls.h. */
#include "rb_tls.h"

#include <string.h>

/* The name that Ruby's extension gives to its SSLSocket. */
static const char TYPE[] = "OpenSSL/SSL";

static bool tls_is_extension(VALUE path) {
    static const char NAME[] = "/openssl" DLEXT;
    size_t size = sizeof NAME - 1;
    if (!RB_TYPE_P(path, T_STRING) || (size_t)RSTRING_LEN(path) < size) return false;
    return memcmp(RSTRING_END(path) - size, NAME, size) == 0;
}

bool plait_tls_is_found(void) {
    VALUE features = rb_gv_get("$LOADED_FEATURES");
    for (long index = 0; index < RARRAY_LEN(features); index++) {
        VALUE path = RARRAY_AREF(features, index);
        if (tls_is_extension(path)) return tls_find(StringValueCStr(path));
    }
    return false;
}

static struct ssl_st *tls_of(VALUE socket) {
    bool known = RB_TYPE_P(socket, T_DATA) && RTYPEDDATA_P(socket) &&
                 strcmp(RTYPEDDATA_TYPE(socket)->wrap_struct_name, TYPE) == 0;
    if (!known || !RTYPEDDATA_DATA(socket)) rb_raise(rb_eArgError, "no socket of OpenSSL: %" PRIsVALUE, rb_obj_class(socket));
    if (!plait_tls_is_found()) rb_raise(rb_eNotImpError, "the libssl of Ruby's extension openssl can't be used");
    return RTYPEDDATA_DATA(socket);
}

struct ssl_st *plait_tls_of(VALUE socket) {
    struct ssl_st *ssl = tls_of(socket);
    tls_begin(ssl);
    return ssl;
}

VALUE plait_tls_error_class(void) {
    return rb_path2class("OpenSSL::SSL::SSLError");
}

VALUE plait_tls_error(const char *what) {
    return rb_exc_new_str(plait_tls_error_class(), rb_sprintf("%s: %s", what, tls_reason()));
}

/* NativeTLS.found?: see plait_tls_is_found */
static VALUE tls_found(VALUE self) {
    (void)self;
    return plait_tls_is_found() ? Qtrue : Qfalse;
}

/* ---- sessions ---- */

static void tls_session_free(void *session) {
    tls_session_release(session);
}

static const rb_data_type_t tls_session_type = {
    .wrap_struct_name = "Plait::NativeTLS::Session",
    .function = {.dfree = tls_session_free},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

/* session(socket) => what `resume` takes, or nil. That of Ruby 3.1's openssl takes no socket of a subclass. */
static VALUE tls_native_session(VALUE self, VALUE socket) {
    (void)self;
    struct ssl_session_st *session = tls_session(tls_of(socket));
    return session ? TypedData_Wrap_Struct(rb_cObject, &tls_session_type, session) : Qnil;
}

/* resume(socket, session) => whether it can */
static VALUE tls_native_resume(VALUE self, VALUE socket, VALUE session) {
    (void)self;
    return tls_resume(tls_of(socket), rb_check_typeddata(session, &tls_session_type)) ? Qtrue : Qfalse;
}

void plait_init_tls(VALUE plait) {
    VALUE native = rb_define_module_under(plait, "NativeTLS");
    rb_define_singleton_method(native, "found?", tls_found, 0);
    rb_define_singleton_method(native, "session", tls_native_session, 1);
    rb_define_singleton_method(native, "resume", tls_native_resume, 2);
}
