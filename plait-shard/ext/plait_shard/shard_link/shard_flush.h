/* Writes what waits, at the end of a turn or when there is no room to receive into. */
#ifndef PLAIT_SHARD_FLUSH_H
#define PLAIT_SHARD_FLUSH_H

#include "../shard_plane/shard_plane.h"

/* Clients in a window from which on a reply is held for the replies behind it. */
enum { SHARD_CROWD = 16 };

/* Where so many bytes at most can be received. Bytes that were received before may be gone if no reference keeps them. */
char *shard_room(struct shard_worker *worker, size_t *size);

/* Writes all that is waiting, and copies what is borrowed and could not be written. */
void shard_flush(struct shard_worker *worker);

#endif
