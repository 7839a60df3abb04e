/* Descriptors that a forked child closes. */
#ifndef PLAIT_SHARD_FORK_H
#define PLAIT_SHARD_FORK_H

#include "shard_plane.h"

/* Descriptors that a forked child closes. -1: an errno is set; one that was given is closed then. */
int shard_take(int descriptor);
int shard_take_client(int listener);
int shard_take_socket(int family);
void shard_close(int descriptor);

#endif
