/* Plait::HTTP::NativeResponse, as the wire makes it: the head stays as it came, and is taken apart when it is asked for. */
#ifndef PLAIT_RB_RESPONSE_H
#define PLAIT_RB_RESPONSE_H

#include <ruby.h>

#include "../http1/http1.h"

/* What a wire sets later on; the rest is the response's own. */
enum response_member { RESPONSE_BODY, RESPONSE_URL, RESPONSE_PHASES, RESPONSE_TRAILERS, RESPONSE_REQUEST, RESPONSE_INDEX,
                       RESPONSE_MEMBERS };

/*
 * The bytes of a head. One server's answers have the same one for a second or longer, as far as its Date goes, and such answers
 * share it: 10,000 responses of 612 bytes that are still to be collected take 2.5 MB less.
 */
struct head_bytes {
    unsigned holders;
    uint32_t size; /* bytes */
    char bytes[];
};

/* `url`: a String or nil. `last` is the one that the caller holds of the answer before, or NULL; it becomes the one of this answer. */
VALUE plait_response_new(const struct http1_head *head, const char *bytes, size_t size, VALUE url, struct head_bytes **last);

/* Whether it is below 300, and its body is not encoded. */
bool plait_response_is_plain(VALUE self);

/* Gives up a hold; NULL is none. */
void plait_head_bytes_release(struct head_bytes *head);

void plait_response_set(VALUE self, enum response_member member, VALUE value);

/* Seconds: to send the request, from then until the first byte of the answer, from then to its end. */
void plait_response_time(VALUE self, double send, double first_byte, double read);

/* The seconds of the last of these, when the body is read later. */
void plait_response_time_read(VALUE self, double read);

/* Defines the class. */
void plait_define_response(VALUE http);

#endif
