/* See shard_info.h. */
#include "shard_info.h"
#include "shard_rope.h"
#include "shard_text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line {
    const char *data;
    size_t size;  /* without its end */
    size_t name;  /* bytes before the colon; 0: it has none */
};

/* Of nodes together; what is not here and differs is left out. */
static const char *const sums[] = {
    "connected_clients", "maxclients", "blocked_clients", "tracking_clients", "clients_in_timeout_table", "used_memory",
    "used_memory_rss", "used_memory_dataset", "used_memory_overhead", "used_memory_lua", "used_memory_scripts", "maxmemory",
"mem_clients_normal", "mem_clients_slaves", "rdb_changes_since_last_save", "total_connections_received",
    "total_commands_processed", "instantaneous_ops_per_sec", "total_net_input_bytes", "total_net_output_bytes",
    "rejected_connections", "sync_full", "sync_partial_ok", "sync_partial_err", "expired_keys", "evicted_keys", "evicted_clients",
    "keyspace_hits", "keyspace_misses", "pubsub_channels", "pubsub_patterns", "pubsubshard_channels", "total_forks",
    "total_error_replies", "total_reads_processed", "total_writes_processed", "unexpected_error_replies", "connected_slaves",
    "migrate_cached_sockets", "active_defrag_hits", "active_defrag_misses", "lazyfreed_objects",
};
static const char *const largest[] = {"loading", "rdb_bgsave_in_progress", "aof_rewrite_in_progress", "uptime_in_seconds",
                                      "uptime_in_days", "latest_fork_usec"};

/* Figures that have no sum: one node's value stands for all. */
static const char *const alike[] = {"redis_version", "redis_git_sha1", "redis_git_dirty", "redis_build_id", "arch_bits", "gcc_version",
                                    "hz", "configured_hz", "io_threads_active", "cluster_enabled", "aof_enabled", "repl_backlog_size"};

static bool shard_info_among(const struct line *line, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i]) == line->name && memcmp(names[i], line->data, line->name) == 0) return true;
    }
    return false;
}

/* The line that begins there; returns where the next one does. */
static size_t shard_info_line_at(const struct shard_text *text, size_t at, struct line *line) {
    const char *start = text->data + at;
    const char *end = memchr(start, '\n', text->size - at);
    size_t size = end ? (size_t)(end - start) : text->size - at;
    size_t next = at + size + (end ? 1 : 0);
    if (size && start[size - 1] == '\r') size--;
    const char *colon = memchr(start, ':', size);
    *line = (struct line){start, size, colon ? (size_t)(colon - start) : 0};
    return next;
}

static bool shard_info_find(const struct shard_text *text, const struct line *like, struct line *found) {
    for (size_t at = 0; at < text->size;) {
        at = shard_info_line_at(text, at, found);
        if (found->name == like->name && memcmp(found->data, like->data, like->name) == 0) return true;
    }
    return false;
}

static long long shard_info_value_of(const struct line *line) {
    return strtoll(line->data + line->name + 1, NULL, 10);
}

static bool shard_info_same(const struct line *one, const struct line *other) {
    return one->size == other->size && memcmp(one->data, other->data, one->size) == 0;
}

/* A figure that is not known to be one of all, and not nothing, would be taken for their sum. */
static bool shard_info_may_mislead(const struct line *line) {
    if (shard_info_among(line, alike, sizeof alike / sizeof *alike) || line->size <= line->name + 1) return false;
    return strtod(line->data + line->name + 1, NULL) != 0;
}

static bool shard_info_all_same(const struct shard_text *texts, uint32_t count, const struct line *line) {
    struct line other;
    for (uint32_t i = 1; i < count; i++) {
        if (!shard_info_find(&texts[i], line, &other) || !shard_info_same(line, &other)) return false;
    }
    return true;
}

/* Nodes that say anything may say more than there is room for: the rest is left out. */
static void shard_info_add(struct shard_buffer *to, const char *data, size_t size) {
    if (size > to->room - to->size) return;
    memcpy(to->bytes + to->size, data, size);
    to->size += size;
}

static void shard_info_add_line(struct shard_buffer *to, const struct line *line) {
    shard_info_add(to, line->data, line->size);
    shard_info_add(to, "\r\n", 2);
}

static void shard_info_add_number(struct shard_buffer *to, const struct line *line, long long number) {
    char digits[32];
    int size = snprintf(digits, sizeof digits, ":%lld\r\n", number);
    shard_info_add(to, line->data, line->name);
    shard_info_add(to, digits, (size_t)size);
}

/* A node may say any number: the sum is the largest or least that there is, then. */
static long long shard_info_plus(long long one, long long other) {
    long long sum;
    return __builtin_add_overflow(one, other, &sum) ? (other < 0 ? LLONG_MIN : LLONG_MAX) : sum;
}

/* A figure of all. */
static long long shard_info_combine(const struct shard_text *texts, uint32_t count, const struct line *line, bool sum) {
    long long number = shard_info_value_of(line);
    struct line other;
    for (uint32_t i = 1; i < count; i++) {
        if (!shard_info_find(&texts[i], line, &other)) continue;
        long long more = shard_info_value_of(&other);
        number = sum ? shard_info_plus(number, more) : more > number ? more : number;
    }
    return number;
}

static long long shard_info_part_of(const struct line *line, const char *name) {
    const char *at = memmem(line->data, line->size, name, strlen(name));
    return at ? strtoll(at + strlen(name), NULL, 10) : 0;
}

