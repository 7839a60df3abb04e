/*
 * Sends what an app has returned. A Hash of headers and an Array of Strings go out by one sendmsg(2) from here, the pieces of a
 * body with `each` from rb_server_parts.c; all else is for Plait::Server::Reply.
 */
#include "rb_server.h"

#include <string.h>

/* Parts of a body whose places lie on the stack. */
enum { FEW = 16 };

static ID id_stream, id_close, id_each, id_to_path;
static VALUE hijack_key;

/* Bytes of a head on the stack; longer ones lie in a String of their own. */
enum { HEAD = 2048 };

/* Bytes of a body from which on it is not copied for a peer that takes it slowly. */
enum { LARGE = 2 * SERVER_PIECE };

/* The head of an answer while it is being written: the worker's own, since the app's objects are asked in between. */
struct answer {
    struct exchange *exchange;
    size_t size;     /* of the head */
    size_t capacity;
    char *data;
    VALUE holder;
    char few[HEAD];
    int status;
    long length;     /* Content-Length of the app; -1: none */
    bool date;       /* the app has set it */
    bool special;    /* it has something that only Reply can do */
    bool upgrade;    /* it names other protocols; then `connection` says so too (RFC 9110 §7.8) */
    bool chunked;    /* the length of its body is unknown */
};

/* ---- the head ---- */

static void server_respond_make_room(struct answer *answer, size_t more) {
    if (answer->size + more <= answer->capacity) return;

    size_t capacity = (answer->size + more) * 2;
    VALUE holder = rb_str_tmp_new((long)capacity);
    memcpy(RSTRING_PTR(holder), answer->data, answer->size);
    answer->holder = holder;
    answer->data = RSTRING_PTR(holder);
    answer->capacity = capacity;
}

static void server_respond_add(struct answer *answer, const char *data, size_t size) {
    server_respond_make_room(answer, size);
    memcpy(answer->data + answer->size, data, size);
    answer->size += size;
}

static void server_respond_add_text(struct answer *answer, const char *data) {
    server_respond_add(answer, data, strlen(data));
}

static void server_respond_reject(int rule, VALUE name) {
    VALUE error = rb_path2class("Plait::LocalProtocolError");
    rb_raise(error, "the app's header %" PRIsVALUE " has %s", rb_inspect(name), http1_rule(rule)->text);
}

static bool server_respond_is_space(char byte) {
    return byte == ' ' || byte == '\t';
}

/* What is done with a value of a field: white space around it means nothing. */
typedef void (*value_taker)(struct answer *answer, VALUE name, const char *value, size_t size);

static void server_respond_add_line(struct answer *answer, VALUE name, const char *value, size_t size) {
    int rule = http1_check_value(value, size);
    if (rule < 0) server_respond_reject(rule, name);

    server_respond_add(answer, RSTRING_PTR(name), (size_t)RSTRING_LEN(name));
    server_respond_add(answer, ": ", 2);
    server_respond_add(answer, value, size);
    server_respond_add(answer, "\r\n", 2);
}

static void server_respond_take_line(struct answer *answer, VALUE name, const char *value, size_t size, value_taker take) {
    while (size > 0 && server_respond_is_space(value[size - 1])) size--;
    for (; size > 0 && server_respond_is_space(*value); value++) size--;
    take(answer, name, value, size);
}

/* Before Rack 3 several values of one field were lines of one String. */
static void server_respond_take_lines(struct answer *answer, VALUE name, VALUE text, value_taker take) {
    const char *at = RSTRING_PTR(text), *end = at + RSTRING_LEN(text), *line;
    bool empty = at == end;
    while ((line = memchr(at, '\n', (size_t)(end - at)))) {
        if (line > at) server_respond_take_line(answer, name, at, (size_t)(line - at), take);
        at = line + 1;
    }
    if (at < end || empty) server_respond_take_line(answer, name, at, (size_t)(end - at), take);
    RB_GC_GUARD(text);
}

static void server_respond_take_values(struct answer *answer, VALUE name, VALUE value, value_taker take) {
    if (NIL_P(value)) return;
    if (RB_TYPE_P(value, T_ARRAY)) {
        for (long index = 0; index < RARRAY_LEN(value); index++) {
            server_respond_take_lines(answer, name, rb_String(RARRAY_AREF(value, index)), take);
        }
    } else {
        server_respond_take_lines(answer, name, rb_String(value), take);
    }
}

