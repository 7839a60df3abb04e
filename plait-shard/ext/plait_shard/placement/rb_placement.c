/* Plait::NativeShard::Placement: the hashes and tags of placement.h, for Shard::Placement. */
#include "rb_placement.h"

#include "../plait_shard.h"

struct holder {
    struct placement placement;
    VALUE points; /* a frozen String: pairs of 32 bits */
};

static void placement_holder_mark(void *data) {
    rb_gc_mark(((struct holder *)data)->points);
}

static size_t placement_holder_size(const void *data) {
    (void)data;
    return sizeof(struct holder);
}

static const rb_data_type_t holder_type = {
    .wrap_struct_name = "Plait::NativeShard::Placement",
    .function = {.dmark = placement_holder_mark, .dfree = RUBY_DEFAULT_FREE, .dsize = placement_holder_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE placement_holder_allocate(VALUE class) {
    struct holder *holder;
    VALUE self = TypedData_Make_Struct(class, struct holder, &holder_type, holder);
    holder->points = Qnil;
    return self;
}

static const struct holder *placement_holder_of(VALUE self) {
    const struct holder *holder = rb_check_typeddata(self, &holder_type);
    if (NIL_P(holder->points)) rb_raise(rb_eArgError, "the placement was never initialized");
    return holder;
}

static int placement_number_of(VALUE name) {
    static const char *const names[] = {
#define NAME(constant, word) #word,
        PLACEMENT_HASHES(NAME)
#undef NAME
    };
    VALUE string = rb_sym2str(name);
    for (int number = 0; number < PLACEMENT_HASH_COUNT; number++) {
        if (strcmp(StringValueCStr(string), names[number]) == 0) return number;
    }
    rb_raise(rb_eArgError, "no hash %" PRIsVALUE, name);
}

static enum placement_tag placement_tag_of(VALUE tag, struct placement *placement) {
    if (NIL_P(tag)) return PLACEMENT_WHOLE;
    if (tag == ID2SYM(rb_intern("last_brace"))) return PLACEMENT_LAST_BRACE;
    if (tag == ID2SYM(rb_intern("first_brace"))) return PLACEMENT_FIRST_BRACE;
    Check_Type(tag, T_STRING);
    if (RSTRING_LEN(tag) != 2) rb_raise(rb_eArgError, "a tag has two delimiters");
    placement->open = RSTRING_PTR(tag)[0];
    placement->close = RSTRING_PTR(tag)[1];
    return PLACEMENT_DELIMITED;
}

/* initialize(hash, tag, points, ring): points are packed pairs of value and node ("L2"). */
static VALUE placement_holder_initialize(VALUE self, VALUE hash, VALUE tag, VALUE points, VALUE ring) {
    struct holder *holder = rb_check_typeddata(self, &holder_type);
    Check_Type(hash, T_SYMBOL);
    Check_Type(points, T_STRING);
    long size = RSTRING_LEN(points);
    if (size == 0 || size % (long)sizeof(struct placement_point)) rb_raise(rb_eArgError, "points are pairs, at least one");

    struct placement placement = {.hash = (uint8_t)placement_number_of(hash), .ring = RTEST(ring)};
    placement.tag = (uint8_t)placement_tag_of(tag, &placement);
    placement.count = (uint32_t)(size / (long)sizeof(struct placement_point));
    holder->placement = placement;
    holder->points = rb_str_new_frozen(points);
    return self;
}

struct placement plait_placement(VALUE self) {
    const struct holder *holder = placement_holder_of(self);
    struct placement placement = holder->placement;
    placement.points = (const struct placement_point *)RSTRING_PTR(holder->points);
    return placement;
}

static VALUE placement_holder_node_for(VALUE self, VALUE key) {
    struct placement placement = plait_placement(self);
    Check_Type(key, T_STRING);
    return UINT2NUM(placement_node(&placement, RSTRING_PTR(key), (size_t)RSTRING_LEN(key)));
}

static VALUE placement_holder_hash_of(VALUE self, VALUE key) {
    struct placement placement = plait_placement(self);
    Check_Type(key, T_STRING);
    size_t size = (size_t)RSTRING_LEN(key);
    const char *part = placement_part(&placement, RSTRING_PTR(key), &size);
    return UINT2NUM(placement_hash(placement.hash, part, size));
}

void plait_init_placement(VALUE plait) {
    VALUE class = rb_define_class_under(rb_define_module_under(plait, "NativeShard"), "Placement", rb_cObject);
    rb_define_alloc_func(class, placement_holder_allocate);
    rb_define_method(class, "initialize", placement_holder_initialize, 4);
    rb_define_method(class, "node_for", placement_holder_node_for, 1);
    rb_define_method(class, "hash_of", placement_holder_hash_of, 1);
}
