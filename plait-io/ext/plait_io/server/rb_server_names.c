/*
 * The names of request fields in env. Fields that the engine does not know by itself (Sec-Fetch-Mode,
 * X-Forwarded-For …) are the same from request to request, and are looked up here before Ruby's table of all interned
 * Strings is asked: that costs three times as much.
 */
#include "rb_server.h"

#include <string.h>

/* Longer names are not remembered; and bytes before a key, so that its last eight can be read whatever its length is. */
enum { LONGEST = 256, BEFORE = 8, PREFIX = 5, PLACES_BITS = 6 };

_Static_assert(RB_SERVER_PLACES == 1 << PLACES_BITS, "place_of names a place");

static VALUE remembered[RB_SERVER_PLACES];

/* "HTTP_X_REQUEST_ID" of "X-Request-Id"; false for one that could be taken for another's ("X_Request_Id"). */
static bool server_names_spell(char *key, const char *name, size_t size) {
    memcpy(key, "HTTP_", PREFIX);
    for (size_t index = 0; index < size; index++) {
        char letter = name[index];
        if (letter == '_') return false;
        if (letter >= 'a' && letter <= 'z') letter = (char)(letter - 'a' + 'A');
        key[PREFIX + index] = letter == '-' ? '_' : letter;
    }
    return true;
}

/* HTTP_VERSION would be taken for the protocol's, as before Rack 3. */
static bool server_names_is_reserved(const char *name, size_t size) {
    return size == 7 && strncasecmp(name, "version", 7) == 0;
}

/* By the length and the last eight bytes: what tells names apart stands at their ends. */
static unsigned server_names_place_of(const char *key, size_t size) {
    uint64_t end;
    memcpy(&end, key + size - sizeof end, sizeof end);
    return (unsigned)(((end ^ size) * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - PLACES_BITS));
}

static bool server_names_is_text(VALUE string, const char *data, size_t size) {
    return (size_t)RSTRING_LEN(string) == size && memcmp(RSTRING_PTR(string), data, size) == 0;
}

static VALUE server_names_long_key(const char *name, size_t size) {
    VALUE key = rb_str_new(NULL, (long)(PREFIX + size));
    return server_names_spell(RSTRING_PTR(key), name, size) ? rb_obj_freeze(key) : Qnil;
}

VALUE plait_server_key(const char *name, size_t size, unsigned *place) {
    char room[BEFORE + PREFIX + LONGEST] = {0}, *key = room + BEFORE;
    *place = RB_SERVER_PLACES;
    if (server_names_is_reserved(name, size)) return Qnil;
    if (size > LONGEST) return server_names_long_key(name, size);
    if (!server_names_spell(key, name, size)) return Qnil;

    *place = server_names_place_of(key, PREFIX + size);
    VALUE known = remembered[*place];
    if (!NIL_P(known) && server_names_is_text(known, key, PREFIX + size)) return known;
    return remembered[*place] = rb_interned_str(key, (long)(PREFIX + size));
}

void plait_server_init_names(void) {
    for (int place = 0; place < RB_SERVER_PLACES; place++) {
        remembered[place] = Qnil;
        rb_gc_register_address(&remembered[place]);
    }
}
