/* Connections to nodes that begin in the same way. See shard_session.h. */
#include "shard_link.h"
#include "shard_session.h"
#include "shard_tls.h"
#include "shard_topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { WORDS = 5, READ = 1024, MESSAGE = 256 };

/* ---- what they begin with ---- */

static size_t shard_lane_put_command(char *to, const char *const *words, uint32_t count) {
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
static uint32_t shard_lane_greeting_words(const struct shard_worker *worker, const struct shard_lane *lane,
                                          const char *words[WORDS]) {
    const struct shard_settings *settings = &worker->shard->settings;
    const char *user = lane->user ? lane->user : settings->node_user;
    const char *password = lane->user ? lane->password : settings->node_password;
    bool authenticates = lane->user || *password;
    uint32_t count = 0;
    if (lane->resp3) {
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

/* A replica of a cluster answers only those who say that they know what it is; at a master that says nothing. */
static bool shard_lane_make_greeting(const struct shard_worker *worker, struct shard_lane *lane) {
    static const char *const reads[] = {"READONLY"};
    const char *words[WORDS];
    const struct shard_settings *settings = &worker->shard->settings;
    bool replicas = settings->cluster && settings->reads != SHARD_READS_MASTER;
    uint32_t count = shard_lane_greeting_words(worker, lane, words);
    lane->greetings = (count != 0) + replicas;
    if (!lane->greetings) return true;

    size_t size = count ? shard_lane_put_command(NULL, words, count) : 0;
    lane->greeting_size = size + (replicas ? shard_lane_put_command(NULL, reads, 1) : 0);
    lane->greeting = malloc(lane->greeting_size);
    if (lane->greeting && count) shard_lane_put_command(lane->greeting, words, count);
    if (lane->greeting && replicas) shard_lane_put_command(lane->greeting + size, reads, 1);
    return lane->greeting != NULL;
}

static bool shard_lane_say(const struct shard_link *link, const char *bytes, size_t size) {
    if (!size) return true;
    ssize_t sent = link->tls ? shard_tls_send(link->tls, bytes, size) : send(link->socket, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent >= 0 && (size_t)sent == size;
}

static void shard_lane_greeted(struct shard_worker *worker, struct shard_link *link) {
    struct shard_link *shared = shard_link_shared(worker, link);
    link->state = SHARD_UP;
    free(shared->barred);
    shared->barred = NULL;
}

void shard_link_greet(struct shard_worker *worker, struct shard_link *link) {
    const struct shard_lane *lane = link->lane;
    const struct shard_node *node = link->node;
    if (!node->fence_size && !lane->greeting_size) {
        shard_lane_greeted(worker, link);
        return;
    }
    link->state = SHARD_GREETING;
    link->fences = node->fences;
    link->greetings = lane->greetings;
    bool said = shard_lane_say(link, node->fence, node->fence_size) &&
        shard_lane_say(link, lane->greeting, lane->greeting_size);
    if (!said) shard_link_give_up(worker, link, "does not take the shard's greeting");
}

static bool shard_lane_begins_with(const char *reply, size_t size, const char *code) {
    size_t length = strlen(code);
    return size > length && memcmp(reply + 1, code, length) == 0;
}

/*
 * Keys have moved, and this placement is not the node's any longer. A node that can't say so now is asked again later, but for what
 * ends the script that keeps it busy, which touches no key. One that refuses the question (its ACL, one database only) is used
 * without a fence.
 */
static bool shard_lane_is_barred(struct shard_worker *worker, struct shard_link *link, const char *reply, size_t size) {
    static const char *const passing[] = {"LOADING", "BUSY", "MASTERDOWN"};
    char error[MESSAGE * 2];
    size_t length = size < MESSAGE * 2 - 32 ? size : MESSAGE * 2 - 32;
    while (length && (reply[length - 1] == '\r' || reply[length - 1] == '\n')) length--;
    if (reply[0] != '-') { /* its beginning came before, and is lost */
        shard_link_give_up(worker, link, "has told in pieces what it thinks of the shard's placement");
        return true;
    }
    if (shard_lane_begins_with(reply, size, "PLAITMOVED")) {
        struct shard_link *shared = shard_link_shared(worker, link);
        snprintf(error, sizeof error, "refuses the shard: %.*s", (int)length - 1, reply + 1);
        free(shared->barred);
        shared->barred = strdup(error);
        shard_link_give_up(worker, link, error);
        return true;
    }
    if (shard_lane_begins_with(reply, size, "BUSY") && shard_link_is_about_scripts(link)) {
        link->unfenced = true;
        return false;
    }
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++) {
        if (!shard_lane_begins_with(reply, size, passing[i])) continue;
        snprintf(error, sizeof error, "%.*s\r\n", (int)length, reply);
        shard_link_abandon(worker, link, error);
        return true;
    }
    return false;
}

/* A user's wrong password is told as the node has said it; of the shard's own it says whose it is. */
static void shard_lane_refused(struct shard_worker *worker, struct shard_link *link, const char *reply, size_t size) {
    char error[MESSAGE * 2];
    size_t length = size < MESSAGE ? size : MESSAGE;
    while (length && (reply[length - 1] == '\r' || reply[length - 1] == '\n')) length--;
    if (link->lane->user) {
        snprintf(error, sizeof error, "%.*s\r\n", (int)length, reply);
        shard_link_abandon(worker, link, error);
    } else {
        snprintf(error, sizeof error, "refuses the shard: %.*s", (int)length, reply);
        shard_link_give_up(worker, link, error);
    }
}

static void shard_lane_take_answers(struct shard_worker *worker, struct shard_link *link, const char *data, size_t size) {
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
            resp_reply_start(&link->scan, &worker->shard->settings.limits); /* what fails now is of those who wait */
            if (error && !fence) {
                shard_lane_refused(worker, link, data, used);
                return;
            }
            if (error && shard_lane_is_barred(worker, link, data, used)) return;
            if (fence) link->fences--;
            else link->greetings--;
        }
        data += used;
        size -= used;
    }
    if (link->fences + link->greetings == 0) shard_lane_greeted(worker, link);
}

void shard_link_greeted(struct shard_worker *worker, struct shard_link *link) {
    char data[READ];
    ssize_t size = shard_receive(worker, link->socket, link->tls, data, sizeof data);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    link->since = worker->now;
    if (size > 0) shard_lane_take_answers(worker, link, data, (size_t)size);
    else shard_link_give_up(worker, link, "has closed the connection");
}

/* ---- lanes ---- */

static bool shard_lane_open_links(struct shard_worker *worker, struct shard_lane *lane) {
    lane->worker = worker;
    for (uint32_t i = 0; i < worker->shard->settings.node_count; i++) {
        lane->links[i].kind = SHARD_LINK;
        lane->links[i].socket = -1;
        lane->links[i].node = &worker->shard->settings.nodes[i];
        lane->links[i].lane = lane;
    }
    return shard_lane_make_greeting(worker, lane);
}

bool shard_lane_open(struct shard_worker *worker) {
    worker->lane.links = worker->links;
    return shard_lane_open_links(worker, &worker->lane);
}

static bool shard_lane_is(const struct shard_lane *lane, const char *user, const char *password, bool resp3) {
    if (lane->resp3 != resp3 || !lane->user != !user) return false;
    return !user || (strcmp(lane->user, user) == 0 && strcmp(lane->password, password) == 0);
}

static void shard_lane_free(struct shard_worker *worker, struct shard_lane *lane) {
    for (uint32_t i = 0; lane->links && i < worker->shard->settings.node_count; i++) {
        if (lane->links[i].lane) shard_link_close(worker, &lane->links[i]);
    }
    free(lane->links);
    free(lane->user);
    free(lane->password);
    free(lane->greeting);
    free(lane);
}

struct shard_lane *shard_lane_find(struct shard_worker *worker, const char *user, const char *password, bool resp3) {
    for (struct shard_lane *lane = &worker->lane; lane; lane = lane->next) {
        if (shard_lane_is(lane, user, password, resp3)) return lane;
    }
    struct shard_lane *lane = calloc(1, sizeof *lane);
    if (!lane) return NULL;

    lane->resp3 = resp3;
    lane->user = user ? strdup(user) : NULL;
    lane->password = user ? strdup(password) : NULL;
    lane->links = calloc(worker->shard->settings.node_count, sizeof *lane->links);
    if (!lane->links || (user && (!lane->user || !lane->password)) || !shard_lane_open_links(worker, lane)) {
        shard_lane_free(worker, lane);
        return NULL;
    }
    lane->next = worker->lane.next;
    worker->lane.next = lane;
    return lane;
}

/* Whether somebody waits there, or it is in a list. */
static bool shard_lane_is_used(const struct shard_worker *worker, const struct shard_lane *lane) {
    for (uint32_t i = 0; i < worker->topology->known; i++) {
        const struct shard_link *link = &lane->links[i];
        if (link->touched || link->timed || link->head != link->tail) return true;
    }
    return false;
}

void shard_lanes_free(struct shard_worker *worker) {
    struct shard_lane **at = &worker->lane.next;
    worker->deserted = false;
    while (*at) {
        struct shard_lane *lane = *at;
        if (lane->users || shard_lane_is_used(worker, lane)) {
            worker->deserted |= !lane->users;
            at = &lane->next;
        } else {
            *at = lane->next;
            shard_lane_free(worker, lane);
        }
    }
}

void shard_lanes_close(struct shard_worker *worker) {
    while (worker->lane.next) {
        struct shard_lane *lane = worker->lane.next;
        worker->lane.next = lane->next;
        shard_lane_free(worker, lane);
    }
    free(worker->lane.greeting);
    worker->lane.greeting = NULL;
}
