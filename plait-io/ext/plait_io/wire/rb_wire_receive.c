/*
 * Answers, up to the end of their heads. What has come lies in one static buffer for all wires, and from there goes where it
 * belongs before other Ruby code can run; a head that came in part moves to memory of its own.
 */
#include "rb_wire_receive.h"

#include <string.h>

#include "../plait_io.h"
#include "rb_wire_move.h"
#include "rb_wire_wait.h"

/* Bytes. */
enum {
    FIRST = 16 * 1024,  /* asked for where an answer begins: the rest of a long body is received in place */
    PART = 4 * 1024,    /* room for what is missing of a head, at least */
    HEARD = 1024 * 1024, /* taken in while we send, of an answer whose body is read piece by piece */
    FILLED = 256 * 1024  /* the longest body that a batch receives: meanwhile no other thread runs */
};

char plait_wire_incoming[PLAIT_WIRE_INCOMING];

/*
 * What the engine parses fields into, for all wires: nothing in it is read after a switch, since what decides about the
 * framing and the connection is in the head itself.
 */
static struct http1_header *fields;
static uint32_t most_fields;

static ID id_broken, id_failed, id_repair;

void plait_wire_raise_broken(const struct exchange *exchange, ptrdiff_t rule, uint64_t at) {
    VALUE name = ID2SYM(rb_intern(http1_rule(rule)->name));
    rb_exc_raise(rb_funcall(exchange->self, id_broken, 2, name, ULL2NUM(at)));
}

/* The connection ended where an answer should have come. */
NORETURN(static void wire_receive_raise_ended(const struct exchange *exchange));
static void wire_receive_raise_ended(const struct exchange *exchange) {
    rb_exc_raise(rb_funcall(exchange->self, id_failed, 1, exchange->failure));
}

/* ---- bytes ---- */

static void wire_receive_note_arrival(struct exchange *exchange) {
    exchange->answer_began = true;
    exchange->wire->received = true;
    if (exchange->first_at == 0) exchange->first_at = plait_now();
    else exchange->slow = true;
}

/* Whatever broke the sending says more than what breaks the receiving after it. */
static ssize_t wire_receive_now(struct exchange *exchange, char *to, size_t room) {
    VALUE earlier = exchange->failure;
    ssize_t received = plait_wire_receive_now(exchange, to, room);
    if (received > 0) wire_receive_note_arrival(exchange);
    if (received == MOVE_FAILED && !NIL_P(earlier)) exchange->failure = earlier;
    return received;
}

ssize_t plait_wire_hear(struct exchange *exchange, char *to, size_t room) {
    ssize_t received = wire_receive_now(exchange, to, room);
    if (received != MOVE_WAITS && (received <= 0 || exchange->ended)) exchange->drained = false;
    return received;
}

size_t plait_wire_receive(struct exchange *exchange, char *to, size_t room) {
    enum wire_wait why = exchange->answer_began ? WAIT_FOR_MORE : WAIT_FOR_ANSWER;
    if (!exchange->drained) plait_wire_keep_pace(exchange, why);
    for (;;) {
        if (!exchange->drained) {
            ssize_t received = wire_receive_now(exchange, to, room);
            if (received == MOVE_FAILED) wire_receive_raise_ended(exchange);
            if (received >= 0) return (size_t)received;
        }
        exchange->drained = false;
        plait_wire_wait(exchange, PLAIT_READABLE, why);
    }
}

void plait_wire_consume(struct exchange *exchange, size_t size) {
    exchange->data += size;
    exchange->size -= size;
    exchange->consumed += size;
}

/* ---- what outlives a switch ---- */

/* Moves what has come into `pending`, and returns the room behind it: at least PART. */
static char *wire_receive_keep_data(struct exchange *exchange, size_t *room) {
    struct wire *wire = exchange->wire;
    VALUE before = wire->pending;
    size_t size = exchange->size;
    if (NIL_P(before) || rb_str_capacity(before) < size + PART) {
        VALUE larger = rb_str_buf_new((long)(size + (size > PART ? size : PART)));
        RB_OBJ_WRITE(exchange->self, &wire->pending, larger);
    }
    char *bytes = RSTRING_PTR(wire->pending);
    if (size > 0 && bytes != exchange->data) memmove(bytes, exchange->data, size);
    RB_GC_GUARD(before);
    rb_str_set_len(wire->pending, (long)size);
    wire->pending_at = 0;
    exchange->data = bytes;
    *room = rb_str_capacity(wire->pending) - size;
    return bytes + size;
}

