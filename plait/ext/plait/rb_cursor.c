/*
 * Which item is whose, in memory that forked workers share: each takes the next item by itself, so that none waits for the
 * parent's answer, and the parent knows what a dead worker has taken last.
 */
#include "plait_bindings.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

/* Bits of `word` for a slot. */
#define SLOT_BITS 16

struct cursor {
    _Atomic bool closed;     /* whether nothing is taken any more */
    _Atomic uint64_t word;   /* items taken, and in the low bits the slot that has taken the last one */
    _Atomic uint64_t last[]; /* by slot: the number of the last item that it has taken, from 1, unless `word` still says so */
};

struct cursor_view {
    struct cursor *shared;
    size_t slots;
};

static size_t cursor_bytes(size_t slots) {
    return sizeof(struct cursor) + slots * sizeof(_Atomic uint64_t);
}

static void cursor_free(void *data) {
    struct cursor_view *view = data;
    if (view->shared) munmap(view->shared, cursor_bytes(view->slots));
    xfree(view);
}

static size_t cursor_size(const void *data) {
    const struct cursor_view *view = data;
    return sizeof *view + (view->shared ? cursor_bytes(view->slots) : 0);
}

static const rb_data_type_t cursor_type = {
    .wrap_struct_name = "plait_cursor",
    .function = {.dfree = cursor_free, .dsize = cursor_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE cursor_alloc(VALUE class) {
    struct cursor_view *view;
    return TypedData_Make_Struct(class, struct cursor_view, &cursor_type, view);
}

/* NativeCursor.new(slots): nothing is taken. */
static VALUE cursor_initialize(VALUE self, VALUE slots) {
    struct cursor_view *view = rb_check_typeddata(self, &cursor_type);
    size_t count = NUM2SIZET(slots);
    if (view->shared || count >= (1 << SLOT_BITS)) rb_raise(rb_eArgError, "a cursor is made once, for less than 65,536 slots");
    void *memory = mmap(NULL, cursor_bytes(count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) rb_sys_fail("mmap(2) of a cursor");
    *view = (struct cursor_view){.shared = memory, .slots = count};
    return self;
}

static struct cursor_view *cursor_of(VALUE self) {
    struct cursor_view *view = rb_check_typeddata(self, &cursor_type);
    if (!view->shared) rb_raise(rb_eArgError, "a cursor without memory");
    return view;
}

static size_t cursor_slot(const struct cursor_view *view, VALUE slot) {
    size_t number = NUM2SIZET(slot);
    if (number >= view->slots) rb_raise(rb_eIndexError, "there is no slot %zu", number);
    return number;
}

static void cursor_raise(_Atomic uint64_t *last, uint64_t number) {
    uint64_t seen = atomic_load(last);
    while (seen < number && !atomic_compare_exchange_weak(last, &seen, number)) continue;
}

/*
 * cursor.take(slot, items): the index of the next of that many items, or nil. A worker may be killed between any two steps: one
 * exchange takes the item and says which slot has it, and the taker of the next item first notes that down.
 */
static VALUE cursor_take(VALUE self, VALUE slot, VALUE items) {
    struct cursor_view *view = cursor_of(self);
    struct cursor *shared = view->shared;
    uint64_t mine = cursor_slot(view, slot), count = NUM2ULL(items), seen = atomic_load(&shared->word), taken;
    do {
        taken = seen >> SLOT_BITS;
        if (taken >= count || atomic_load(&shared->closed)) return Qnil;
        if (taken > 0) cursor_raise(&shared->last[seen & ((1 << SLOT_BITS) - 1)], taken);
    } while (!atomic_compare_exchange_weak(&shared->word, &seen, (taken + 1) << SLOT_BITS | mine));
    return ULL2NUM(taken);
}

/* cursor.close: nothing is taken from now on. */
static VALUE cursor_close(VALUE self) {
    atomic_store(&cursor_of(self)->shared->closed, true);
    return Qnil;
}

/* cursor.taken: how many items. */
static VALUE cursor_taken(VALUE self) {
    return ULL2NUM(atomic_load(&cursor_of(self)->shared->word) >> SLOT_BITS);
}

/* cursor.last(slot): the index of the item that it has taken last, or nil. */
static VALUE cursor_last(VALUE self, VALUE slot) {
    struct cursor_view *view = cursor_of(self);
    size_t number = cursor_slot(view, slot);
    uint64_t word = atomic_load(&view->shared->word); /* first: a later taker has noted it down before */
    uint64_t last = atomic_load(&view->shared->last[number]), taken = word >> SLOT_BITS;
    if ((word & ((1 << SLOT_BITS) - 1)) == number && taken > last) last = taken;
    return last > 0 ? ULL2NUM(last - 1) : Qnil;
}

void plait_init_cursor(VALUE plait) {
    VALUE class = rb_define_class_under(plait, "NativeCursor", rb_cObject);
    rb_define_alloc_func(class, cursor_alloc);
    rb_define_method(class, "initialize", cursor_initialize, 1);
    rb_define_method(class, "take", cursor_take, 2);
    rb_define_method(class, "close", cursor_close, 0);
    rb_define_method(class, "taken", cursor_taken, 0);
    rb_define_method(class, "last", cursor_last, 1);
}