/* Whether "close" is one of the words of a Connection field. */
static bool server_respond_says_close(VALUE value) {
    if (RB_TYPE_P(value, T_ARRAY)) value = rb_ary_join(value, rb_str_new_cstr(","));
    if (!RB_TYPE_P(value, T_STRING)) return false;

    const char *at = RSTRING_PTR(value), *end = at + RSTRING_LEN(value);
    while (at < end) {
        size_t size = 0;
        while (at + size < end && !strchr(", \t\n", at[size])) size++;
        if (size == 5 && strncasecmp(at, "close", 5) == 0) return true;
        at += size + 1;
    }
    RB_GC_GUARD(value);
    return false;
}

static void server_respond_take_length(struct answer *answer, VALUE name, const char *digits, size_t size) {
    long length = 0;
    if (size == 0 || size > 18) server_respond_reject(-HTTP1_E_CONTENT_LENGTH, name); /* more overflow */
    for (size_t index = 0; index < size; index++) {
        if (digits[index] < '0' || digits[index] > '9') server_respond_reject(-HTTP1_E_CONTENT_LENGTH, name);
        length = length * 10 + (digits[index] - '0');
    }
    if (answer->length >= 0 && answer->length != length) server_respond_reject(-HTTP1_E_CONTENT_LENGTH_CONFLICT, name);
    answer->length = length;
}

static int server_respond_take_field(VALUE name, VALUE value, VALUE argument) {
    struct answer *answer = (struct answer *)argument;
    name = rb_String(name);
    const char *data = RSTRING_PTR(name);
    size_t size = (size_t)RSTRING_LEN(name);
    if (size >= 5 && memcmp(data, "rack.", 5) == 0) {
        answer->special |= rb_str_equal(name, hijack_key) == Qtrue && RTEST(value);
        return ST_CONTINUE;
    }
    int rule = http1_check_name(data, size);
    if (rule < 0) server_respond_reject(rule, name);
    switch (http1_known_field(data, size)) {
    case HTTP1_FIELD_CONTENT_LENGTH:
        server_respond_take_values(answer, name, value, server_respond_take_length);
        return ST_CONTINUE;
    case HTTP1_FIELD_TRANSFER_ENCODING: answer->special |= !NIL_P(value); return ST_CONTINUE;
    case HTTP1_FIELD_CONNECTION: answer->exchange->close |= server_respond_says_close(value); return ST_CONTINUE;
    case HTTP1_FIELD_UPGRADE: answer->upgrade |= !NIL_P(value); break;
    case HTTP1_FIELD_DATE: answer->date = true; break;
    default: break;
    }
    server_respond_take_values(answer, name, value, server_respond_add_line);
    RB_GC_GUARD(name);
    return ST_CONTINUE;
}

/* snprintf is Ruby's own in an extension, and slow: it was a twentieth of what a small answer costs outside of the kernel. */
static void server_respond_add_number(struct answer *answer, long number) {
    char digits[24];
    size_t at = sizeof digits;
    do digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    server_respond_add(answer, digits + at, sizeof digits - at);
}

static void server_respond_begin_head(struct answer *answer) {
    if (answer->status == 200) return server_respond_add(answer, "HTTP/1.1 200 OK\r\n", 17);

    server_respond_add(answer, "HTTP/1.1 ", 9);
    server_respond_add_number(answer, answer->status);
    server_respond_add(answer, " ", 1);
    server_respond_add_text(answer, server_reason(answer->status));
    server_respond_add(answer, "\r\n", 2);
}

static void server_respond_end_head(struct answer *answer, long length) {
    struct exchange *exchange = answer->exchange;
    if (!answer->date) {
        server_respond_add(answer, "date: ", 6);
        server_respond_add(answer, server_date(), SERVER_DATE);
        server_respond_add(answer, "\r\n", 2);
    }
    if (length >= 0) {
        server_respond_add(answer, "content-length: ", 16);
        server_respond_add_number(answer, length);
        server_respond_add(answer, "\r\n", 2);
    }
    if (answer->chunked) server_respond_add_text(answer, "transfer-encoding: chunked\r\n");
    bool closes = exchange->close || !exchange->persistent || exchange->server->engine.retiring;
    if (closes) server_respond_add_text(answer, answer->upgrade ? "connection: close, upgrade\r\n" : "connection: close\r\n");
    else if (exchange->minor == 0) server_respond_add_text(answer, "connection: keep-alive\r\n");
    else if (answer->upgrade) server_respond_add_text(answer, "connection: upgrade\r\n");
    server_respond_add(answer, "\r\n", 2);
    exchange->close = closes;
}

/* ---- the body ---- */

/* The status or the request's method forbids a body. */
static bool server_respond_bodiless(const struct answer *answer) {
    int status = answer->status;
    return answer->exchange->to_head || status < 200 || status == 204 || status == 304;
}

