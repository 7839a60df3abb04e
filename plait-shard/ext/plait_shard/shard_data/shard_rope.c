/* See shard_rope.h. */
#include "shard_rope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Of a block, so that it fills whole pages with its head; pieces in one system call. */
enum { OWN_ROOM = 8192 - sizeof(struct shard_block), SMALL_ROOM = 256 - sizeof(struct shard_block), PIECES = 256 };

/* ---- buffers ---- */

/* From the size on that glibc takes from the system, at first; it takes larger ones for its own later. */
enum { LARGE_MEMORY = 128 * 1024, MAPPED_MEMORY = 1024 * 1024 };

static _Thread_local unsigned long large_freed;
static _Thread_local size_t bytes_freed;

unsigned long shard_large_freed(void) {
    return large_freed;
}

size_t shard_bytes_freed(void) {
    return bytes_freed;
}

static struct shard_buffer *shard_rope_map(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* malloc would keep the largest ones for good, where they are the last of a thread's own memory. */
struct shard_buffer *shard_buffer_new(size_t room) {
    bool mapped = room >= MAPPED_MEMORY;
    struct shard_buffer *buffer = mapped ? shard_rope_map(sizeof *buffer + room) : malloc(sizeof *buffer + room);
    if (!buffer) return NULL;

    buffer->references = 1;
    buffer->mapped = mapped;
    buffer->room = room;
    buffer->size = 0;
    return buffer;
}

void shard_buffer_drop(struct shard_buffer *buffer) {
    if (!buffer || --buffer->references) return;
    large_freed += buffer->room >= LARGE_MEMORY;
    bytes_freed += buffer->mapped || buffer->room < LARGE_MEMORY ? 0 : buffer->room;
    if (buffer->mapped) munmap(buffer, sizeof *buffer + buffer->room);
    else free(buffer);
}

struct shard_buffer *shard_buffer_grow(struct shard_buffer *buffer, size_t room) {
#ifdef MREMAP_MAYMOVE
    if (!buffer->mapped || buffer->references != 1) return NULL;
    void *memory = mremap(buffer, sizeof *buffer + buffer->room, sizeof *buffer + room, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED) return NULL;
    buffer = memory;
    buffer->room = room;
    return buffer;
#else
    (void)buffer, (void)room;
    return NULL;
#endif
}

/* ---- blocks ---- */

static struct shard_block *shard_rope_take(struct shard_block **list, size_t *count, size_t room) {
    struct shard_block *block = *list;
    if (block) {
        *list = block->next;
        --*count;
    } else {
        block = malloc(sizeof *block + room);
        if (!block) return NULL;
    }
    block->next = NULL;
    block->owner = NULL;
    block->data = block->bytes;
    block->size = 0;
    block->room = room;
    return block;
}

static void shard_rope_give_back(struct shard_blocks *blocks, struct shard_block *block) {
    shard_buffer_drop(block->owner);
    if (block->room == SMALL_ROOM) {
        block->next = blocks->small;
        blocks->small = block;
        blocks->small_count++;
    } else if (block->room) {
        block->next = blocks->own;
        blocks->own = block;
        blocks->own_count++;
    } else {
        block->next = blocks->references;
        blocks->references = block;
        blocks->reference_count++;
    }
}

static void shard_rope_trim(struct shard_block **list, size_t *count, size_t keep) {
    while (*count > keep) {
        struct shard_block *block = *list;
        *list = block->next;
        --*count;
        free(block);
    }
}

void shard_blocks_trim(struct shard_blocks *blocks, size_t keep) {
    bool many = blocks->own_count > keep * 2;
    large_freed += many;
    bytes_freed += many ? (blocks->own_count - keep) * OWN_ROOM : 0;
    shard_rope_trim(&blocks->own, &blocks->own_count, keep);
    shard_rope_trim(&blocks->small, &blocks->small_count, keep * 32);
    shard_rope_trim(&blocks->references, &blocks->reference_count, keep * 16);
}

/* ---- ropes ---- */

static void shard_rope_append(struct shard_rope *rope, struct shard_block *block) {
    if (rope->last) rope->last->next = block;
    else rope->first = block;
    rope->last = block;
}

static struct shard_block *shard_rope_take_room(struct shard_blocks *blocks, bool small) {
    return small
        ? shard_rope_take(&blocks->small, &blocks->small_count, SMALL_ROOM)
        : shard_rope_take(&blocks->own, &blocks->own_count, OWN_ROOM);
}

static bool shard_rope_copy_into(struct shard_rope *rope, struct shard_blocks *blocks, const char *data, size_t size,
                                 bool briefly) {
    rope->size += size;
    while (size) {
        struct shard_block *block = rope->last;
        bool own = block && block->room;
        size_t used = own ? (size_t)(block->data - block->bytes) + block->size : 0;
        if (!own || used == block->room) {
            block = shard_rope_take_room(blocks, briefly && size <= SMALL_ROOM);
            if (!block) return false;
            shard_rope_append(rope, block);
            used = 0;
        }
        size_t part = size < block->room - used ? size : block->room - used;
        memcpy(block->bytes + used, data, part);
        block->size += part;
        data += part;
        size -= part;
    }
    return true;
}

bool shard_rope_copy(struct shard_rope *rope, struct shard_blocks *blocks, const char *data, size_t size) {
    return shard_rope_copy_into(rope, blocks, data, size, false);
}

bool shard_rope_copy_briefly(struct shard_rope *rope, struct shard_blocks *blocks, const char *data, size_t size) {
    return shard_rope_copy_into(rope, blocks, data, size, true);
}

bool shard_rope_refer(struct shard_rope *rope, struct shard_blocks *blocks, const char *data, size_t size,
                      struct shard_buffer *owner) {
    struct shard_block *last = rope->last;
    bool goes_on = last && !last->room && last->owner == owner && last->data + last->size == data;
    if (!goes_on && size < SHARD_LARGE) return shard_rope_copy(rope, blocks, data, size);

    rope->size += size;
    if (goes_on) {
        last->size += size;
        return true;
    }
    struct shard_block *block = shard_rope_take(&blocks->references, &blocks->reference_count, 0);
    if (!block) return false;

    block->data = data;
    block->size = size;
    block->owner = owner;
    if (owner) owner->references++;
    else rope->borrowed++;
    shard_rope_append(rope, block);
    return true;
}

static bool shard_rope_borrows(const struct shard_block *block) {
    return !block->room && !block->owner;
}

bool shard_rope_settle(struct shard_rope *rope, struct shard_blocks *blocks) {
    if (!rope->borrowed) return true;

    struct shard_rope settled = {0};
    bool enough = true;
    while (rope->first && enough) {
        struct shard_block *block = rope->first;
        rope->first = block->next;
        block->next = NULL;
        if (shard_rope_borrows(block)) {
            enough = shard_rope_copy(&settled, blocks, block->data, block->size);
            shard_rope_give_back(blocks, block);
        } else {
            settled.size += block->size;
            shard_rope_append(&settled, block);
        }
    }
    if (!enough) shard_rope_clear(rope, blocks);
    *rope = settled;
    return enough;
}

bool shard_rope_share(struct shard_rope *rope, struct shard_blocks *blocks, const struct shard_rope *other, size_t offset) {
    bool enough = true;
    for (const struct shard_block *block = other->first; block && enough; block = block->next) {
        size_t before = offset < block->size ? offset : block->size;
        const char *data = block->data + before;
        size_t size = block->size - before;
        offset -= before;
        if (!size) continue;
        enough = block->owner ? shard_rope_refer(rope, blocks, data, size, block->owner) : shard_rope_copy(rope, blocks, data, size);
    }
    return enough;
}

void shard_rope_move(struct shard_rope *to, struct shard_rope *from) {
    if (!from->first) return;
    if (to->last) to->last->next = from->first;
    else to->first = from->first;
    to->last = from->last;
    to->size += from->size;
    to->borrowed += from->borrowed;
    *from = (struct shard_rope){0};
}

void shard_rope_clear(struct shard_rope *rope, struct shard_blocks *blocks) {
    while (rope->first) {
        struct shard_block *block = rope->first;
        rope->first = block->next;
        shard_rope_give_back(blocks, block);
    }
    *rope = (struct shard_rope){0};
}

void shard_rope_drop(struct shard_rope *rope, struct shard_blocks *blocks, size_t size) {
    rope->size -= size;
    while (rope->first && size >= rope->first->size) {
        struct shard_block *block = rope->first;
        size -= block->size;
        rope->borrowed -= shard_rope_borrows(block);
        rope->first = block->next;
        shard_rope_give_back(blocks, block);
    }
    if (!rope->first) {
        rope->last = NULL;
    } else {
        rope->first->data += size;
        rope->first->size -= size;
    }
}

/* A whole block changes hands, unless it is small: then the next blocks find room in the last one. */
static bool shard_rope_pass_block(struct shard_rope *to, struct shard_rope *from, struct shard_blocks *blocks) {
    struct shard_block *block = from->first;
    size_t size = block->size;
    if (size < SHARD_LARGE) {
        bool enough = shard_rope_copy(to, blocks, block->data, size);
        shard_rope_drop(from, blocks, size);
        return enough;
    }
    from->first = block->next;
    if (!from->first) from->last = NULL;
    from->size -= size;
    block->next = NULL;
    shard_rope_append(to, block);
    to->size += size;
    return true;
}

bool shard_rope_pass_blocks(struct shard_rope *to, struct shard_rope *from, struct shard_blocks *blocks, size_t size) {
    bool enough = true;
    while (size && from->first && enough) {
        struct shard_block *block = from->first;
        if (block->size <= size) {
            size -= block->size;
            enough = shard_rope_pass_block(to, from, blocks);
        } else {
            enough = shard_rope_copy(to, blocks, block->data, size);
            shard_rope_drop(from, blocks, size);
            size = 0;
        }
    }
    return enough;
}

size_t shard_rope_peek(const struct shard_rope *rope, char *to, size_t size) {
    size_t done = 0;
    for (const struct shard_block *block = rope->first; block && done < size; block = block->next) {
        size_t part = block->size < size - done ? block->size : size - done;
        memcpy(to + done, block->data, part);
        done += part;
    }
    return done;
}

/* ---- writing ---- */

int shard_rope_write(struct shard_rope *rope, struct shard_blocks *blocks, int socket) {
    while (rope->first) {
        struct iovec pieces[PIECES];
        struct msghdr message = {.msg_iov = pieces};
        size_t asked = 0;
        for (struct shard_block *block = rope->first; block && message.msg_iovlen < PIECES; block = block->next) {
            pieces[message.msg_iovlen++] = (struct iovec){(void *)block->data, block->size};
            asked += block->size;
        }
        /* One piece, as most often: a message's head need not be copied into the kernel. */
        ssize_t written = message.msg_iovlen == 1 ? send(socket, pieces[0].iov_base, asked, MSG_NOSIGNAL | MSG_DONTWAIT)
                                                  : sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;

        shard_rope_drop(rope, blocks, (size_t)written);
        if ((size_t)written < asked) return EAGAIN;
    }
    return 0;
}
