/* The bodies of answers, whole or piece by piece. One whose length is known is received into the String that the caller gets. */
#include "rb_wire_body.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../http1/rb_http1.h"
#include "../plait_io.h"
#include "rb_wire_move.h"
#include "rb_wire_receive.h"

/* Bytes. */
enum {
    PIECE = 64 * 1024,           /* of a body that is read piece by piece, at most */
    IN_PLACE = 16 * 1024,        /* worth a receive of their own */
    LONG = 32 * 1024,            /* from here on memory is made ready */
    AHEAD = 256 * 1024,          /* of memory that is ready before something is received into it */
    RESERVED = 64 * 1024 * 1024  /* for a body of which none has come: its length is only the peer's word */
};

/* In a row, for a batch. */
enum { MOVES = 16 };

/* ---- the end ---- */

static VALUE wire_body_trailers_of(const struct wire *wire) {
    VALUE text = wire->trailer;
    VALUE trailers = rb_ary_new();
    struct http1_header *fields = plait_wire_fields(wire);
    ptrdiff_t count = http1_fields_parse(RSTRING_PTR(text), (size_t)RSTRING_LEN(text), fields, wire->limits.headers);
    for (ptrdiff_t i = 0; i < count; i++) rb_ary_push(trailers, plait_http1_pair(text, &fields[i]));
    return trailers;
}

/* Whether more has come than the answer: it was not asked for, so that no later answer were to be trusted. */
static bool wire_body_has_rest(const struct exchange *exchange) {
    if (exchange->size > 0 || exchange->surplus) return true;
    return !exchange->drained && plait_wire_unasked(exchange->wire);
}

static void wire_body_end_answer(struct exchange *exchange, VALUE response) {
    struct wire *wire = exchange->wire;
    if (!NIL_P(wire->trailer)) plait_response_set(response, RESPONSE_TRAILERS, wire_body_trailers_of(wire));
    wire->trailer = Qnil;
    if (exchange->head.framing == HTTP1_TUNNEL) {
        wire->state = WIRE_TUNNEL;
        plait_wire_store(exchange);
        return;
    }
    bool usable = wire->persistent && !wire->body.pardoned && !exchange->stopped && wire->state != WIRE_CLOSED;
    wire->persistent = usable && !wire_body_has_rest(exchange);
    wire->pending = Qnil;
    wire->state = wire->persistent ? WIRE_IDLE : WIRE_CLOSED;
    if (!isinf(wire->kept_for)) wire->kept_until = plait_now() + wire->kept_for;
}

static double wire_body_positive(double seconds) {
    return seconds > 0 ? seconds : 0;
}

static void wire_body_note_times(const struct exchange *exchange, VALUE response) {
    plait_response_time(response, exchange->sent_at - exchange->started,
                        wire_body_positive(exchange->first_at - exchange->sent_at),
                        exchange->slow ? plait_now() - exchange->first_at : 0);
}

/* ---- a known length ---- */

#ifdef MADV_POPULATE_WRITE
/* One call for many pages: a fault for each was a fifth of the CPU time of bodies of 5 MiB. Older kernels refuse, and fault. */
static void wire_body_make_ready(struct filling *filling) {
    static uintptr_t page;
    if (!page) page = (uintptr_t)sysconf(_SC_PAGESIZE);

    uintptr_t bytes = (uintptr_t)RSTRING_PTR(filling->body);
    size_t most = filling->ready + AHEAD;
    uintptr_t from = (bytes + filling->ready + page - 1) & ~(page - 1);
    uintptr_t to = (bytes + (most < filling->room ? most : filling->room)) & ~(page - 1);
    if (from < to) madvise((void *)from, to - from, MADV_POPULATE_WRITE);
    filling->ready = most < filling->room ? to - bytes : filling->room;
}
#else
static void wire_body_make_ready(struct filling *filling) {
    filling->ready = filling->room;
}
#endif

