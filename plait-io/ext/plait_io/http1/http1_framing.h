/* What a head's fields mean for the message's end and for the connection. Not for the engine's users. */
#ifndef PLAIT_HTTP1_FRAMING_H
#define PLAIT_HTTP1_FRAMING_H

#include "http1.h"

/* Each returns 0 or a broken rule, negated. */

/* Once the status is known. */
int http1_judge_status(const struct http1_head *head);

/* Each field, before it is counted in `seen`. A rule is broken at *error_at. */
int http1_judge_field(struct http1_head *head, const char *data, const struct http1_header *header, size_t *error_at);

/* At the empty line: decides the framing, and whether the connection persists. */
int http1_judge_head(struct http1_head *head);

#endif
