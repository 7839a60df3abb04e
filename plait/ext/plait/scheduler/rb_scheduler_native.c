/* What the hooks of a scheduler find one instance variable away: made once for each scheduler, read at each call. */
#include "rb_scheduler_native.h"

#include <ruby/io.h>

ID plait_native_id;
#ifndef HAVE_RB_IO_TIMEOUT
static ID id_io_timeout;
#endif

static void scheduler_native_mark_sleepers(const struct native *native) {
    for (ptrdiff_t place = 0; place < native->sleepers.size; place++) {
        rb_gc_mark(((const struct nap *)native->sleepers.heap[place])->fiber);
    }
}

static void scheduler_native_mark(void *data) {
    const struct native *native = data;
    rb_gc_mark(native->selector);
    rb_gc_mark(native->thread);
    rb_gc_mark(native->loop);
    rb_gc_mark(native->ready);
    rb_gc_mark(native->blocked);
    rb_gc_mark(native->inbox);
    rb_gc_mark(native->entries);
    rb_gc_mark(native->raised);
    rb_gc_mark(native->unblock);
    plait_deadlines_mark(&native->deadlines);
    scheduler_native_mark_sleepers(native);
}

static void scheduler_native_free(void *data) {
    plait_deadlines_drop(&((struct native *)data)->deadlines);
    sleepers_free(&((struct native *)data)->sleepers);
    xfree(data);
}

const rb_data_type_t plait_native_type = {
    .wrap_struct_name = "Plait::NativeScheduler",
    .function = {.dmark = scheduler_native_mark, .dfree = scheduler_native_free},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

struct native *plait_native_of(VALUE scheduler) {
    VALUE data = rb_attr_get(scheduler, plait_native_id);
    return rb_typeddata_is_kind_of(data, &plait_native_type) ? RTYPEDDATA_DATA(data) : NULL;
}

int plait_has_timeout(VALUE io) {
#ifdef HAVE_RB_IO_TIMEOUT
    return !NIL_P(rb_io_timeout(io));
#else
    return !NIL_P(rb_attr_get(io, id_io_timeout));
#endif
}

void plait_init_native(void) {
    plait_native_id = rb_intern("@native");
#ifndef HAVE_RB_IO_TIMEOUT
    id_io_timeout = rb_intern("@timeout");
#endif
}
