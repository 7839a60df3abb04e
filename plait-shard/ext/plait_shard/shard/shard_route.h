/* Where a command goes. */
#ifndef PLAIT_SHARD_ROUTE_H
#define PLAIT_SHARD_ROUTE_H

#include "shard_plane.h"

#ifdef __linux__

/* Sends it where it belongs, or answers. */
void shard_dispatch(struct shard_call *call);

/* The node of the keys of a command. False: there is not one alone, and the client has been told. */
bool shard_find_node(struct shard_call *call, uint32_t *node);

/* Answers it. */
void shard_answer(struct shard_call *call, const char *reply, size_t size);

/* Answers with an error; the text is formatted, without its CRLF. */
__attribute__((format(printf, 2, 3))) void shard_refuse(struct shard_call *call, const char *format, ...);

#endif
#endif
