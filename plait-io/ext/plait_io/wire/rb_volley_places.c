/* The memory of a volley, and which wires are aboard. */
#include "rb_volley_places.h"

#ifdef __linux__

#include <errno.h>
#include <ruby/fiber/scheduler.h>

#include "../plait_io.h"

enum { FEWEST_PLACES = 64 };

static void volley_places_mark(void *data) {
    const struct volley *volley = data;
    rb_gc_mark(volley->scheduler);
    rb_gc_mark(volley->io);
    for (int number = 0; number < volley->room; number++) {
        rb_gc_mark(volley->places[number].self);
        rb_gc_mark(volley->places[number].passenger);
    }
}

/* Wires that go with it have left, if they went first; else they are told. */
static void volley_places_free(void *data) {
    struct volley *volley = data;
    for (int number = 0; number < volley->room; number++) {
        if (volley->places[number].wire) volley->places[number].wire->volley = NULL;
    }
    xfree(volley->places);
    xfree(volley);
}

static size_t volley_places_size_in_memory(const void *data) {
    const struct volley *volley = data;
    return sizeof *volley + (size_t)volley->room * sizeof *volley->places;
}

const rb_data_type_t plait_volley_type = {
    .wrap_struct_name = "Plait::HTTP::NativeVolley",
    .function = {.dmark = volley_places_mark, .dfree = volley_places_free, .dsize = volley_places_size_in_memory},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static void volley_places_make_room(struct volley *volley, int number) {
    int room = volley->room ? volley->room : FEWEST_PLACES;
    while (room <= number) room *= 2;
    if (room == volley->room) return;

    REALLOC_N(volley->places, struct place, room);
    for (; volley->room < room; volley->room++) {
        volley->places[volley->room] = (struct place){.self = Qnil, .passenger = Qnil};
    }
}

static uint64_t volley_places_ticket_for(const struct volley *volley, const struct place *place) {
    return (uint64_t)volley->serial << VOLLEY_UPPER_HALF | place->generation;
}

/* Unless it has been aboard before. Returns whether the kernel will tell of it. */
static bool volley_places_enlist(const struct volley *volley, struct place *place, int number, struct wire *wire) {
    if (wire->ticket == volley_places_ticket_for(volley, place)) return true;

    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET};
    event.data.u64 = (uint64_t)++place->generation << VOLLEY_UPPER_HALF | (uint32_t)number;
    int failed = epoll_ctl(volley->epoll, EPOLL_CTL_ADD, number, &event);
    if (failed && errno == EEXIST) failed = epoll_ctl(volley->epoll, EPOLL_CTL_MOD, number, &event);
    place->stirred = false;
    if (!failed) wire->ticket = volley_places_ticket_for(volley, place);
    return !failed;
}

bool plait_volley_stirred(VALUE self, const struct wire *wire, int number) {
    const struct volley *volley = plait_volley_of(self);
    struct place *place = number < volley->room ? &volley->places[number] : NULL;
    if (!place || !place->stirred || wire->ticket != volley_places_ticket_for(volley, place)) return false;

    place->stirred = false;
    return true;
}

bool plait_volley_board(VALUE self, VALUE wire_self, VALUE passenger) {
    struct volley *volley = plait_volley_of(self);
    struct wire *wire = plait_wire_of(wire_self);
    if (NIL_P(volley->scheduler) || volley->scheduler != rb_fiber_scheduler_current()) return false;

    int number = plait_descriptor_of(wire->raw);
    volley_places_make_room(volley, number);
    struct place *place = &volley->places[number];
    if (place->wire || !volley_places_enlist(volley, place, number, wire)) return false;

    place->wire = wire;
    place->self = wire_self;
    place->passenger = passenger;
    wire->volley = volley;
    wire->descriptor = number;
    volley->size++;
    return true;
}

void plait_volley_limit(struct wire *wire) {
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

#endif
