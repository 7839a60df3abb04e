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

struct ssl_st *plait_tls_of(VALUE socket) {
    bool known = RB_TYPE_P(socket, T_DATA) && RTYPEDDATA_P(socket) &&
                 strcmp(RTYPEDDATA_TYPE(socket)->wrap_struct_name, TYPE) == 0;
    if (!known || !RTYPEDDATA_DATA(socket)) rb_raise(rb_eArgError, "no socket of OpenSSL: %" PRIsVALUE, rb_obj_class(socket));
    if (!plait_tls_is_found()) rb_raise(rb_eNotImpError, "the libssl of Ruby's extension openssl can't be used");
    tls_begin(RTYPEDDATA_DATA(socket));
    return RTYPEDDATA_DATA(socket);
}

VALUE plait_tls_error(const char *what) {
    return rb_exc_new_str(rb_path2class("OpenSSL::SSL::SSLError"), rb_sprintf("%s: %s", what, tls_reason()));
}

/* NativeTLS.found?: see plait_tls_is_found */
static VALUE tls_found(VALUE self) {
    (void)self;
    return plait_tls_is_found() ? Qtrue : Qfalse;
}

void plait_init_tls(VALUE plait) {
    VALUE native = rb_define_module_under(plait, "NativeTLS");
    rb_define_singleton_method(native, "found?", tls_found, 0);
}