/* With what has come of it. */
static struct filling wire_body_new_filling(struct exchange *exchange, uint64_t length) {
    size_t room = length < RESERVED ? (size_t)length : RESERVED;
    struct filling filling = {.length = length, .room = room, .ready = room < LONG ? room : 0};
    filling.body = rb_str_buf_new((long)room);
    if (filling.ready == 0) wire_body_make_ready(&filling);
    memcpy(RSTRING_PTR(filling.body), exchange->data, exchange->size);
    filling.at = exchange->size;
    plait_wire_consume(exchange, exchange->size);
    return filling;
}

/* Beyond what is reserved at first, never more than twice of what has come. */
static void wire_body_extend(struct filling *filling) {
    size_t left = (size_t)(filling->length - filling->at);
    size_t more = left < filling->at ? left : filling->at;
    rb_str_set_len(filling->body, (long)filling->at);
    rb_str_modify_expand(filling->body, (long)more);
    filling->room += more;
}

/*
 * Where the next bytes go. At the end, one byte more is asked for, in the place of the String's terminator: if it comes,
 * it was not asked for.
 */
static char *wire_body_place(struct filling *filling, size_t *room) {
    if (filling->at == filling->room) wire_body_extend(filling);
    if (filling->ready < filling->room && filling->at + AHEAD / 4 > filling->ready) wire_body_make_ready(filling);
    *room = filling->room - filling->at + (filling->room == filling->length);
    return RSTRING_PTR(filling->body) + filling->at;
}

static void wire_body_took(struct exchange *exchange, struct filling *filling, size_t received) {
    size_t left = filling->room - filling->at;
    exchange->surplus = received > left;
    if (received > left) received = left;
    exchange->consumed += received;
    filling->at += received;
}

static VALUE wire_body_filled(const struct filling *filling) {
    rb_str_set_len(filling->body, (long)filling->length);
    return filling->body;
}

static VALUE wire_body_fill_up(struct exchange *exchange, struct filling *filling) {
    while (filling->at < filling->length) {
        size_t room;
        char *to = wire_body_place(filling, &room);
        size_t received = plait_wire_receive(exchange, to, room);
        if (received == 0) plait_wire_raise_broken(exchange, -HTTP1_E_TRUNCATED_LENGTH, exchange->consumed);
        wire_body_took(exchange, filling, received);
    }
    return wire_body_filled(filling);
}

static VALUE wire_body_receive_in_full(struct exchange *exchange, uint64_t length) {
    struct filling filling = wire_body_new_filling(exchange, length);
    VALUE body = wire_body_fill_up(exchange, &filling);
    RB_GC_GUARD(filling.body);
    return body;
}

static VALUE wire_body_receive_length(struct exchange *exchange, uint64_t length) {
    if (exchange->size < length) return wire_body_receive_in_full(exchange, length);

    VALUE body = rb_str_new(exchange->data, (long)length);
    plait_wire_consume(exchange, (size_t)length);
    return body;
}

/* ---- another framing ---- */

static void wire_body_keep_trailer(struct exchange *exchange, const char *bytes, size_t size) {
    struct wire *wire = exchange->wire;
    if (NIL_P(wire->trailer)) RB_OBJ_WRITE(exchange->self, &wire->trailer, rb_str_buf_new((long)size));
    rb_str_cat(wire->trailer, bytes, (long)size);
}

/* Appends so many of the bytes that have come, at most; returns whether the message is complete. */
static bool wire_body_decode(struct exchange *exchange, VALUE to, size_t most) {
    struct http1_piece piece;
    int event;
    do {
        size_t size = exchange->size < most ? exchange->size : most;
        event = http1_body_next(&exchange->wire->body, exchange->data, size, &piece);
        if (event < 0) plait_wire_raise_broken(exchange, event, exchange->consumed + piece.at);
        if (event == HTTP1_DATA) rb_str_cat(to, exchange->data + piece.at, (long)piece.size);
        if (event == HTTP1_TRAILER) wire_body_keep_trailer(exchange, exchange->data + piece.at, piece.size);
        plait_wire_consume(exchange, piece.consumed);
        most -= piece.consumed;
    } while (event == HTTP1_DATA || event == HTTP1_TRAILER);
    return event == HTTP1_DONE;
}

