/*
 * Plait::RPC::NativeBatch: the requests that came to a server by one receive, and how they are run. Requests whose methods are
 * known to be quick are run back to back, without a line of Ruby's between two of them, and their answers gathered; what is
 * anything else is given to Ruby.
 *
 * Any number of workers may take from it: each takes the next one. Of notifications only one worker does, because they have an
 * order. All of it runs with the GVL, which is the only lock.
 */
#ifndef PLAIT_RB_RPC_BATCH_H
#define PLAIT_RB_RPC_BATCH_H

#include <ruby.h>
#include <stdbool.h>

struct request {
    VALUE id;       /* or nil: a notification */
    VALUE name;     /* of the method */
    VALUE params;   /* an Array of the batch and the arguments: its token; or what is packed */
    VALUE incoming; /* made when Ruby asks for it; or nil */
    bool small;     /* params is a token */
    bool answered;
};

struct batch {
    VALUE line;
    VALUE connection;
    struct request *requests;
    size_t size, room;
    size_t next;     /* the first that no worker has taken */
    size_t finished; /* that were run since `finished` was asked for */
    size_t answered; /* that were answered without an Incoming, since `answered` was asked for */
    size_t notifications;
};

/* Its class, and the type of its memory. */
extern VALUE plait_rpc_batch_class;
extern const rb_data_type_t plait_rpc_batch_type;

static inline struct batch *plait_rpc_batch_of(VALUE self) {
    return rb_check_typeddata(self, &plait_rpc_batch_type);
}

/* Of requests that come by this connection's line. */
VALUE plait_rpc_batch_new(VALUE line, VALUE connection);

/* Adds the message that the parser has announced: a request or a notification. */
void plait_rpc_batch_add(VALUE batch, VALUE parser);

/* Adds a request (of a notification id is nil) with what is packed, or the LimitExceeded that its bytes have met. */
void plait_rpc_batch_add_other(VALUE batch, VALUE id, VALUE name, VALUE params);

/* Whether some are not taken; whether all were run. */
bool plait_rpc_batch_left(VALUE batch);
bool plait_rpc_batch_done(VALUE batch);

/* Requests whose answer an Incoming gives, or has given. */
size_t plait_rpc_batch_unanswered(VALUE batch);

size_t plait_rpc_batch_requests(VALUE batch);
size_t plait_rpc_batch_notifications(VALUE batch);

/* The Incoming of the request with this number, made when it is first asked for. */
VALUE plait_rpc_batch_incoming_of(struct batch *batch, size_t number);

/* The same by the token of the request. */
VALUE plait_rpc_batch_incoming(VALUE class, VALUE token);

void plait_init_rpc_batch(VALUE rpc);

#endif
