/* See rb_volley.h. */
#include "rb_volley.h"

#ifdef __linux__

#include <errno.h>
#include <math.h>
#include <ruby/fiber/scheduler.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "../plait_io.h"
#include "rb_wire.h"

enum { EVENTS = 256, FEWEST_PLACES = 64 };

/* In an event and in a ticket: what is above the lower half. */
enum { UPPER_HALF = 32 };

/* One descriptor's. The generation tells the events of a connection from those of another one that had its number. */
struct place {
    struct wire *wire; /* NULL: nobody is aboard */
    VALUE self;        /* the wire's */
    VALUE passenger;
    uint32_t generation;
    bool stirred;      /* something has come while nobody was aboard */
};

struct volley {
    VALUE scheduler;                   /* nil: closed */
    VALUE io;                          /* of the epoll set */
    struct place *places;              /* by descriptor */
    int room;                          /* of them */
    int size;                          /* wires aboard */
    uint32_t serial;
    int epoll;
    int at;                            /* of the events, the next one */
    int count;                         /* of the events */
    struct epoll_event events[EVENTS]; /* here and not on a stack: whoever handles one may leave early, and come back */
};

static uint32_t last_serial;
static ID id_for_fd, id_close;

/* ---- the object ---- */

static void volley_mark(void *data) {
    const struct volley *volley = data;
    rb_gc_mark(volley->scheduler);
    rb_gc_mark(volley->io);
    for (int number = 0; number < volley->room; number++) {
        rb_gc_mark(volley->places[number].self);
        rb_gc_mark(volley->places[number].passenger);
    }
}

/* Wires that go with it have left, if they went first; else they are told. */
static void volley_free(void *data) {
    struct volley *volley = data;
    for (int number = 0; number < volley->room; number++) {
        if (volley->places[number].wire) volley->places[number].wire->volley = NULL;
    }
    xfree(volley->places);
    xfree(volley);
}

static size_t volley_size_in_memory(const void *data) {
    const struct volley *volley = data;
    return sizeof *volley + (size_t)volley->room * sizeof *volley->places;
}

static const rb_data_type_t volley_type = {
    .wrap_struct_name = "Plait::HTTP::NativeVolley",
    .function = {.dmark = volley_mark, .dfree = volley_free, .dsize = volley_size_in_memory},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static struct volley *volley_of(VALUE self) {
    return rb_check_typeddata(self, &volley_type);
}

static VALUE volley_allocate(VALUE class) {
    struct volley *volley;
    VALUE self = TypedData_Make_Struct(class, struct volley, &volley_type, volley);
    volley->scheduler = volley->io = Qnil;
    volley->epoll = -1;
    volley->serial = ++last_serial;
    return self;
}

static VALUE io_for(int descriptor) {
    VALUE arguments[] = {INT2FIX(descriptor), rb_hash_new()};
    rb_hash_aset(arguments[1], ID2SYM(rb_intern("autoclose")), Qtrue);
    return rb_funcallv_kw(rb_cIO, id_for_fd, 2, arguments, RB_PASS_KEYWORDS);
}

/* new: on a fiber of a Plait::Scheduler; elsewhere it is closed from the start, and takes nobody aboard */
static VALUE volley_initialize(VALUE self) {
    struct volley *volley = volley_of(self);
    VALUE scheduler = rb_fiber_scheduler_get();
    if (NIL_P(scheduler) || !plait_native_of(scheduler)) return self;

    volley->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (volley->epoll == -1) rb_sys_fail("epoll_create1");
    rb_update_max_fd(volley->epoll);
    volley->io = io_for(volley->epoll);
    volley->scheduler = scheduler;
    return self;
}

/* ---- places ---- */

static void make_room(struct volley *volley, int number) {
    int room = volley->room ? volley->room : FEWEST_PLACES;
    while (room <= number) room *= 2;
    if (room == volley->room) return;

    REALLOC_N(volley->places, struct place, room);
    for (; volley->room < room; volley->room++) {
        volley->places[volley->room] = (struct place){.self = Qnil, .passenger = Qnil};
    }
}

static uint64_t ticket_for(const struct volley *volley, const struct place *place) {
    return (uint64_t)volley->serial << UPPER_HALF | place->generation;
}

/* Unless it has been aboard before. Returns whether the kernel will tell of it. */
static bool enlist(const struct volley *volley, struct place *place, int number, struct wire *wire) {
    if (wire->ticket == ticket_for(volley, place)) return true;

    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET};
    event.data.u64 = (uint64_t)++place->generation << UPPER_HALF | (uint32_t)number;
    int failed = epoll_ctl(volley->epoll, EPOLL_CTL_ADD, number, &event);
    if (failed && errno == EEXIST) failed = epoll_ctl(volley->epoll, EPOLL_CTL_MOD, number, &event);
    place->stirred = false;
    if (!failed) wire->ticket = ticket_for(volley, place);
    return !failed;
}

