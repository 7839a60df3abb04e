/* See rb_rulebook.h. */
#include "rb_rulebook.h"

#include "plait_bindings.h"

static ID id_error, id_misuse, id_to_a;

void plait_raise_broken(VALUE rules, const char *name, uint64_t offset, VALUE limits) {
    rb_exc_raise(rb_funcall(rules, id_error, 3, ID2SYM(rb_intern(name)), ULL2NUM(offset), limits));
}

VALUE plait_misuse(VALUE rules, const char *message) {
    return rb_funcall(rules, id_misuse, 1, rb_utf8_str_new_cstr(message));
}

void plait_raise_misuse(VALUE rules, const char *message) {
    rb_exc_raise(plait_misuse(rules, message));
}

VALUE plait_limit_numbers(VALUE limits, long count) {
    VALUE numbers = rb_funcall(limits, id_to_a, 0);
    Check_Type(numbers, T_ARRAY);
    if (RARRAY_LEN(numbers) != count) rb_raise(rb_eArgError, "limits are %ld numbers, not %ld", count, RARRAY_LEN(numbers));
    return numbers;
}

VALUE plait_rule(const char *text, const char *place, const char *limit) {
    VALUE where = place ? rb_utf8_str_new_cstr(place) : Qnil;
    VALUE option = limit ? ID2SYM(rb_intern(limit)) : Qnil;
    return rb_ary_new_from_args(3, rb_utf8_str_new_cstr(text), where, option);
}

void plait_init_rulebook(void) {
    id_error = rb_intern("error");
    id_misuse = rb_intern("misuse");
    id_to_a = rb_intern("to_a");
}