/* "db0:keys=3,expires=1,avg_ttl=5", which only nodes with keys have: the average is that of the keys that expire. */
static void shard_info_add_keyspace(struct shard_buffer *to, const struct shard_text *texts, uint32_t count) {
    static const struct line base = {"db0", 3, 3};
    long long keys = 0, expires = 0;
    double ttl = 0;
    struct line line;
    for (uint32_t i = 0; i < count; i++) {
        if (!shard_info_find(&texts[i], &base, &line)) continue;
        keys = shard_info_plus(keys, shard_info_part_of(&line, "keys="));
        expires = shard_info_plus(expires, shard_info_part_of(&line, "expires="));
        ttl += (double)shard_info_part_of(&line, "avg_ttl=") * (double)shard_info_part_of(&line, "expires=");
    }
    if (!keys) return;
    char text[160];
    int size = snprintf(text, sizeof text, "db0:keys=%lld,expires=%lld,avg_ttl=%.0f\r\n", keys, expires,
                        expires ? ttl / (double)expires : 0);
    shard_info_add(to, text, (size_t)size);
}

static bool shard_info_begins(const struct line *line, const char *prefix) {
    size_t size = strlen(prefix);
    return line->name > size && memcmp(line->data, prefix, size) == 0;
}

/* "calls=3" of all nodes; the mean is computed again. */
static void shard_info_add_field(struct shard_buffer *to, const struct shard_text *texts, uint32_t count,
                                 const struct line *line,
                                 const char *field) {
    enum { FIELD = 64 };
    char text[FIELD];
    long long number = 0, calls = 0;
    bool mean = strcmp(field, "usec_per_call=") == 0;
    struct line other;
    for (uint32_t i = 0; i < count; i++) {
        if (!shard_info_find(&texts[i], line, &other)) continue;
        number = shard_info_plus(number, shard_info_part_of(&other, mean ? "usec=" : field));
        calls = shard_info_plus(calls, shard_info_part_of(&other, "calls="));
    }
    shard_info_add(to, field, strlen(field));
    int size = mean ? snprintf(text, FIELD, "%.2f", calls ? (double)number / (double)calls : 0) : snprintf(text, FIELD, "%lld", number);
    shard_info_add(to, text, (size_t)size);
}

/* "cmdstat_get:calls=3,usec=9,usec_per_call=3.00": of a node that has had it. */
static void shard_info_add_statistics(struct shard_buffer *to, const struct shard_text *texts, uint32_t count,
                                      const struct line *line) {
    enum { NAME = 32 };
    char field[NAME];
    const char *end = line->data + line->size;
    shard_info_add(to, line->data, line->name);
    for (const char *at = line->data + line->name + 1; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *equal = memchr(at, '=', (size_t)(end - at));
        if (!equal || equal - at + 2 > NAME) break;
        memcpy(field, at, (size_t)(equal - at + 1));
        field[equal - at + 1] = 0;
        shard_info_add(to, at == line->data + line->name + 1 ? ":" : ",", 1);
        shard_info_add_field(to, texts, count, line, field);
        at = comma ? comma + 1 : end;
    }
    shard_info_add(to, "\r\n", 2);
}

/* Each node lists only the commands that it has had. */
static void shard_info_add_all_statistics(struct shard_buffer *to, const struct shard_text *texts, uint32_t count,
                                          const char *prefix) {
    struct line line, other;
    for (uint32_t i = 0; i < count; i++) {
        for (size_t at = 0; at < texts[i].size;) {
            at = shard_info_line_at(&texts[i], at, &line);
            bool first = shard_info_begins(&line, prefix);
            for (uint32_t j = 0; j < i && first; j++) first = !shard_info_find(&texts[j], &line, &other);
            if (first) shard_info_add_statistics(to, texts, count, &line);
        }
    }
}

static bool shard_info_is_header(const struct line *line, const char *name) {
    return line->size == strlen(name) && memcmp(line->data, name, line->size) == 0;
}

static void shard_info_merge_line(struct shard_buffer *to, const struct shard_text *texts, uint32_t count,
                                  const struct line *line) {
    bool base = line->name == 3 && memcmp(line->data, "db0", 3) == 0;
    bool sum = shard_info_among(line, sums, sizeof sums / sizeof *sums);
    if (base || shard_info_begins(line, "cmdstat_") || shard_info_begins(line, "errorstat_")) return;
    if (line->name == 0) shard_info_add_line(to, line);
    else if (sum || shard_info_among(line, largest, sizeof largest / sizeof *largest))
        shard_info_add_number(to, line, shard_info_combine(texts, count, line, sum));
    else if (!shard_info_may_mislead(line) && shard_info_all_same(texts, count, line)) shard_info_add_line(to, line);
    if (shard_info_is_header(line, "# Keyspace")) shard_info_add_keyspace(to, texts, count);
    else if (shard_info_is_header(line, "# Commandstats")) shard_info_add_all_statistics(to, texts, count, "cmdstat_");
    else if (shard_info_is_header(line, "# Errorstats")) shard_info_add_all_statistics(to, texts, count, "errorstat_");
}

struct shard_buffer *shard_info_merge(const struct shard_text *texts, uint32_t count) {
    enum { LONGER = 128 /* a line, at most */, KEYSPACE = 256 };
    size_t lines = 1, size = 0;
    for (uint32_t text = 0; text < count; text++) {
        size += texts[text].size;
        for (size_t i = 0; i < texts[text].size; i++) lines += texts[text].data[i] == '\n';
    }
    struct shard_buffer *to = shard_buffer_new(size + lines * LONGER + KEYSPACE);
    if (!to) return NULL;

    struct line line;
    for (size_t at = 0; at < texts[0].size;) {
        at = shard_info_line_at(&texts[0], at, &line);
        shard_info_merge_line(to, texts, count, &line);
    }
    return to;
}
