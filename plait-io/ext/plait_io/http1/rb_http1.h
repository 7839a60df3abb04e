/* What other bindings take from the one of the engine. */
#ifndef PLAIT_RB_HTTP1_H
#define PLAIT_RB_HTTP1_H

#include <ruby.h>

#include "http1.h"

/* A String: UTF-8 where it is that, else binary. */
VALUE plait_http1_text(const char *data, size_t size);

/* [name, value] of a field in these bytes. */
VALUE plait_http1_pair(VALUE bytes, const struct http1_header *header);

/* Of Protocols::HTTP1::Limits, by its to_a. */
struct http1_limits plait_http1_limits(VALUE limits);

#endif
