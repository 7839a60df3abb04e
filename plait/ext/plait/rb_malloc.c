/*
 * How the C library's malloc shares memory out, and when it gives it back.
 */
#include "plait_bindings.h"

#ifdef __GLIBC__
#include <malloc.h>
#if __GLIBC_PREREQ(2, 33)
#define TELLS
#endif
#endif

/*
 * NativeMalloc.map_large(from, spare): what is of so many bytes gets pages of its own, which go back to the system when it is
 * freed, and the rest keeps so many free bytes at its end at most. By itself malloc comes to put larger ones among the small.
 */
static VALUE malloc_map_large(VALUE self, VALUE from, VALUE spare) {
    (void)self;
    int bytes = NUM2INT(from), kept = NUM2INT(spare);
#ifdef __GLIBC__
    return mallopt(M_MMAP_THRESHOLD, bytes) == 1 && mallopt(M_TRIM_THRESHOLD, kept) == 1 ? Qtrue : Qfalse;
#else
    (void)bytes, (void)kept;
    return Qfalse;
#endif
}

/* NativeMalloc.limit_arenas(count): whether that is so from now on. Existing arenas stay. */
static VALUE malloc_limit_arenas(VALUE self, VALUE count) {
    (void)self;
    int most = NUM2INT(count);
#ifdef __GLIBC__
    return mallopt(M_ARENA_MAX, most) == 1 ? Qtrue : Qfalse;
#else
    (void)most;
    return Qfalse;
#endif
}

/*
 * NativeMalloc.used: bytes that were taken and not freed, or nil where malloc doesn't tell. A leak is seen by them at once; the
 * process grows only when it has filled what was free.
 */
static VALUE malloc_used(VALUE self) {
    (void)self;
#ifdef TELLS
    struct mallinfo2 info = mallinfo2();
    return SIZET2NUM(info.uordblks + info.hblkhd);
#else
    return Qnil;
#endif
}

void plait_init_malloc(VALUE plait) {
    VALUE native = rb_define_module_under(plait, "NativeMalloc");
    rb_define_singleton_method(native, "limit_arenas", malloc_limit_arenas, 1);
    rb_define_singleton_method(native, "map_large", malloc_map_large, 2);
    rb_define_singleton_method(native, "used", malloc_used, 0);
}
