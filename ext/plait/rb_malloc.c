/*
 * How the C library's malloc shares memory out among threads.
 */
#include "plait.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

/* NativeMalloc.limit_arenas(count): whether that is so from now on. Those that are there already stay. */
static VALUE limit_arenas(VALUE self, VALUE count) {
    (void)self;
    int most = NUM2INT(count);
#ifdef __GLIBC__
    return mallopt(M_ARENA_MAX, most) == 1 ? Qtrue : Qfalse;
#else
    (void)most;
    return Qfalse;
#endif
}

void plait_init_malloc(VALUE plait) {
    VALUE native = rb_define_module_under(plait, "NativeMalloc");
    rb_define_singleton_method(native, "limit_arenas", limit_arenas, 1);
}
