/* See rb_volley.h. */
#include "rb_volley.h"

#ifdef __linux__

#include <errno.h>
#include <math.h>
#include <ruby/fiber/scheduler.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "../plait_io.h"
#include "rb_volley_places.h"
#include "rb_wire_launch.h"

static uint32_t last_serial;
static ID id_for_fd, id_close;

/* ---- the object ---- */

static VALUE volley_allocate(VALUE class) {
    struct volley *volley;
    VALUE self = TypedData_Make_Struct(class, struct volley, &plait_volley_type, volley);
    volley->scheduler = volley->io = Qnil;
    volley->epoll = -1;
    volley->serial = ++last_serial;
    return self;
}

static VALUE volley_io_for(int descriptor) {
    VALUE arguments[] = {INT2FIX(descriptor), rb_hash_new()};
    rb_hash_aset(arguments[1], ID2SYM(rb_intern("autoclose")), Qtrue);
    return rb_funcallv_kw(rb_cIO, id_for_fd, 2, arguments, RB_PASS_KEYWORDS);
}

/* new: on a fiber of a Plait::Scheduler; elsewhere it is closed from the start, and takes nobody aboard */
static VALUE volley_initialize(VALUE self) {
    struct volley *volley = plait_volley_of(self);
    VALUE scheduler = rb_fiber_scheduler_get();
    if (NIL_P(scheduler) || !plait_native_of(scheduler)) return self;

    volley->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (volley->epoll == -1) rb_sys_fail("epoll_create1");
    rb_update_max_fd(volley->epoll);
    volley->io = volley_io_for(volley->epoll);
    volley->scheduler = scheduler;
    return self;
}

/* ---- answers ---- */

static void volley_await(struct volley *volley) {
    struct native *native = plait_native_of(volley->scheduler);
    plait_native_wait(native, volley->scheduler, volley->io, PLAIT_READABLE, NULL);
    if (NIL_P(volley->scheduler)) return;

    int count = epoll_wait(volley->epoll, volley->events, VOLLEY_EVENTS, 0);
    if (count == -1 && errno != EINTR) rb_sys_fail("epoll_wait");
    volley->at = 0;
    volley->count = count > 0 ? count : 0;
}

/* Whom it concerns; NULL when he has left. */
static const struct place *volley_concerned(const struct volley *volley, const struct epoll_event *event) {
    struct place *place = &volley->places[(uint32_t)event->data.u64];
    if (place->generation != (uint32_t)(event->data.u64 >> VOLLEY_UPPER_HALF)) return NULL;
    if (place->wire) return place;

    place->stirred = true;
    return NULL;
}

static enum wire_news volley_news_of(const struct epoll_event *event) {
    if (event->events & (EPOLLERR | EPOLLHUP)) return NEWS_BREAK;
    return event->events & EPOLLRDHUP ? NEWS_END : NEWS_BYTES;
}

static void volley_land(const struct volley *volley, const struct epoll_event *event) {
    const struct place *place = volley_concerned(volley, event);
    if (!place) return;

    VALUE passenger = place->passenger;
    VALUE response = plait_wire_land(place->self, volley_news_of(event));
    if (response != Qundef) rb_yield_values(2, passenger, response);
}

/*
 * each_landed { |passenger, response| … }: waits until something has come, and yields those who have an answer now, or nil:
 * then the wire's `conclude` is to have it. May return without having yielded.
 */
static VALUE volley_each_landed(VALUE self) {
    struct volley *volley = plait_volley_of(self);
    if (volley->at == volley->count && !NIL_P(volley->scheduler)) volley_await(volley);
    while (volley->at < volley->count) volley_land(volley, &volley->events[volley->at++]);
    RB_GC_GUARD(self);
    return self;
}

/* evacuate: lets all go who are aboard, and returns them; their wires are to be closed, or concluded */
static VALUE volley_evacuate(VALUE self) {
    struct volley *volley = plait_volley_of(self);
    VALUE passengers = rb_ary_new();
    for (int number = 0; number < volley->room; number++) {
        if (!volley->places[number].wire) continue;

        rb_ary_push(passengers, volley->places[number].passenger);
        plait_volley_leave(volley->places[number].wire);
    }
    return passengers;
}

static VALUE volley_empty(VALUE self) {
    return plait_volley_of(self)->size == 0 ? Qtrue : Qfalse;
}

static VALUE volley_is_open(VALUE self) {
    return NIL_P(plait_volley_of(self)->scheduler) ? Qfalse : Qtrue;
}

/* close: takes nobody aboard any more, and waits for nobody */
static VALUE volley_close(VALUE self) {
    struct volley *volley = plait_volley_of(self);
    if (NIL_P(volley->scheduler)) return Qnil;

    volley->scheduler = Qnil;
    volley->epoll = -1;
    volley->at = volley->count = 0;
    rb_funcall(volley->io, id_close, 0);
    return Qnil;
}

void plait_define_volley(VALUE http) {
    id_for_fd = rb_intern("for_fd");
    id_close = rb_intern("close");
    VALUE volley = rb_define_class_under(http, "NativeVolley", rb_cObject);
    rb_define_alloc_func(volley, volley_allocate);
    rb_define_method(volley, "initialize", volley_initialize, 0);
    rb_define_method(volley, "each_landed", volley_each_landed, 0);
    rb_define_method(volley, "evacuate", volley_evacuate, 0);
    rb_define_method(volley, "empty?", volley_empty, 0);
    rb_define_method(volley, "open?", volley_is_open, 0);
    rb_define_method(volley, "close", volley_close, 0);
}

#endif