static long server_respond_size_of(VALUE body) {
    long size = 0;
    for (long index = 0; index < RARRAY_LEN(body); index++) {
        VALUE part = RARRAY_AREF(body, index);
        if (!RB_TYPE_P(part, T_STRING)) rb_raise(rb_eTypeError, "a body yields Strings, not %" PRIsVALUE, rb_obj_class(part));
        size += RSTRING_LEN(part);
    }
    return size;
}

/* 2xx to CONNECT: nothing may be said of lengths (RFC 9110 §9.3.6). */
static bool server_respond_opens_tunnel(const struct answer *answer) {
    return answer->exchange->to_connect && answer->status / 100 == 2;
}

/* -1: none is sent. Of the answer to HEAD an empty body says nothing. */
static long server_respond_length_to_send(const struct answer *answer, long size) {
    if (answer->status < 200 || answer->status == 204 || server_respond_opens_tunnel(answer)) return -1;
    bool without = answer->exchange->to_head || answer->status == 304;
    if (without) return answer->length >= 0 ? answer->length : size > 0 ? size : -1;
    if (answer->length >= 0 && answer->length != size) {
        rb_raise(rb_path2class("Plait::LocalProtocolError"),
                 "the app's content-length is %ld, but its body has %ld bytes", answer->length, size);
    }
    return size;
}

static void server_respond_transmit(const struct answer *answer, VALUE body, bool with_body) {
    struct exchange *exchange = answer->exchange;
    struct server_connection *connection = plait_server_connection(exchange);
    if (!connection) return;

    long count = with_body ? RARRAY_LEN(body) : 0;
    struct iovec few[FEW + 1], *parts = few;
    VALUE holder = 0;
    if (count > FEW) parts = rb_alloc_tmp_buffer_with_count(&holder, (size_t)(count + 1) * sizeof *parts, (size_t)count);
    parts[0] = (struct iovec){.iov_base = answer->data, .iov_len = answer->size};
    for (long index = 0; index < count; index++) {
        VALUE part = RARRAY_AREF(body, index);
        parts[index + 1] = (struct iovec){.iov_base = RSTRING_PTR(part), .iov_len = (size_t)RSTRING_LEN(part)};
    }
    ssize_t kept = server_send(connection, parts, (int)count + 1);
    if (kept < 0) exchange->close = true;
    if (holder) rb_free_tmp_buffer(&holder);
}

/* The head with the first piece, and the others as the peer takes them. */
static void server_respond_transmit_large(const struct answer *answer, VALUE body) {
    struct exchange *exchange = answer->exchange;
    if (!plait_server_connection(exchange)) return;

    struct server_remainder *remainder = plait_server_remainder(exchange->server, body);
    struct server_connection *connection = plait_server_connection(exchange);
    struct iovec parts[SERVER_PARTS + 1] = {{.iov_base = answer->data, .iov_len = answer->size}};
    int count = remainder->next(remainder, parts + 1);
    bool lost = server_send(connection, parts, count + 1) < 0;
    if (server_supply(connection, remainder) != 0 || lost) exchange->close = true;
}

/* Small parts cost less to copy than to name to the kernel. */
static bool server_respond_append(struct answer *answer, VALUE body, long size) {
    if (answer->size + (size_t)size > answer->capacity) return false;

    for (long index = 0; index < RARRAY_LEN(body); index++) {
        VALUE part = RARRAY_AREF(body, index);
        server_respond_add(answer, RSTRING_PTR(part), (size_t)RSTRING_LEN(part));
    }
    return true;
}

static void server_respond_send_array(struct answer *answer, VALUE body) {
    long size = server_respond_size_of(body);
    server_respond_end_head(answer, server_respond_length_to_send(answer, size));
    bool with_body = !server_respond_bodiless(answer);
    if (with_body && server_respond_append(answer, body, size)) with_body = false;
    if (with_body && size > LARGE) server_respond_transmit_large(answer, body);
    else server_respond_transmit(answer, body, with_body);
    RB_GC_GUARD(body);
}

/* Whether a body's pieces go out from here. Without a length the end of the connection is the end of an answer by HTTP/1.0. */
static bool server_respond_has_parts(const struct answer *answer, VALUE body) {
    const struct exchange *exchange = answer->exchange;
    if (exchange->to_connect || (exchange->minor == 0 && answer->length < 0)) return false;
    return rb_respond_to(body, id_each) && !rb_respond_to(body, id_to_path);
}

static void server_respond_send_parts(struct answer *answer, VALUE body) {
    bool bodiless = server_respond_bodiless(answer);
    long length = bodiless ? server_respond_length_to_send(answer, 0) : answer->length;
    answer->chunked = !bodiless && length < 0;
    server_respond_end_head(answer, length);
    if (bodiless) return server_respond_transmit(answer, body, false);

    struct iovec head = {.iov_base = answer->data, .iov_len = answer->size};
    plait_server_send_parts(answer->exchange, head, length, body);
}

