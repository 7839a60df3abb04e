/* The memory of a batch, and which wires are aboard. */
#include "rb_wire_batch_places.h"

#ifdef HAVE_PLAIT_EPOLL

#include <errno.h>
#include <ruby/fiber/scheduler.h>

#include "../plait_io.h"

enum { FEWEST_PLACES = 64 };

static void wire_batch_places_mark(void *data) {
    const struct wire_batch *batch = data;
    rb_gc_mark(batch->scheduler);
    rb_gc_mark(batch->io);
    for (int number = 0; number < batch->room; number++) {
        rb_gc_mark(batch->places[number].self);
        rb_gc_mark(batch->places[number].passenger);
    }
}

/* Wires of the same collection have left, if they went first; a remaining wire forgets the batch. */
static void wire_batch_places_free(void *data) {
    struct wire_batch *batch = data;
    for (int number = 0; number < batch->room; number++) {
        if (batch->places[number].wire) batch->places[number].wire->batch = NULL;
    }
    xfree(batch->places);
    xfree(batch);
}

static size_t wire_batch_places_size_in_memory(const void *data) {
    const struct wire_batch *batch = data;
    return sizeof *batch + (size_t)batch->room * sizeof *batch->places;
}

const rb_data_type_t plait_wire_batch_type = {
    .wrap_struct_name = "Plait::HTTP::NativeBatch",
    .function = {.dmark = wire_batch_places_mark, .dfree = wire_batch_places_free, .dsize = wire_batch_places_size_in_memory},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static void wire_batch_places_make_room(struct wire_batch *batch, int number) {
    int room = batch->room ? batch->room : FEWEST_PLACES;
    while (room <= number) room *= 2;
    if (room == batch->room) return;

    REALLOC_N(batch->places, struct place, room);
    for (; batch->room < room; batch->room++) {
        batch->places[batch->room] = (struct place){.self = Qnil, .passenger = Qnil};
    }
}

static uint64_t wire_batch_places_ticket_for(const struct wire_batch *batch, const struct place *place) {
    return (uint64_t)batch->serial << WIRE_BATCH_UPPER_HALF | place->generation;
}

/* Unless it has been aboard before. Returns whether the kernel will tell of it. */
static bool wire_batch_places_enlist(const struct wire_batch *batch, struct place *place, int number, struct wire *wire) {
    if (wire->ticket == wire_batch_places_ticket_for(batch, place)) return true;

    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET};
    event.data.u64 = (uint64_t)++place->generation << WIRE_BATCH_UPPER_HALF | (uint32_t)number;
    int failed = epoll_ctl(batch->epoll, EPOLL_CTL_ADD, number, &event);
    if (failed && errno == EEXIST) failed = epoll_ctl(batch->epoll, EPOLL_CTL_MOD, number, &event);
    place->stirred = false;
    if (!failed) wire->ticket = wire_batch_places_ticket_for(batch, place);
    return !failed;
}

bool plait_wire_batch_stirred(VALUE self, const struct wire *wire, int number) {
    const struct wire_batch *batch = plait_wire_batch_of(self);
    struct place *place = number < batch->room ? &batch->places[number] : NULL;
    if (!place || !place->stirred || wire->ticket != wire_batch_places_ticket_for(batch, place)) return false;

    place->stirred = false;
    return true;
}

bool plait_wire_batch_board(VALUE self, VALUE wire_self, VALUE passenger) {
    struct wire_batch *batch = plait_wire_batch_of(self);
    struct wire *wire = plait_wire_of(wire_self);
    if (NIL_P(batch->scheduler) || batch->scheduler != rb_fiber_scheduler_current()) return false;

    int number = plait_descriptor_of(wire->raw);
    wire_batch_places_make_room(batch, number);
    struct place *place = &batch->places[number];
    if (place->wire || !wire_batch_places_enlist(batch, place, number, wire)) return false;

    place->wire = wire;
    place->self = wire_self;
    place->passenger = passenger;
    wire->batch = batch;
    wire->descriptor = number;
    batch->size++;
    return true;
}

void plait_wire_batch_limit(struct wire *wire) {
    plait_native_deadline(wire->batch->scheduler, &wire->deadline);
}

void plait_wire_batch_leave(struct wire *wire) {
    struct wire_batch *batch = wire->batch;
    if (!batch) return;

    struct place *place = &batch->places[wire->descriptor];
    place->wire = NULL;
    place->self = place->passenger = Qnil;
    batch->size--;
    wire->batch = NULL;
    wire->descriptor = -1;
    plait_deadline_remove(&wire->deadline);
}

#endif