bool plait_volley_stirred(VALUE self, const struct wire *wire, int number) {
    const struct volley *volley = volley_of(self);
    struct place *place = number < volley->room ? &volley->places[number] : NULL;
    if (!place || !place->stirred || wire->ticket != ticket_for(volley, place)) return false;

    place->stirred = false;
    return true;
}

bool plait_volley_board(VALUE self, VALUE wire_self, VALUE passenger) {
    struct volley *volley = volley_of(self);
    struct wire *wire = plait_wire_of(wire_self);
    if (NIL_P(volley->scheduler) || volley->scheduler != rb_fiber_scheduler_current()) return false;

    int number = plait_descriptor_of(wire->raw);
    make_room(volley, number);
    struct place *place = &volley->places[number];
    if (place->wire || !enlist(volley, place, number, wire)) return false;

    place->wire = wire;
    place->self = wire_self;
    place->passenger = passenger;
    wire->volley = volley;
    wire->descriptor = number;
    volley->size++;
    return true;
}

void plait_volley_limit(struct wire *wire, double at) {
    if (isinf(at)) return;

    wire->deadline.at = at;
    wire->deadline.expire = plait_wire_expire;
    plait_native_deadline(wire->volley->scheduler, &wire->deadline);
}

void plait_volley_leave(struct wire *wire) {
    struct volley *volley = wire->volley;
    if (!volley) return;

    struct place *place = &volley->places[wire->descriptor];
    place->wire = NULL;
    place->self = place->passenger = Qnil;
    volley->size--;
    wire->volley = NULL;
    wire->descriptor = -1;
    plait_deadline_remove(&wire->deadline);
}

/* ---- answers ---- */

static void await(struct volley *volley) {
    struct native *native = plait_native_of(volley->scheduler);
    plait_native_wait(native, volley->scheduler, volley->io, PLAIT_READABLE, NULL);
    if (NIL_P(volley->scheduler)) return;

    int count = epoll_wait(volley->epoll, volley->events, EVENTS, 0);
    if (count == -1 && errno != EINTR) rb_sys_fail("epoll_wait");
    volley->at = 0;
    volley->count = count > 0 ? count : 0;
}

/* Whom it concerns; NULL when he has left. */
static const struct place *concerned(const struct volley *volley, const struct epoll_event *event) {
    struct place *place = &volley->places[(uint32_t)event->data.u64];
    if (place->generation != (uint32_t)(event->data.u64 >> UPPER_HALF)) return NULL;
    if (place->wire) return place;

    place->stirred = true;
    return NULL;
}

static enum wire_news news_of(const struct epoll_event *event) {
    if (event->events & (EPOLLERR | EPOLLHUP)) return NEWS_BREAK;
    return event->events & EPOLLRDHUP ? NEWS_END : NEWS_BYTES;
}

static void land(const struct volley *volley, const struct epoll_event *event) {
    const struct place *place = concerned(volley, event);
    if (!place) return;

    VALUE passenger = place->passenger;
    VALUE response = plait_wire_land(place->self, news_of(event));
    if (response != Qundef) rb_yield_values(2, passenger, response);
}

/*
 * each_landed { |passenger, response| … }: waits until something has come, and yields those who have an answer now, or nil:
 * then the wire's `conclude` is to have it. May return without having yielded.
 */
static VALUE volley_each_landed(VALUE self) {
    struct volley *volley = volley_of(self);
    if (volley->at == volley->count && !NIL_P(volley->scheduler)) await(volley);
    while (volley->at < volley->count) land(volley, &volley->events[volley->at++]);
    RB_GC_GUARD(self);
    return self;
}

/* evacuate: lets all go who are aboard, and returns them; their wires are to be closed, or concluded */
static VALUE volley_evacuate(VALUE self) {
    struct volley *volley = volley_of(self);
    VALUE passengers = rb_ary_new();
    for (int number = 0; number < volley->room; number++) {
        if (!volley->places[number].wire) continue;

        rb_ary_push(passengers, volley->places[number].passenger);
        plait_volley_leave(volley->places[number].wire);
    }
    return passengers;
}

static VALUE volley_empty(VALUE self) {
    return volley_of(self)->size == 0 ? Qtrue : Qfalse;
}

static VALUE volley_is_open(VALUE self) {
    return NIL_P(volley_of(self)->scheduler) ? Qfalse : Qtrue;
}

/* close: takes nobody aboard any more, and waits for nobody */
static VALUE volley_close(VALUE self) {
    struct volley *volley = volley_of(self);
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
