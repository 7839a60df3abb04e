/* Connections to nodes that begin in the same way. See shard_session.h. */
#include "shard_pool.h"
#include "shard_link.h"
#include "../shard_plane/shard_tls.h"
#include "../shard_plane/shard_topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { WORDS = 5, READ = 1024, MESSAGE = 256 };

/* ---- what they begin with ---- */

static size_t shard_pool_put_command(char *to, const char *const *words, uint32_t count) {
    char header[RESP_HEADER];
    size_t size = resp_write_header(header, '*', count);
    if (to) memcpy(to, header, size);
    for (uint32_t i = 0; i < count; i++) {
        size_t length = strlen(words[i]);
        size_t head = resp_write_header(header, '$', length);
        if (to) {
            memcpy(to + size, header, head);
            memcpy(to + size + head, words[i], length);
            memcpy(to + size + head + length, "\r\n", 2);
        }
        size += head + length + 2;
    }
    return size;
}

/* HELLO 3 [AUTH user password], or AUTH [user] password, or nothing. */
static uint32_t shard_pool_greeting_words(const struct shard_worker *worker, const struct shard_pool *pool,
                                          const char *words[WORDS]) {
    const struct shard_settings *settings = &worker->shard->settings;
    const char *user = pool->user ? pool->user : settings->node_user;
    const char *password = pool->user ? pool->password : settings->node_password;
    bool authenticates = pool->user || *password;
    uint32_t count = 0;
    if (pool->resp3) {
        words[count++] = "HELLO";
        words[count++] = "3";
        if (!*user) user = "default";
    }
    if (!authenticates) return count;
    words[count++] = "AUTH";
    if (*user) words[count++] = user;
    words[count++] = password;
    return count;
}

/* A replica of a cluster answers only after READONLY; for a master that command changes nothing. */
static bool shard_pool_make_greeting(const struct shard_worker *worker, struct shard_pool *pool) {
    static const char *const reads[] = {"READONLY"};
    const char *words[WORDS];
    const struct shard_settings *settings = &worker->shard->settings;
    bool replicas = settings->cluster && settings->reads != SHARD_READS_MASTER;
    uint32_t count = shard_pool_greeting_words(worker, pool, words);
    pool->greetings = (count != 0) + replicas;
    if (!pool->greetings) return true;

    size_t size = count ? shard_pool_put_command(NULL, words, count) : 0;
    pool->greeting_size = size + (replicas ? shard_pool_put_command(NULL, reads, 1) : 0);
    pool->greeting = malloc(pool->greeting_size);
    if (pool->greeting && count) shard_pool_put_command(pool->greeting, words, count);
    if (pool->greeting && replicas) shard_pool_put_command(pool->greeting + size, reads, 1);
    return pool->greeting != NULL;
}

static bool shard_pool_say(const struct shard_link *link, const char *bytes, size_t size) {
    if (!size) return true;
    ssize_t sent = link->tls ? shard_tls_send(link->tls, bytes, size) : send(link->socket, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent >= 0 && (size_t)sent == size;
}

static void shard_pool_greeted(struct shard_worker *worker, struct shard_link *link) {
    struct shard_link *shared = shard_link_shared(worker, link);
    link->state = SHARD_UP;
    free(shared->barred);
    shared->barred = NULL;
}

/*
 * The fence and the greeting one after the other, not at once: from Redis 7.2 on, the refusal of a password is lost behind replies
 * that are not sent yet (https://github.com/redis/redis/issues/15640).
 */
static bool shard_pool_say_next(const struct shard_link *link) {
    if (link->fences) return shard_pool_say(link, link->node->fence, link->node->fence_size);
    return shard_pool_say(link, link->pool->greeting, link->pool->greeting_size);
}

void shard_link_greet(struct shard_worker *worker, struct shard_link *link) {
    const struct shard_pool *pool = link->pool;
    const struct shard_node *node = link->node;
    if (!node->fence_size && !pool->greeting_size) {
        shard_pool_greeted(worker, link);
        return;
    }
    link->state = SHARD_GREETING;
    link->fences = node->fences;
    link->greetings = pool->greetings;
    if (!shard_pool_say_next(link)) shard_link_give_up(worker, link, "does not take the shard's greeting");
}

static bool shard_pool_begins_with(const char *reply, size_t size, const char *code) {
    size_t length = strlen(code);
    return size > length && memcmp(reply + 1, code, length) == 0;
}

/*
 * Keys have moved, and this placement is not the node's any longer. A node that can't say so now is asked again later, but for what
 * ends the script that keeps it busy, which touches no key. One that refuses the question (its ACL, one database only) is used
 * without a fence.
 */
static bool shard_pool_is_barred(struct shard_worker *worker, struct shard_link *link, const char *reply, size_t size) {
    static const char *const passing[] = {"LOADING", "BUSY", "MASTERDOWN"};
    char error[MESSAGE * 2];
    size_t length = size < MESSAGE * 2 - 32 ? size : MESSAGE * 2 - 32;
    while (length && (reply[length - 1] == '\r' || reply[length - 1] == '\n')) length--;
    if (reply[0] != '-') { /* its beginning came before, and is lost */
        shard_link_give_up(worker, link, "has answered the shard's fence in pieces");
        return true;
    }
    if (shard_pool_begins_with(reply, size, "PLAITMOVED")) {
        struct shard_link *shared = shard_link_shared(worker, link);
        snprintf(error, sizeof error, "refuses the shard: %.*s", (int)length - 1, reply + 1);
        free(shared->barred);
        shared->barred = strdup(error);
        shard_link_give_up(worker, link, error);
        return true;
    }
    if (shard_pool_begins_with(reply, size, "BUSY") && shard_link_is_about_scripts(link)) {
        link->unfenced = true;
        return false;
    }
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++) {
        if (!shard_pool_begins_with(reply, size, passing[i])) continue;
        snprintf(error, sizeof error, "%.*s\r\n", (int)length, reply);
        shard_link_abandon(worker, link, error);
        return true;
    }
    return false;
}

