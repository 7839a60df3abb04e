/* Commands that go to several nodes. */
#ifndef PLAIT_SHARD_SPLIT_H
#define PLAIT_SHARD_SPLIT_H

#include "../shard_plane/shard_plane.h"

struct shard_part_plan {
    uint32_t node;
    uint32_t part;
    uint64_t words;
    const char *name;
    size_t name_size;
};

void shard_split(struct shard_call *call);
void shard_send_to_all(struct shard_call *call);

/* The keys that are here, to each node its own, for a request that gathers. */
void shard_send_more(struct shard_call *call, struct shard_request *request);

/* A request with so many parts; NULL: there is no memory, and the client is closed. */
struct shard_request *shard_begin_merge(struct shard_call *call, enum shard_merging kind, uint32_t parts, uint32_t keys);

/* What may keep a node busy for long, or answers much, goes on connections of its own: after all that the client has asked before. */
bool shard_goes_alone(const struct shard_call *call);
void shard_scan(struct shard_call *call);

/* From the header of a word up to behind its CRLF, and so of as many words as are wanted. */
const char *shard_whole_word(const struct shard_call *call, uint32_t place, uint32_t count, size_t *size);

/* Asks for a part, by a command that begins with this name, and returns the connection to which its words are to be appended. */
struct shard_link *shard_begin_part(struct shard_call *call, struct shard_request *request, struct shard_part_plan plan);

/* False: there is no memory, and all requests that wait for that node have got an error. */
bool shard_append(struct shard_call *call, struct shard_link *link, const char *data, size_t size);

#endif