/* The end of the input: of the message too, or too early. */
static void wire_body_end_input(struct exchange *exchange) {
    int broken = http1_body_finish(&exchange->wire->body);
    if (broken) plait_wire_raise_broken(exchange, broken, exchange->consumed);
}

/* How many of the next bytes belong into the body as they come. */
static size_t wire_body_unframed(const struct exchange *exchange, size_t most) {
    if (exchange->head.framing == HTTP1_UNTIL_CLOSE) return most;

    uint64_t expected = http1_body_expects(&exchange->wire->body);
    return expected < most ? (size_t)expected : most;
}

static bool wire_body_receive_in_place(struct exchange *exchange, VALUE to, size_t room) {
    size_t before = (size_t)RSTRING_LEN(to);
    if (rb_str_capacity(to) - before < room) rb_str_modify_expand(to, (long)room);
    char *at = RSTRING_PTR(to) + before;
    size_t received = plait_wire_receive(exchange, at, room);
    struct http1_piece piece = {0, 0, 0};
    while (received > 0 && piece.consumed < received) {
        int event = http1_body_next(&exchange->wire->body, at, received, &piece);
        if (event < 0) plait_wire_raise_broken(exchange, event, exchange->consumed);
        exchange->consumed += piece.consumed;
    }
    rb_str_set_len(to, (long)(before + received));
    return received > 0;
}

/* Returns false at the end of the input. */
static bool wire_body_receive_some(struct exchange *exchange, VALUE to, size_t most) {
    size_t room = wire_body_unframed(exchange, most);
    if (room >= IN_PLACE) return wire_body_receive_in_place(exchange, to, room);

    size_t received = plait_wire_receive(exchange, plait_wire_incoming, sizeof plait_wire_incoming);
    plait_wire_add(exchange, plait_wire_incoming, received);
    return received > 0;
}

/* Of an unknown length. Its memory doubles as it comes; what is too much is given back. */
static VALUE wire_body_receive_unknown(struct exchange *exchange) {
    VALUE body = rb_str_buf_new((long)exchange->size);
    while (!wire_body_decode(exchange, body, SIZE_MAX)) {
        size_t length = (size_t)RSTRING_LEN(body);
        if (wire_body_receive_some(exchange, body, length > PIECE ? length : PIECE)) continue;
        wire_body_end_input(exchange);
        break;
    }
    return rb_str_resize(body, RSTRING_LEN(body));
}

static VALUE wire_body_receive(struct exchange *exchange) {
    switch (exchange->head.framing) {
    case HTTP1_LENGTH:
        return wire_body_receive_length(exchange, exchange->head.content_length);
    case HTTP1_CHUNKED:
    case HTTP1_UNTIL_CLOSE:
        return wire_body_receive_unknown(exchange);
    default:
        return rb_str_new(NULL, 0);
    }
}

static VALUE wire_body_finish(struct exchange *exchange, VALUE response, VALUE body) {
    plait_response_set(response, RESPONSE_BODY, body);
    wire_body_note_times(exchange, response);
    wire_body_end_answer(exchange, response);
    return response;
}

VALUE plait_wire_receive_rest(struct exchange *exchange) {
    VALUE response = plait_wire_begin_response(exchange);
    return wire_body_finish(exchange, response, wire_body_receive(exchange));
}

VALUE plait_wire_receive_whole(struct exchange *exchange) {
    plait_wire_receive_final_head(exchange);
    VALUE response = plait_wire_receive_rest(exchange);
    exchange->wire->prompt = !exchange->slow && plait_wire_is_plain(&exchange->head);
    return response;
}

/* ---- by a batch ---- */

void plait_wire_begin_filling(struct exchange *exchange) {
    struct wire *wire = exchange->wire;
    RB_OBJ_WRITE(exchange->self, &wire->response, plait_wire_begin_response(exchange));
    wire->filling = wire_body_new_filling(exchange, exchange->head.content_length);
    RB_OBJ_WRITTEN(exchange->self, Qundef, wire->filling.body);
    wire->consumed = exchange->consumed;
}

