/* Replies of the shard's own. */
#ifndef PLAIT_SHARD_REPLY_H
#define PLAIT_SHARD_REPLY_H

#include "../shard_plane/shard_plane.h"

/* Answers it. */
void shard_answer(struct shard_call *call, const char *reply, size_t size);

/* Answers with an error; the text is formatted, without its CRLF. */
__attribute__((format(printf, 2, 3))) void shard_refuse(struct shard_call *call, const char *format, ...);

#endif