void plait_wire_store(struct exchange *exchange) {
    size_t room;
    if (exchange->size > 0) wire_receive_keep_data(exchange, &room);
    else exchange->wire->pending = Qnil;
}

void plait_wire_load(struct exchange *exchange) {
    const struct wire *wire = exchange->wire;
    if (NIL_P(wire->pending)) return;

    exchange->data = RSTRING_PTR(wire->pending) + wire->pending_at;
    exchange->size = (size_t)RSTRING_LEN(wire->pending) - wire->pending_at;
}

/* ---- heads ---- */

struct http1_header *plait_wire_fields(const struct wire *wire) {
    if (wire->limits.headers > most_fields) {
        REALLOC_N(fields, struct http1_header, wire->limits.headers);
        most_fields = wire->limits.headers;
    }
    return fields;
}

void plait_wire_expect_head(struct exchange *exchange) {
    const struct wire *wire = exchange->wire;
    http1_head_init(&exchange->head, HTTP1_RESPONSE, &wire->limits, NULL, wire->limits.headers);
    http1_head_start(&exchange->head, wire->kind);
    plait_wire_load(exchange);
}

/* Whether the rule is one of Protocols::HTTP1::Repair. */
static bool wire_receive_may_repair(const struct exchange *exchange, ptrdiff_t broken) {
    const struct http1_limits *limits = &exchange->wire->limits;
    if (!limits->lenient || exchange->size > limits->head) return false;

    switch (-broken) {
    case HTTP1_E_BARE_LF:
    case HTTP1_E_CONTROL:
    case HTTP1_E_OBS_FOLD:
    case HTTP1_E_SPACE_IN_NAME:
    case HTTP1_E_TWO_LENGTHS:
    case HTTP1_E_TRANSFER_CODING:
        return true;
    default:
        return false;
    }
}

/* Whether an empty line has come. Without it there is nothing to ask Ruby for: a peer could have it look at each byte. */
static bool wire_receive_has_end(const struct exchange *exchange) {
    return memmem(exchange->data, exchange->size, "\n\n", 2) || memmem(exchange->data, exchange->size, "\n\r\n", 3);
}

/* Parses the head as Ruby has rewritten it. It may still break another rule. */
static ptrdiff_t wire_receive_parse_repaired(struct exchange *exchange, VALUE bytes) {
    struct wire *wire = exchange->wire;
    VALUE pending = rb_str_buf_new(RSTRING_LEN(bytes) + PART);
    rb_str_cat(pending, RSTRING_PTR(bytes), RSTRING_LEN(bytes));
    RB_GC_GUARD(bytes);
    RB_OBJ_WRITE(exchange->self, &wire->pending, pending);
    wire->pending_at = 0;
    exchange->data = RSTRING_PTR(pending);
    exchange->size = (size_t)RSTRING_LEN(pending);
    exchange->repaired = true;
    uint32_t interims = exchange->head.interims;
    http1_head_start(&exchange->head, wire->kind);
    exchange->head.interims = interims;
    exchange->head.table = plait_wire_fields(wire);
    return http1_head_parse(&exchange->head, exchange->data, exchange->size);
}

/* Returns as http1_head_parse; 0 also where the end of a broken head has not come. Ruby may switch: the bytes are kept first. */
static ptrdiff_t wire_receive_repair(struct exchange *exchange, ptrdiff_t broken) {
    if (!wire_receive_may_repair(exchange, broken)) return broken;
    if (!wire_receive_has_end(exchange)) return 0;

    size_t room;
    uint32_t error_at = exchange->head.error_at;
    wire_receive_keep_data(exchange, &room);
    VALUE bytes = rb_funcall(exchange->self, id_repair, 1, rb_str_new(exchange->data, (long)exchange->size));
    exchange->head.error_at = error_at;
    if (NIL_P(bytes)) return 0;
    return bytes == Qfalse ? broken : wire_receive_parse_repaired(exchange, bytes);
}

