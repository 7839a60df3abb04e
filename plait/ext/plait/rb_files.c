/*
 * Finds the living IO objects: ObjectSpace.each_object asks each object for its class, and a process has hundreds of thousands.
 */
#include "plait_bindings.h"

#ifdef HAVE_RB_OBJSPACE_EACH_OBJECTS
void rb_objspace_each_objects(int (*callback)(void *, void *, size_t, void *), void *data);

static int files_among(void *start, void *end, size_t stride, void *found) {
    for (VALUE slot = (VALUE)start; slot != (VALUE)end; slot += stride)
        if (RB_BUILTIN_TYPE(slot) == T_FILE && RBASIC_CLASS(slot)) rb_ary_push((VALUE)found, slot);
    return 0;
}

/* NativeFiles.list */
static VALUE files_list(VALUE self) {
    (void)self;
    VALUE found = rb_ary_new();
    rb_objspace_each_objects(files_among, (void *)found);
    return found;
}

void plait_init_files(VALUE plait) {
    rb_define_singleton_method(rb_define_module_under(plait, "NativeFiles"), "list", files_list, 0);
}
#else
void plait_init_files(VALUE plait) {
    (void)plait;
}
#endif
