/* See rb_wire_batch.h. */
#include "rb_wire_batch.h"

#ifdef HAVE_PLAIT_EPOLL

#include <errno.h>
#include <math.h>
#include <ruby/fiber/scheduler.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "../plait_io.h"
#include "rb_wire_batch_places.h"
#include "rb_wire_launch.h"

static uint32_t last_serial;
static ID id_for_fd, id_close;

/* ---- the object ---- */

static VALUE wire_batch_allocate(VALUE class) {
    struct wire_batch *batch;
    VALUE self = TypedData_Make_Struct(class, struct wire_batch, &plait_wire_batch_type, batch);
    batch->scheduler = batch->io = Qnil;
    batch->epoll = -1;
    batch->serial = ++last_serial;
    return self;
}

/* new: on a fiber of a Plait::Scheduler; elsewhere it is closed from the start, and takes no wire */
static VALUE wire_batch_initialize(VALUE self) {
    struct wire_batch *batch = plait_wire_batch_of(self);
    VALUE scheduler = rb_fiber_scheduler_get();
    if (NIL_P(scheduler) || !plait_native_of(scheduler)) return self;

    batch->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (batch->epoll == -1) rb_sys_fail("epoll_create1");
    rb_update_max_fd(batch->epoll);
    batch->io = rb_funcall(rb_cIO, id_for_fd, 1, INT2FIX(batch->epoll));
    batch->scheduler = scheduler;
    return self;
}

/* ---- answers ---- */

static void wire_batch_await(struct wire_batch *batch) {
    struct native *native = plait_native_of(batch->scheduler);
    plait_native_wait(native, batch->scheduler, batch->io, PLAIT_READABLE, NULL);
    if (NIL_P(batch->scheduler)) return;

    int count = epoll_wait(batch->epoll, batch->events, WIRE_BATCH_EVENTS, 0);
    if (count == -1 && errno != EINTR) rb_sys_fail("epoll_wait");
    batch->at = 0;
    batch->count = count > 0 ? count : 0;
}

/* The place that the event concerns; NULL when its wire has left. */
static const struct place *wire_batch_concerned(const struct wire_batch *batch, const struct epoll_event *event) {
    struct place *place = &batch->places[(uint32_t)event->data.u64];
    if (place->generation != (uint32_t)(event->data.u64 >> WIRE_BATCH_UPPER_HALF)) return NULL;
    if (place->wire) return place;

    place->stirred = true;
    return NULL;
}

static enum wire_news wire_batch_news_of(const struct epoll_event *event) {
    if (event->events & (EPOLLERR | EPOLLHUP)) return NEWS_BREAK;
    return event->events & EPOLLRDHUP ? NEWS_END : NEWS_BYTES;
}

static void wire_batch_land(const struct wire_batch *batch, const struct epoll_event *event) {
    const struct place *place = wire_batch_concerned(batch, event);
    if (!place) return;

    VALUE passenger = place->passenger;
    VALUE response = plait_wire_land(place->self, wire_batch_news_of(event));
    if (response != Qundef) rb_yield_values(2, passenger, response);
}

/*
 * each_landed { |passenger, response| … }: waits until something has come. Yields each passenger with its answer, or with nil:
 * then the wire's `conclude` is to have it. May return without having yielded.
 */
static VALUE wire_batch_each_landed(VALUE self) {
    struct wire_batch *batch = plait_wire_batch_of(self);
    if (batch->at == batch->count && !NIL_P(batch->scheduler)) wire_batch_await(batch);
    while (batch->at < batch->count) wire_batch_land(batch, &batch->events[batch->at++]);
    RB_GC_GUARD(self);
    return self;
}

/* evacuate: lets all wires go, and returns their passengers; the wires are to be closed, or concluded */
static VALUE wire_batch_evacuate(VALUE self) {
    struct wire_batch *batch = plait_wire_batch_of(self);
    VALUE passengers = rb_ary_new();
    for (int number = 0; number < batch->room; number++) {
        if (!batch->places[number].wire) continue;

        rb_ary_push(passengers, batch->places[number].passenger);
        plait_wire_batch_leave(batch->places[number].wire);
    }
    return passengers;
}

static VALUE wire_batch_empty(VALUE self) {
    return plait_wire_batch_of(self)->size == 0 ? Qtrue : Qfalse;
}

static VALUE wire_batch_is_open(VALUE self) {
    return NIL_P(plait_wire_batch_of(self)->scheduler) ? Qfalse : Qtrue;
}

/* close: takes no wire any more, and waits for none */
static VALUE wire_batch_close(VALUE self) {
    struct wire_batch *batch = plait_wire_batch_of(self);
    if (NIL_P(batch->scheduler)) return Qnil;

    batch->scheduler = Qnil;
    batch->epoll = -1;
    batch->at = batch->count = 0;
    rb_funcall(batch->io, id_close, 0);
    return Qnil;
}

void plait_define_wire_batch(VALUE http) {
    id_for_fd = rb_intern("for_fd");
    id_close = rb_intern("close");
    VALUE batch = rb_define_class_under(http, "NativeBatch", rb_cObject);
    rb_define_alloc_func(batch, wire_batch_allocate);
    rb_define_method(batch, "initialize", wire_batch_initialize, 0);
    rb_define_method(batch, "each_landed", wire_batch_each_landed, 0);
    rb_define_method(batch, "evacuate", wire_batch_evacuate, 0);
    rb_define_method(batch, "empty?", wire_batch_empty, 0);
    rb_define_method(batch, "open?", wire_batch_is_open, 0);
    rb_define_method(batch, "close", wire_batch_close, 0);
}

#endif
