/* Which wires are aboard of a batch, by descriptor. */
#ifndef PLAIT_RB_WIRE_BATCH_PLACES_H
#define PLAIT_RB_WIRE_BATCH_PLACES_H

#include <ruby.h>
#include <stdbool.h>

#include "rb_wire.h"

#ifdef HAVE_PLAIT_EPOLL

#include <sys/epoll.h>

enum { WIRE_BATCH_EVENTS = 256 };

/* In an event and in a ticket: what is above the lower half. */
enum { WIRE_BATCH_UPPER_HALF = 32 };

/* One descriptor's. The generation distinguishes a connection's events from the events of an earlier one with its number. */
struct place {
    struct wire *wire; /* NULL: the place is free */
    VALUE self;        /* the wire's */
    VALUE passenger;
    uint32_t generation;
    bool stirred;      /* something has come while the place was free */
};

struct wire_batch {
    VALUE scheduler;                   /* nil: closed */
    VALUE io;                          /* of the epoll set */
    struct place *places;              /* by descriptor */
    int room;                          /* of them */
    int size;                          /* wires aboard */
    uint32_t serial;
    int epoll;
    int at;                            /* of the events, the next one */
    int count;                         /* of the events */
    struct epoll_event events[WIRE_BATCH_EVENTS]; /* not on a stack: the block that handles one may leave early */
};

extern const rb_data_type_t plait_wire_batch_type;

static inline struct wire_batch *plait_wire_batch_of(VALUE self) {
    return rb_check_typeddata(self, &plait_wire_batch_type);
}

/*
 * Takes a wire aboard whose request is about to be sent; `passenger` is handed out again with the answer. Returns false where
 * that can't be: the batch is another scheduler's, or closed, or the kernel refuses.
 */
bool plait_wire_batch_board(VALUE batch, VALUE wire, VALUE passenger);

/*
 * Whether something has come on a connection while it was not aboard: bytes that were not asked for, or the end; or bytes
 * of a body that a fiber has received meanwhile. Tells it once.
 */
bool plait_wire_batch_stirred(VALUE batch, const struct wire *wire, int descriptor);

/* Once aboard: adds its deadline to the scheduler's deadlines. */
void plait_wire_batch_limit(struct wire *wire);

/* Lets it go, if it is aboard of one. */
void plait_wire_batch_leave(struct wire *wire);

#else

static inline bool plait_wire_batch_board(VALUE batch, VALUE wire, VALUE passenger) {
    (void)batch, (void)wire, (void)passenger;
    return false;
}

static inline bool plait_wire_batch_stirred(VALUE batch, const struct wire *wire, int descriptor) {
    (void)batch, (void)wire, (void)descriptor;
    return false;
}

static inline void plait_wire_batch_limit(struct wire *wire) {
    (void)wire;
}

static inline void plait_wire_batch_leave(struct wire *wire) {
    (void)wire;
}

#endif

#endif