/* Whether the final head is there; interim ones are passed over. */
static bool wire_receive_parse_heads(struct exchange *exchange) {
    struct http1_head *head = &exchange->head;
    head->table = plait_wire_fields(exchange->wire);
    while (exchange->size > 0 && exchange->head_size == 0) {
        ptrdiff_t size = http1_head_parse(head, exchange->data, exchange->size);
        if (size < 0) size = wire_receive_repair(exchange, size);
        if (size < 0) plait_wire_raise_broken(exchange, size, exchange->consumed + head->error_at);
        if (size == 0) return false;
        if (!head->interim) {
            exchange->head_size = size;
        } else {
            exchange->continued |= head->status == 100;
            exchange->answer_began = false;
            plait_wire_consume(exchange, (size_t)size);
            http1_head_continue(head);
        }
    }
    return exchange->head_size > 0;
}

/* Where the next bytes go. */
static char *wire_receive_place(struct exchange *exchange, size_t *room) {
    *room = FIRST;
    return exchange->size == 0 ? plait_wire_incoming : wire_receive_keep_data(exchange, room);
}

void plait_wire_add(struct exchange *exchange, const char *bytes, size_t size) {
    if (exchange->size == 0) exchange->data = bytes;
    exchange->size += size;
}

NORETURN(static void wire_receive_raise_no_head(struct exchange *exchange));
static void wire_receive_raise_no_head(struct exchange *exchange) {
    int broken = http1_head_finish(&exchange->head, exchange->size);
    if (!broken && exchange->consumed > 0) broken = -HTTP1_E_TRUNCATED_HEAD; /* only interim ones have come */
    if (broken && NIL_P(exchange->failure)) plait_wire_raise_broken(exchange, broken, exchange->consumed + exchange->size);
    wire_receive_raise_ended(exchange);
}

void plait_wire_receive_final_head(struct exchange *exchange) {
    while (!wire_receive_parse_heads(exchange)) {
        size_t room;
        char *to = wire_receive_place(exchange, &room);
        size_t received = plait_wire_receive(exchange, to, room);
        if (received == 0) wire_receive_raise_no_head(exchange);
        plait_wire_add(exchange, to, received);
    }
}

/* An echo has to be heard to its end, or neither side would get any further. */
static uint64_t wire_receive_most_heard(const struct exchange *exchange) {
    uint64_t body = exchange->wire->limits.body;
    return exchange->whole && body > HEARD ? body : HEARD;
}

/* Returns whether libssl may have more: no event of the socket tells of that. */
static bool wire_receive_listen_once(struct exchange *exchange) {
    size_t room;
    char *to = wire_receive_place(exchange, &room);
    ssize_t received = wire_receive_now(exchange, to, room);
    if (received == MOVE_WAITS) return false;

    bool more = exchange->wire->ssl && !exchange->drained;
    exchange->drained = false;
    if (received <= 0) {
        exchange->deaf = true;
        exchange->stopped = received == MOVE_FAILED;
        return false;
    }
    plait_wire_add(exchange, to, (size_t)received);
    exchange->stopped = wire_receive_parse_heads(exchange) && exchange->head.status >= 300;
    exchange->deaf = exchange->size >= wire_receive_most_heard(exchange);
    if (exchange->size > 0) wire_receive_keep_data(exchange, &room);
    return more && !exchange->stopped && !exchange->deaf;
}

/* An error does not count yet: earlier bytes come first. A peer that answers with less than 300 wants the rest. */
void plait_wire_listen(struct exchange *exchange) {
    while (wire_receive_listen_once(exchange)) continue;
}

bool plait_wire_is_plain(const struct http1_head *head) {
    bool encoded = head->seen >> HTTP1_FIELD_CONTENT_ENCODING & 1;
    return !encoded && !head->interim && head->status < 300 && head->persistent && head->framing <= HTTP1_CHUNKED;
}

