/*
 * Large bodies that are not copied while their peers take them: the Strings are kept from the collector until then. A body
 * that an app gives to many is there once.
 */
#include "rb_server.h"

static size_t server_remainder_min(size_t one, size_t other) {
    return one < other ? one : other;
}

static int server_remainder_next(struct server_remainder *engine, struct iovec *parts) {
    struct rb_server_remainder *remainder = (struct rb_server_remainder *)engine;
    size_t room = SERVER_PIECE;
    int count = 0;
    while (count < SERVER_PARTS && room > 0 && remainder->index < RARRAY_LEN(remainder->body)) {
        VALUE string = RARRAY_AREF(remainder->body, remainder->index);
        size_t left = (size_t)RSTRING_LEN(string) - remainder->at, size = server_remainder_min(left, room);
        if (size > 0) parts[count++] = (struct iovec){.iov_base = RSTRING_PTR(string) + remainder->at, .iov_len = size};
        room -= size;
        remainder->at += size;
        if (size < left) continue;
        remainder->index++;
        remainder->at = 0;
    }
    return count;
}

/* Also while the server is collected itself. */
static void server_remainder_release(struct server_remainder *engine) {
    struct rb_server_remainder *remainder = (struct rb_server_remainder *)engine;
    *remainder->place = remainder->next;
    if (remainder->next) remainder->next->place = remainder->place;
    xfree(remainder);
}

/* A frozen String shares the bytes of the one that it was made of, which gets others when it is changed. */
struct server_remainder *plait_server_remainder(struct rb_server *server, VALUE body) {
    long count = RARRAY_LEN(body);
    VALUE kept = rb_ary_new_capa(count);
    for (long index = 0; index < count; index++) rb_ary_push(kept, rb_str_new_frozen(RARRAY_AREF(body, index)));

    struct rb_server_remainder *remainder = ALLOC(struct rb_server_remainder);
    *remainder = (struct rb_server_remainder){.engine = {server_remainder_next, server_remainder_release}, .body = kept};
    remainder->place = &server->remainders;
    remainder->next = server->remainders;
    if (remainder->next) remainder->next->place = &remainder->next;
    server->remainders = remainder;
    RB_GC_GUARD(kept);
    return &remainder->engine;
}