/* Edge-triggered: either all that is there is received, or other code goes on. */
enum wire_arrival plait_wire_fill(struct exchange *exchange) {
    struct wire *wire = exchange->wire;
    struct filling *filling = &wire->filling;
    for (int moves = 0; moves < MOVES; moves++) {
        size_t room;
        char *to = wire_body_place(filling, &room);
        ssize_t received = plait_wire_hear(exchange, to, room);
        if (received == 0 || received == MOVE_FAILED) break;
        if (received > 0) wire_body_took(exchange, filling, (size_t)received);
        wire->consumed = exchange->consumed;
        if (filling->at == filling->length) return ARRIVED_WHOLE;
        if (exchange->drained) return ARRIVED_NOTHING;
    }
    return ARRIVED_OTHERWISE;
}

/* Its length is all that is left to be known of the head. */
VALUE plait_wire_end_filling(struct exchange *exchange) {
    struct wire *wire = exchange->wire;
    VALUE response = wire->response;
    VALUE body = wire_body_filled(&wire->filling);
    exchange->head.framing = HTTP1_LENGTH;
    wire->filling.body = wire->response = Qnil;
    return wire_body_finish(exchange, response, body);
}

VALUE plait_wire_conclude_filling(struct exchange *exchange) {
    wire_body_fill_up(exchange, &exchange->wire->filling);
    return plait_wire_end_filling(exchange);
}

/* ---- piece by piece ---- */

static void wire_body_end_piecewise(struct exchange *exchange) {
    struct wire *wire = exchange->wire;
    wire_body_end_answer(exchange, wire->response);
    wire->response = Qnil;
    wire->read_out = true;
}

VALUE plait_wire_receive_head(struct exchange *exchange) {
    struct wire *wire = exchange->wire;
    plait_wire_receive_final_head(exchange);
    VALUE response = plait_wire_begin_response(exchange);
    wire_body_note_times(exchange, response);
    RB_OBJ_WRITE(exchange->self, &wire->response, response);
    wire->began = exchange->first_at;
    wire->framing = exchange->head.framing;
    wire->persistent &= !exchange->stopped;
    wire->consumed = exchange->consumed;
    if (http1_body_done(&wire->body)) {
        wire_body_end_piecewise(exchange);
    } else {
        wire->state = WIRE_STREAMING;
        plait_wire_store(exchange);
    }
    return response;
}

/* Returns whether it was the last. */
static bool wire_body_receive_bytes(struct exchange *exchange, VALUE piece) {
    while (!wire_body_decode(exchange, piece, PIECE)) {
        if (RSTRING_LEN(piece) > 0) return http1_body_done(&exchange->wire->body);
        if (exchange->size > 0 || wire_body_receive_some(exchange, piece, PIECE)) continue;
        wire_body_end_input(exchange);
        break;
    }
    return true;
}

VALUE plait_wire_receive_piece(struct exchange *exchange, VALUE buffer) {
    struct wire *wire = exchange->wire;
    plait_wire_load(exchange);
    exchange->head.framing = wire->framing;
    exchange->consumed = wire->consumed;
    exchange->answer_began = true;
    VALUE piece = NIL_P(buffer) ? rb_str_buf_new((long)(exchange->size < PIECE ? exchange->size : PIECE)) : buffer;
    if (!NIL_P(buffer)) rb_str_set_len(buffer, 0);
    if (wire_body_receive_bytes(exchange, piece)) {
        plait_response_time_read(wire->response, plait_now() - wire->began);
        wire_body_end_piecewise(exchange);
    } else {
        wire->consumed = exchange->consumed;
        plait_wire_store(exchange);
    }
    if (RSTRING_LEN(piece) == 0) return Qnil;
    return NIL_P(buffer) ? rb_str_resize(piece, RSTRING_LEN(piece)) : buffer;
}