/* What these bytes of a body are; `all`: nothing else has come. */
static enum wire_arrival wire_receive_judge_body(const struct http1_head *head, const char *data, size_t size, bool all) {
    struct http1_body body;
    if (http1_body_start(&body, head) < 0) return ARRIVED_OTHERWISE;
    if (head->framing == HTTP1_LENGTH && size < head->content_length) {
        return head->content_length <= FILLED ? ARRIVED_PART : ARRIVED_OTHERWISE;
    }
    struct http1_piece piece;
    int event;
    do {
        event = http1_body_next(&body, data, size, &piece);
        data += piece.consumed;
        size -= piece.consumed;
    } while (event == HTTP1_DATA || event == HTTP1_TRAILER);
    return event == HTTP1_DONE && size == 0 && all ? ARRIVED_WHOLE : ARRIVED_OTHERWISE;
}

enum wire_arrival plait_wire_take_in(struct exchange *exchange) {
    struct wire *wire = exchange->wire;
    ssize_t received = plait_wire_hear(exchange, plait_wire_incoming, FIRST);
    if (received == MOVE_WAITS) return ARRIVED_NOTHING;
    if (received <= 0) return ARRIVED_OTHERWISE;

    plait_wire_expect_head(exchange);
    plait_wire_add(exchange, plait_wire_incoming, (size_t)received);
    struct http1_head *head = &exchange->head;
    head->table = plait_wire_fields(wire);
    ptrdiff_t size = exchange->head_size = http1_head_parse(head, exchange->data, exchange->size);
    wire->first_at = exchange->first_at;
    if (size > 0 && plait_wire_is_plain(head)) {
        const char *body = exchange->data + size;
        enum wire_arrival arrival = wire_receive_judge_body(head, body, exchange->size - (size_t)size, received < FIRST);
        if (arrival != ARRIVED_OTHERWISE) return arrival;
    }
    wire->prompt = false;
    plait_wire_store(exchange);
    return ARRIVED_OTHERWISE;
}

bool plait_wire_await_continue(struct exchange *exchange) {
    while (!exchange->continued && exchange->head_size == 0) {
        if (!plait_wire_wait(exchange, PLAIT_READABLE, WAIT_TO_CONTINUE)) break;
        plait_wire_listen(exchange);
        if (exchange->deaf) wire_receive_raise_no_head(exchange);
    }
    plait_wire_store(exchange);
    return exchange->head_size > 0;
}

/* The margin is for a request that is on its way when the time ends: twin of Persistence.margin. */
static void wire_receive_note_keeping(struct wire *wire, const struct http1_head *head) {
    uint32_t seconds = head->kept_for;
    if (seconds != HTTP1_UNSAID) wire->kept_for = seconds > 2 ? seconds - 1.0 : seconds / 2.0;
    if (wire->uses_left != HTTP1_UNSAID) wire->uses_left--;
    if (head->kept_times < wire->uses_left) wire->uses_left = head->kept_times;
}

VALUE plait_wire_begin_response(struct exchange *exchange) {
    struct wire *wire = exchange->wire;
    size_t size = (size_t)exchange->head_size;
    VALUE response = plait_response_new(&exchange->head, exchange->data, size, exchange->url, &wire->last_head);
    if (!wire->phases_taken) plait_response_set(response, RESPONSE_PHASES, wire->phases);
    wire->phases_taken = true;
    wire_receive_note_keeping(wire, &exchange->head);
    wire->persistent = exchange->head.persistent && !exchange->repaired && wire->uses_left > 0 && !(wire->kind & WIRE_TO_LOG_IN);
    plait_wire_consume(exchange, size);
    int broken = http1_body_start(&wire->body, &exchange->head);
    if (broken) plait_wire_raise_broken(exchange, broken, exchange->consumed);
    return response;
}

void plait_init_wire_receive(void) {
    id_broken = rb_intern("broken");
    id_failed = rb_intern("failed");
    id_repair = rb_intern("repair");
}