static void server_respond_stream(const struct answer *answer, VALUE response) {
    struct exchange *exchange = answer->exchange;
    VALUE persistent = exchange->persistent && !exchange->server->engine.retiring ? Qtrue : Qfalse;
    VALUE keep = rb_funcall(exchange->server->reply, id_stream, 4, exchange->handle, exchange->env, response, persistent);
    exchange->close = !RTEST(keep);
    struct server_connection *connection = NIL_P(keep) ? plait_server_connection(exchange) : NULL;
    if (connection) server_drop(&exchange->server->engine, connection);
}

/* ---- the whole ---- */

static VALUE server_respond_triplet(VALUE response) {
    VALUE array = rb_check_array_type(response);
    if (!NIL_P(array) && RARRAY_LEN(array) == 3) return array;

    rb_raise(rb_eTypeError, "an app returns [status, headers, body], not %" PRIsVALUE, rb_inspect(response));
}

/* Integer(value, exception: false): before Rack 3 a status was what has to_i. */
static VALUE server_respond_as_integer(VALUE value) {
    VALUE options = rb_hash_new();
    rb_hash_aset(options, ID2SYM(rb_intern("exception")), Qfalse);
    VALUE arguments[] = {value, options};
    return rb_funcallv_kw(rb_mKernel, rb_intern("Integer"), 2, arguments, RB_PASS_KEYWORDS);
}

static int server_respond_status_of(VALUE value) {
    VALUE number = RB_INTEGER_TYPE_P(value) ? value : server_respond_as_integer(value);
    long status = FIXNUM_P(number) ? FIX2LONG(number) : -1;
    if (status == 101 || (status >= 200 && status <= 999)) return (int)status;

    rb_raise(rb_eArgError, "a status is 101, or a whole number from 200 to 999, not %" PRIsVALUE, rb_inspect(value));
}

/* A plain Array has nothing to close. */
static bool server_respond_is_plain(VALUE body) {
    return RB_TYPE_P(body, T_ARRAY) && RBASIC_CLASS(body) == rb_cArray;
}

static void server_respond_close_body(VALUE body) {
    if (!server_respond_is_plain(body) && rb_respond_to(body, id_close)) rb_funcall(body, id_close, 0);
}

struct sending {
    struct answer *answer;
    VALUE response;
    VALUE body;
    bool streamed; /* Reply closes it */
};

static VALUE server_respond_send_answer(VALUE argument) {
    struct sending *sending = (struct sending *)argument;
    struct answer *answer = sending->answer;
    VALUE headers = answer->exchange->headers;
    answer->status = server_respond_status_of(answer->exchange->status);
    server_respond_begin_head(answer);
    answer->special = !RB_TYPE_P(headers, T_HASH) || answer->status == 101;
    if (!answer->special) rb_hash_foreach(headers, server_respond_take_field, (VALUE)answer);
    VALUE array = answer->special ? Qnil : rb_check_array_type(sending->body);
    bool parts = NIL_P(array) && !answer->special && server_respond_has_parts(answer, sending->body);
    sending->streamed = NIL_P(array) && !parts;
    if (sending->streamed) server_respond_stream(answer, sending->response);
    else if (parts) server_respond_send_parts(answer, sending->body);
    else server_respond_send_array(answer, array);
    answer->exchange->answered = true;
    return Qnil;
}

static VALUE server_respond_end_answer(VALUE argument) {
    const struct sending *sending = (const struct sending *)argument;
    if (!sending->streamed) server_respond_close_body(sending->body);
    return Qnil;
}

void plait_server_respond(struct exchange *exchange, VALUE response) {
    VALUE array = server_respond_triplet(response);
    VALUE body = RARRAY_AREF(array, 2);
    struct answer answer;
    answer = (struct answer){.exchange = exchange, .length = -1, .capacity = HEAD};
    answer.data = answer.few;
    struct sending sending = {.answer = &answer, .response = array, .body = body};
    exchange->status = RARRAY_AREF(array, 0);
    exchange->headers = RARRAY_AREF(array, 1);
    if (!plait_server_connection(exchange)) return server_respond_close_body(body); /* hijacked, or lost */

    if (server_respond_is_plain(body)) server_respond_send_answer((VALUE)&sending);
    else rb_ensure(server_respond_send_answer, (VALUE)&sending, server_respond_end_answer, (VALUE)&sending);
    RB_GC_GUARD(array);
}

void plait_server_init_respond(void) {
    id_stream = rb_intern("stream");
    id_close = rb_intern("close");
    id_each = rb_intern("each");
    id_to_path = rb_intern("to_path");
    hijack_key = rb_interned_str_cstr("rack.hijack");
    rb_gc_register_mark_object(hijack_key);
}
