/* Requests whose answers no fiber waits for: a batch does, see rb_wire_batch.h. */
#ifndef PLAIT_RB_WIRE_LAUNCH_H
#define PLAIT_RB_WIRE_LAUNCH_H

#include "rb_wire.h"

/* What a batch has heard of a connection: that bytes have come, that their end may have come with them, that it is broken. */
enum wire_news { NEWS_BYTES, NEWS_END, NEWS_BREAK };

/* ---- rb_wire_launch.c ---- */

/*
 * There is news of a launched request. Returns the response; nil when it is to be concluded; Qundef when further news is to
 * be waited for. Does not wait.
 */
VALUE plait_wire_land(VALUE self, enum wire_news news);

void plait_define_wire_launch(VALUE wire);

#endif