/* A user's wrong password is reported in the node's words; for the shard's own password the error names the shard. */
static void shard_pool_refused(struct shard_worker *worker, struct shard_link *link, const char *reply, size_t size) {
    char error[MESSAGE * 2];
    size_t length = size < MESSAGE ? size : MESSAGE;
    while (length && (reply[length - 1] == '\r' || reply[length - 1] == '\n')) length--;
    if (link->pool->user) {
        snprintf(error, sizeof error, "%.*s\r\n", (int)length, reply);
        shard_link_abandon(worker, link, error);
    } else {
        snprintf(error, sizeof error, "refuses the shard: %.*s", (int)length, reply);
        shard_link_give_up(worker, link, error);
    }
}

static void shard_pool_take_answers(struct shard_worker *worker, struct shard_link *link, const char *data, size_t size) {
    while (size) {
        size_t used;
        int event = resp_reply_scan(&link->scan, data, size, &used);
        if (event < 0 || link->fences + link->greetings == 0) {
            shard_link_give_up(worker, link, "has sent what is no reply");
            return;
        }
        if (event == RESP_REPLY) {
            bool fence = link->fences != 0;
            bool error = link->scan.type == '-';
            resp_reply_start(&link->scan, &worker->shard->settings.limits); /* an error from now on belongs to the waiting requests */
            if (error && !fence) {
                shard_pool_refused(worker, link, data, used);
                return;
            }
            if (error && shard_pool_is_barred(worker, link, data, used)) return;
            if (!fence) link->greetings--;
            else if (--link->fences == 0 && !shard_pool_say_next(link)) {
                shard_link_give_up(worker, link, "does not take the shard's greeting");
                return;
            }
        }
        data += used;
        size -= used;
    }
    if (link->fences + link->greetings == 0) shard_pool_greeted(worker, link);
}

void shard_link_greeted(struct shard_worker *worker, struct shard_link *link) {
    char data[READ];
    ssize_t size = shard_receive(worker, link->socket, link->tls, data, sizeof data);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    link->since = worker->now;
    if (size > 0) shard_pool_take_answers(worker, link, data, (size_t)size);
    else shard_link_give_up(worker, link, "has closed the connection");
}

/* ---- pools ---- */

static bool shard_pool_open_links(struct shard_worker *worker, struct shard_pool *pool) {
    pool->worker = worker;
    for (uint32_t i = 0; i < worker->shard->settings.node_count; i++) {
        pool->links[i].kind = SHARD_LINK;
        pool->links[i].socket = -1;
        pool->links[i].node = &worker->shard->settings.nodes[i];
        pool->links[i].pool = pool;
    }
    return shard_pool_make_greeting(worker, pool);
}

bool shard_pool_open(struct shard_worker *worker) {
    worker->pool.links = worker->links;
    return shard_pool_open_links(worker, &worker->pool);
}

static bool shard_pool_is(const struct shard_pool *pool, const char *user, const char *password, bool resp3) {
    if (pool->resp3 != resp3 || !pool->user != !user) return false;
    return !user || (strcmp(pool->user, user) == 0 && strcmp(pool->password, password) == 0);
}

static void shard_pool_free(struct shard_worker *worker, struct shard_pool *pool) {
    for (uint32_t i = 0; pool->links && i < worker->shard->settings.node_count; i++) {
        if (pool->links[i].pool) shard_link_close(worker, &pool->links[i]);
    }
    free(pool->links);
    free(pool->user);
    free(pool->password);
    free(pool->greeting);
    free(pool);
}

struct shard_pool *shard_pool_find(struct shard_worker *worker, const char *user, const char *password, bool resp3) {
    for (struct shard_pool *pool = &worker->pool; pool; pool = pool->next) {
        if (shard_pool_is(pool, user, password, resp3)) return pool;
    }
    struct shard_pool *pool = calloc(1, sizeof *pool);
    if (!pool) return NULL;

    pool->resp3 = resp3;
    pool->user = user ? strdup(user) : NULL;
    pool->password = user ? strdup(password) : NULL;
    pool->links = calloc(worker->shard->settings.node_count, sizeof *pool->links);
    if (!pool->links || (user && (!pool->user || !pool->password)) || !shard_pool_open_links(worker, pool)) {
        shard_pool_free(worker, pool);
        return NULL;
    }
    pool->next = worker->pool.next;
    worker->pool.next = pool;
    return pool;
}

/* Whether a request waits for one of its connections, or one is in a list. */
static bool shard_pool_is_used(const struct shard_worker *worker, const struct shard_pool *pool) {
    for (uint32_t i = 0; i < worker->topology->known; i++) {
        const struct shard_link *link = &pool->links[i];
        if (link->touched || link->timed || link->head != link->tail) return true;
    }
    return false;
}

void shard_pools_free(struct shard_worker *worker) {
    struct shard_pool **at = &worker->pool.next;
    worker->deserted = false;
    while (*at) {
        struct shard_pool *pool = *at;
        if (pool->users || shard_pool_is_used(worker, pool)) {
            worker->deserted |= !pool->users;
            at = &pool->next;
        } else {
            *at = pool->next;
            shard_pool_free(worker, pool);
        }
    }
}

void shard_pools_close(struct shard_worker *worker) {
    while (worker->pool.next) {
        struct shard_pool *pool = worker->pool.next;
        worker->pool.next = pool->next;
        shard_pool_free(worker, pool);
    }
    free(worker->pool.greeting);
    worker->pool.greeting = NULL;
}
