/*
 * Bytes on their way out: small pieces are copied one behind another, large ones stay where they are and are referred to. What
 * is referred to belongs to a counted buffer, or is borrowed from a read buffer until the end of the turn. libc only.
 */
#ifndef PLAIT_SHARD_ROPE_H
#define PLAIT_SHARD_ROPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Pieces from this size on are not copied. */
enum { SHARD_LARGE = 1024 };

/* A buffer that several may refer to, of one thread. */
struct shard_buffer {
    uint32_t references;
    bool mapped; /* from the system, to which it goes back */
    size_t room;
    size_t size; /* bytes in use */
    char bytes[];
};

struct shard_block {
    struct shard_block *next;
    struct shard_buffer *owner; /* of what is referred to; NULL: our own bytes, or borrowed ones */
    const char *data;
    size_t size;
    size_t room; /* of our own bytes; 0: a reference */
    char bytes[];
};

struct shard_rope {
    struct shard_block *first;
    struct shard_block *last;
    size_t size;     /* bytes in all */
    size_t borrowed; /* blocks that must be settled before the turn ends */
};

/* Blocks that are free, of one thread. */
struct shard_blocks {
    struct shard_block *own;        /* with bytes of their own */
    struct shard_block *small;      /* with few of them */
    struct shard_block *references; /* without */
    size_t own_count;
    size_t small_count;
    size_t reference_count;
};

/* NULL when there is no memory. */
struct shard_buffer *shard_buffer_new(size_t room);
void shard_buffer_drop(struct shard_buffer *buffer);

/* With more room, where the system can give some without copying, or NULL: nothing has changed. No other reference to it may exist. */
struct shard_buffer *shard_buffer_grow(struct shard_buffer *buffer, size_t room);

/* All that return a bool return false when there is no memory; the rope is then to be given up. */
bool shard_rope_copy(struct shard_rope *rope, struct shard_blocks *blocks, const char *data, size_t size);

/* The same where not much more is expected to come behind it: a page for each of many short replies would be of the cache's. */
bool shard_rope_copy_briefly(struct shard_rope *rope, struct shard_blocks *blocks, const char *data, size_t size);

/* Copies it where it is small. `owner` may be NULL, then it is borrowed. */
bool shard_rope_refer(struct shard_rope *rope, struct shard_blocks *blocks, const char *data, size_t size,
                      struct shard_buffer *owner);

/* Copies what is borrowed. */
bool shard_rope_settle(struct shard_rope *rope, struct shard_blocks *blocks);

/* Appends what another has from an offset on, which keeps it: what it borrows, and small pieces, are copied. */
bool shard_rope_share(struct shard_rope *rope, struct shard_blocks *blocks, const struct shard_rope *other, size_t offset);

/* Puts the one behind the other, and leaves it empty. */
void shard_rope_move(struct shard_rope *to, struct shard_rope *from);

bool shard_rope_pass_blocks(struct shard_rope *to, struct shard_rope *from, struct shard_blocks *blocks, size_t size);

/* The same with its first bytes; none of them is borrowed. Most are few: in one block, with room for them in the other's last. */
static inline bool shard_rope_pass(struct shard_rope *to, struct shard_rope *from, struct shard_blocks *blocks, size_t size) {
    struct shard_block *block = from->first, *last = to->last;
    size_t used = last ? (size_t)(last->data - last->bytes) + last->size : 0;
    if (!block || block->size <= size || !last || !last->room || last->room - used < size) {
        return shard_rope_pass_blocks(to, from, blocks, size);
    }
    memcpy(last->bytes + used, block->data, size);
    last->size += size;
    to->size += size;
    block->data += size;
    block->size -= size;
    from->size -= size;
    return true;
}

/* Copies its first bytes, as many as there are; returns how many. */
size_t shard_rope_peek(const struct shard_rope *rope, char *to, size_t size);

/* Its first bytes are done with. */
void shard_rope_drop(struct shard_rope *rope, struct shard_blocks *blocks, size_t size);

void shard_rope_clear(struct shard_rope *rope, struct shard_blocks *blocks);

/* Writes as much as is taken; 0, or an errno: EAGAIN when some is left. */
int shard_rope_write(struct shard_rope *rope, struct shard_blocks *blocks, int socket);

/* Large pieces of memory that this thread has freed so far. */
unsigned long shard_large_freed(void);

/* Bytes of them that the allocator may have kept. */
size_t shard_bytes_freed(void);

/* Frees all but a few. */
void shard_blocks_trim(struct shard_blocks *blocks, size_t keep);

#endif
