/* How a Plane comes to know of other nodes and masters, and says that it may have to: see shard_topology.h. */
#include "rb_shard.h"

#include <errno.h>
#include <fcntl.h>

#include "../placement/rb_placement.h"

/* Numbers of 32 bits, packed. */
static const uint32_t *shard_topology_numbers(VALUE string, long count) {
    Check_Type(string, T_STRING);
    if (RSTRING_LEN(string) != count * (long)sizeof(uint32_t)) rb_raise(rb_eArgError, "not as many numbers as nodes");
    return (const uint32_t *)RSTRING_PTR(string);
}

static void shard_topology_check_numbers(const uint32_t *list, long count, long nodes) {
    for (long i = 0; i < count; i++) {
        if (list[i] >= (uint32_t)nodes && list[i] != SHARD_NOBODY) rb_raise(rb_eArgError, "a number of no node");
    }
}

static void shard_topology_check_places(const struct placement *placement, long nodes) {
    for (uint32_t i = 0; i < placement->count; i++) {
        if (placement->points[i].node >= (uint32_t)nodes) rb_raise(rb_eArgError, "a place of no node");
    }
}

VALUE plait_shard_plan(VALUE plan, VALUE nodes, VALUE placement, struct shard_plan *to) {
    if (NIL_P(plan)) return Qnil;
    Check_Type(plan, T_ARRAY);
    VALUE masters = rb_ary_entry(plan, 0), master_of = rb_ary_entry(plan, 1), readable = rb_ary_entry(plan, 2);
    long known = RARRAY_LEN(nodes);
    Check_Type(masters, T_STRING);
    Check_Type(readable, T_STRING);
    long count = RSTRING_LEN(masters) / (long)sizeof(uint32_t);
    if (count < 1 || RSTRING_LEN(readable) != known) rb_raise(rb_eArgError, "a plan has a master, and a byte for each node");

    *to = (struct shard_plan){.known = (uint32_t)known, .placement = plait_placement(placement),
                              .masters = shard_topology_numbers(masters, count),
                              .master_count = (uint32_t)count, .master_of = shard_topology_numbers(master_of, known),
                              .readable = (const bool *)RSTRING_PTR(readable), .generation = NUM2UINT(rb_ary_entry(plan, 3)),
                              .partial = RTEST(rb_ary_entry(plan, 4))};
    shard_topology_check_numbers(to->masters, count, known);
    shard_topology_check_numbers(to->master_of, known, known);
    shard_topology_check_places(&to->placement, known);
    return plan;
}

/* plane.publish(nodes, placement, plan): nodes that were there keep their places */
static VALUE shard_topology_plane_publish(VALUE self, VALUE nodes, VALUE placement, VALUE plan) {
    struct shard *shard = plait_shard_of(self);
    Check_Type(nodes, T_ARRAY);
    if (!shard) return Qnil;

    VALUE memory = rb_str_new(NULL, RARRAY_LEN(nodes) * (long)sizeof(struct shard_node));
    struct shard_plan made;
    VALUE kept = plait_shard_plan(plan, nodes, placement, &made);
    if (NIL_P(kept)) rb_raise(rb_eArgError, "a plan is needed");
    made.nodes = (struct shard_node *)RSTRING_PTR(memory);
    plait_shard_nodes(nodes, (struct shard_node *)RSTRING_PTR(memory));
    int error = shard_publish(shard, &made);
    RB_GC_GUARD(memory);
    RB_GC_GUARD(kept);
    RB_GC_GUARD(placement);
    if (error) rb_syserr_fail(error, "other nodes for the shard");
    return Qtrue;
}

/* plane.notice => a copy of the descriptor that becomes readable when the plan may be out of date; nil: it is not running */
static VALUE shard_topology_plane_notice(VALUE self) {
    const struct shard *shard = plait_shard_of(self);
    if (!shard) return Qnil;

    int copy = fcntl(shard_notice(shard), F_DUPFD_CLOEXEC, 0);
    if (copy == -1) rb_sys_fail("the shard's notice");
    return INT2NUM(copy);
}

/* plane.notice_taken: it is looked at now, whatever is noticed from here on is new */
static VALUE shard_topology_plane_notice_taken(VALUE self) {
    struct shard *shard = plait_shard_of(self);
    if (shard) shard_notice_taken(shard);
    return Qnil;
}

void plait_init_shard_topology(VALUE class) {
    rb_define_method(class, "publish", shard_topology_plane_publish, 3);
    rb_define_method(class, "notice", shard_topology_plane_notice, 0);
    rb_define_method(class, "notice_taken", shard_topology_plane_notice_taken, 0);
}
