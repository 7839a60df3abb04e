/*
 * What was sent to a node and is not answered yet. Small pieces are copied, large ones share their buffer; nothing is kept of what a
 * slow client is still sending, nor of what is answered from connections that no redirection concerns.
 */
#include "shard_kept.h"
#include "../shard_plane/shard_pin.h"

static bool shard_kept_is_kept(const struct shard_worker *worker, const struct shard_link *link) {
    if (!shard_is_redirected(worker)) return false;
    return !link->own || (link->pin && link->pin->use == SHARD_PIN_WAITS);
}

void shard_kept_clear(struct shard_worker *worker, struct shard_link *link) {
    shard_rope_clear(&link->kept, &worker->blocks);
    link->kept_to = 0;
}

void shard_kept_add(struct shard_worker *worker, struct shard_link *link) {
    if (!shard_kept_is_kept(worker, link)) return;
    if (link->kept_to < link->sent) {
        shard_kept_clear(worker, link);
        link->kept_to = link->sent;
    }
    size_t offset = (size_t)(link->kept_to - link->sent);
    if (shard_rope_share(&link->kept, &worker->blocks, &link->out, offset)) link->kept_to = link->sent + link->out.size;
    else shard_kept_clear(worker, link);
}

void shard_kept_drop(struct shard_worker *worker, struct shard_link *link, uint64_t until) {
    uint64_t from = link->kept_to - link->kept.size;
    if (!link->kept.first || until <= from) return;
    uint64_t size = until - from;
    shard_rope_drop(&link->kept, &worker->blocks, size < link->kept.size ? (size_t)size : link->kept.size);
}

bool shard_kept_take(struct shard_worker *worker, struct shard_link *link, uint64_t from, uint64_t to, struct shard_rope *bytes) {
    shard_kept_drop(worker, link, from);
    if (!link->kept.first || link->kept_to - link->kept.size != from || to > link->kept_to) return false;
    return shard_rope_pass(bytes, &link->kept, &worker->blocks, (size_t)(to - from));
}
