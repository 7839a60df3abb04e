/* See shard_redirect.h. */
#include "shard_redirect.h"
#include "../shard_client/shard_kept.h"
#include "shard_link.h"
#include "../shard_client/shard_merge.h"
#include "../shard_plane/shard_pin.h"
#include "shard_pinned.h"
#include "../shard_plane/shard_topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 512, ERROR = 256, AT_ONCE = 4 /* tries, before each waits a little */, PLACES = 16384 };

static const double PAUSE = 0.02;  /* seconds between two tries */
static const double ENDS = 2;      /* seconds until no more are made … */
static const double ENDS_DOWN = 1; /* … where no node has the slot */
static const double MOVING = 5;    /* seconds for which slots are taken to be on the move after one was */
static const char ASKING[] = "*1\r\n$6\r\nASKING\r\n";

/* The other retries that a retry keeps in their order: the retries with the same one of PLACES, … */
enum { EVERY = PLACES /* … all, as it may be for any key, … */, NONE /* … or none: it only reads, from a replica, which may be late */ };

enum retry_state { RETRY_WAITS, RETRY_ASKED, RETRY_DONE };

struct shard_retry {
    struct shard_retry *next;    /* of its client's, in the order of its requests */
    struct shard_request *request;
    struct shard_rope bytes; /* of its command, as the client's was sent; none: they were not kept */
    uint32_t part;
    uint32_t replies;        /* that come before its own, and go to no client */
    uint32_t node;           /* the node to ask; SHARD_NOBODY: not known yet */
    uint32_t place;          /* its slot, or SHARD_NOBODY */
    uint32_t from;           /* the node that has sent the error */
    uint32_t order;          /* see EVERY */
    uint8_t state;           /* enum retry_state */
    uint8_t turn;            /* enum shard_turn */
    uint8_t tries;
    bool waits;              /* on a connection of its own */
    double since;            /* when it was redirected for the first time */
    double again_at;         /* before then it is not asked again */
    char error[ERROR];       /* that the client gets when nothing helps */
};

/* ---- what an error says ---- */

static bool shard_redirect_begins_with(const char *line, const char *word) {
    return strncmp(line, word, strlen(word)) == 0;
}

static enum shard_turn shard_redirect_turn_of(const struct shard_worker *worker, const struct shard_link *link,
                                              const char *line) {
    const struct shard_settings *settings = &worker->shard->settings;
    uint32_t node = (uint32_t)(link->node - settings->nodes);
    if (settings->cluster) {
        if (shard_redirect_begins_with(line, "-MOVED ")) return SHARD_MOVED;
        if (shard_redirect_begins_with(line, "-ASK ")) return SHARD_ASKED;
        if (shard_redirect_begins_with(line, "-TRYAGAIN")) return SHARD_LATER;
        if (shard_redirect_begins_with(line, "-CLUSTERDOWN")) return SHARD_DOWNTURN;
    } else if (settings->watched && shard_redirect_begins_with(line, "-READONLY")) {
        return SHARD_DEMOTED;
    }
    bool unready = shard_redirect_begins_with(line, "-LOADING") || shard_redirect_begins_with(line, "-MASTERDOWN");
    return unready && shard_successor(worker, node) != node ? SHARD_UNREADY : SHARD_NO_TURN;
}

/* "-MOVED 3999 127.0.0.1:6381": without a host it is that of the node which says so. */
static void shard_redirect_read_target(const struct shard_worker *worker, const struct shard_link *link, char *line,
                                       uint32_t *place, uint32_t *node) {
    char label[SHARD_LABEL + 8], *end;
    const char *from = strchr(line, ' ') + 1;
    unsigned long slot = strtoul(from, &end, 10);
    char *host = *end == ' ' ? end + 1 : end;
    host[strcspn(host, " \r\n")] = 0;
    char *port = strrchr(host, ':');
    *place = slot < worker->topology->placement.count ? (uint32_t)slot : SHARD_NOBODY;
    *node = SHARD_NOBODY;
    if (!port || strlen(host) >= SHARD_LABEL) return;

    const char *own = link->node->label;
    bool six = strchr(host, ':') != port;
    if (port == host) snprintf(label, sizeof label, "%.*s%s", (int)(strrchr(own, ':') - own), own, port);
    else snprintf(label, sizeof label, six ? "[%.*s]%s" : "%.*s%s", (int)(port - host), host, port);
    *node = shard_topology_find(worker, label);
}

/* ---- what is made of it ---- */

static void shard_redirect_describe(struct shard_retry *retry, const struct shard_link *link, const char *line) {
    bool elsewhere = retry->turn == SHARD_MOVED || retry->turn == SHARD_ASKED;
    if (elsewhere && !retry->bytes.first) {
        snprintf(retry->error, ERROR, "-ERR node %s no longer has the keys, and the shard has not kept the command: send it again; "
                 "nothing was done\r\n", link->node->label);
    } else if (elsewhere) {
        snprintf(retry->error, ERROR, "-ERR node %s says that it does not have slot %u, and no node has it; nothing was done\r\n",
                 link->node->label, retry->place);
    } else {
        snprintf(retry->error, ERROR, "%.*s\r\n", (int)strcspn(line, "\r\n"), line);
    }
}

static void shard_redirect_take_bytes(struct shard_worker *worker, struct shard_link *link, const struct shard_waiter *waiter,
                                      struct shard_retry *retry) {
    bool last = link->head + 1 == link->tail;
    uint64_t end = last ? link->kept_to : link->waiters[(link->head + 1) & (link->room - 1)].at;
    if (!shard_kept_take(worker, link, waiter->at, end, &retry->bytes)) shard_rope_clear(&retry->bytes, &worker->blocks);
    else if (waiter->asks) shard_rope_drop(&retry->bytes, &worker->blocks, sizeof ASKING - 1);
}

static void shard_redirect_tell_of_it(struct shard_worker *worker, const struct shard_link *link) {
    if (link->turn == SHARD_MOVED || link->turn == SHARD_ASKED || link->turn == SHARD_LATER) worker->moving_until = worker->now + MOVING;
    bool known = link->turn == SHARD_ASKED && link->turn_node != SHARD_NOBODY;
    if (!known && link->turn != SHARD_LATER && link->turn != SHARD_UNREADY) shard_topology_doubt(worker);
}

/* A client that watches keys there would watch in vain. */
static enum shard_verdict shard_redirect_give_up(struct shard_worker *worker, struct shard_link *link, const char *error) {
    shard_link_abandon(worker, link, error);
    return SHARD_HOLD;
}

/* A request that was redirected before keeps its place before the requests behind it. */
static struct shard_retry *shard_redirect_retry_of(struct shard_worker *worker, const struct shard_waiter *waiter) {
    struct shard_client *client = waiter->request->client;
    struct shard_retry *retry = waiter->retry ? waiter->retry : calloc(1, sizeof *retry);
    if (!retry || waiter->retry) return retry;

    *retry = (struct shard_retry){.request = waiter->request, .part = waiter->part, .order = EVERY, .since = worker->now};
    if (client->retries) *client->retries_end = retry;
    else client->retries = retry;
    client->retries_end = &retry->next;
    return retry;
}

/* Where a cluster does not say which slot it is about, it may be any; elsewhere all that one node had goes together. */
static uint32_t shard_redirect_order_of(const struct shard_worker *worker, const struct shard_retry *retry) {
    if (retry->turn == SHARD_UNREADY) return NONE;
    if (!worker->shard->settings.cluster) return retry->from % PLACES;
    return retry->place == SHARD_NOBODY ? retry->order : retry->place % PLACES;
}

static enum shard_verdict shard_redirect_turn_away(struct shard_worker *worker, struct shard_link *link, char *line,
                                                   struct shard_retry **to) {
    struct shard_waiter *waiter = &link->waiters[link->head & (link->room - 1)];
    if (link->pin && link->pin->use != SHARD_PIN_WAITS) {
        shard_redirect_tell_of_it(worker, link);
        link->turn = SHARD_NO_TURN;
        return shard_redirect_give_up(worker, link,
                                      "-ERR the keys that are watched are at another node now: WATCH them again\r\n");
    }
    struct shard_retry *retry = shard_redirect_retry_of(worker, waiter);
    if (!retry) return shard_redirect_give_up(worker, link, "-ERR out of memory\r\n");

    retry->turn = link->turn;
    retry->node = link->turn_node;
    retry->place = link->turn_place;
    retry->from = (uint32_t)(link->node - worker->shard->settings.nodes);
    retry->order = shard_redirect_order_of(worker, retry);
    retry->replies = waiter->skipped - waiter->asks;
    retry->waits = link->pin;
    retry->tries += retry->tries < UINT8_MAX;
    shard_redirect_tell_of_it(worker, link);
    link->turn = SHARD_NO_TURN;
    shard_redirect_take_bytes(worker, link, waiter, retry);
    shard_redirect_describe(retry, link, line);
    *to = retry;
    return SHARD_TURN;
}

/* A whole line; of a transaction it is that of a command in it which counts, as EXEC only says that there was one. */
static enum shard_verdict shard_redirect_judge(struct shard_worker *worker, struct shard_link *link, char *line,
                                               struct shard_retry **retry) {
    const struct shard_waiter *waiter = &link->waiters[link->head & (link->room - 1)];
    enum shard_turn turn = shard_redirect_turn_of(worker, link, line);
    char copy[LINE + 1];
    strcpy(copy, line);
    if (turn) {
        link->turn = turn;
        link->turn_place = link->turn_node = SHARD_NOBODY;
        if (turn == SHARD_MOVED || turn == SHARD_ASKED) {
            shard_redirect_read_target(worker, link, copy, &link->turn_place, &link->turn_node);
        }
    }
    if (waiter->skip) return SHARD_HOLD;
    if (!turn && !shard_redirect_begins_with(line, "-EXECABORT")) link->turn = SHARD_NO_TURN;
    return link->turn && waiter->request ? shard_redirect_turn_away(worker, link, line, retry) : SHARD_PASS;
}

/* No line that we know is as long as this. */
static enum shard_verdict shard_redirect_spill(struct shard_worker *worker, struct shard_link *link, bool last) {
    const struct shard_waiter *waiter = &link->waiters[link->head & (link->room - 1)];
    char line[LINE];
    size_t size = shard_rope_peek(&link->line, line, LINE);
    shard_rope_clear(&link->line, &worker->blocks);
    if (size && !waiter->skip && waiter->request) shard_waiter_feed(worker, waiter, line, size, false);
    link->spilt = !last;
    return SHARD_PASS;
}

enum shard_verdict shard_redirect_look(struct shard_worker *worker, struct shard_link *link, struct shard_bytes bytes, bool last,
                                       struct shard_retry **retry) {
    size_t before = link->line.size;
    if (link->spilt || before + bytes.size > LINE) return shard_redirect_spill(worker, link, last);
    if (!shard_rope_copy(&link->line, &worker->blocks, bytes.data, bytes.size)) {
        return shard_redirect_give_up(worker, link, "-ERR out of memory\r\n");
    }
    if (!last) return SHARD_HOLD;

    char line[LINE + 1];
    line[shard_rope_peek(&link->line, line, LINE)] = 0;
    shard_rope_clear(&link->line, &worker->blocks);
    enum shard_verdict verdict = shard_redirect_judge(worker, link, line, retry);
    const struct shard_waiter *waiter = &link->waiters[link->head & (link->room - 1)];
    if (verdict == SHARD_PASS && before && waiter->request) shard_waiter_feed(worker, waiter, line, before, false);
    return verdict;
}

/* ---- asking again ---- */

/* Its client is to be looked at, and not later than at the end of this turn. */
static void shard_redirect_list(struct shard_worker *worker, struct shard_client *client) {
    worker->retries_due = true;
    if (client->retrying) return;
    client->retrying = true;
    client->next_retrying = worker->retrying;
    worker->retrying = client;
}

/* It is freed when no list refers to it any longer. */
void shard_retry_end(struct shard_worker *worker, struct shard_retry *retry) {
    retry->state = RETRY_DONE;
    worker->retries_due = true;
}

static void shard_redirect_fail(struct shard_worker *worker, struct shard_retry *retry) {
    struct shard_waiter waiter = {.request = retry->request, .part = retry->part};
    shard_retry_end(worker, retry);
    shard_waiter_fail(worker, &waiter, retry->error);
}

/* Where it waits is its own; NULL: there is no memory, and the client is closed. */
static struct shard_link *shard_redirect_link_for(struct shard_worker *worker, const struct shard_retry *retry) {
    struct shard_client *client = retry->request->client;
    if (!retry->waits) return &client->pool->links[retry->node];

    struct shard_call call = {.worker = worker, .client = client};
    struct shard_pin *pin = client->pin ? NULL : shard_pin_take(&call, retry->node, SHARD_PIN_WAITS);
    return pin ? &pin->link : NULL;
}

static void shard_redirect_send_again(struct shard_worker *worker, struct shard_link *link, struct shard_retry *retry) {
    struct shard_waiter *waiter = shard_link_last(link);
    waiter->retry = retry;
    waiter->asks = retry->turn == SHARD_ASKED;
    shard_link_skip(link, retry->replies + waiter->asks);
    bool enough = !waiter->asks || shard_rope_copy(&link->out, &worker->blocks, ASKING, sizeof ASKING - 1);
    enough = shard_rope_pass(&link->out, &retry->bytes, &worker->blocks, retry->bytes.size) && enough;
    if (!enough) shard_link_abandon(worker, link, "-ERR out of memory\r\n");
}

/* Parts that gather have a place for each node, so that answers of two are not mixed up. */
static void shard_redirect_ask(struct shard_worker *worker, struct shard_retry *retry) {
    struct shard_request *request = retry->request;
    struct shard_link *link = shard_redirect_link_for(worker, retry);
    if (!link) {
        shard_redirect_fail(worker, retry);
        return;
    }
    if (request->merge && request->merge->gathers) retry->part = retry->node;
    shard_add(worker, FIGURE_REDIRECTIONS, 1);
    retry->state = RETRY_ASKED;
    if (shard_link_ask(worker, link, request, retry->part)) shard_redirect_send_again(worker, link, retry);
    else shard_retry_end(worker, retry);
    if (link->pin) shard_pin_touch(worker, link->pin);
    if (link->pin && link->pin->client && link->state == SHARD_DOWN) shard_pin_give_back(worker, link->pin);
}

void shard_retry_go(struct shard_worker *worker, struct shard_retry *retry) {
    bool now = retry->turn == SHARD_MOVED || retry->turn == SHARD_ASKED || retry->turn == SHARD_UNREADY;
    if (retry->turn == SHARD_UNREADY) retry->node = shard_successor(worker, retry->from);
    now = now && retry->node != SHARD_NOBODY && retry->tries <= AT_ONCE;
    retry->state = RETRY_WAITS;
    retry->again_at = now ? 0 : worker->now + PAUSE;
    shard_redirect_list(worker, retry->request->client);
    bool over = worker->now - retry->since > (retry->turn == SHARD_DOWNTURN ? ENDS_DOWN : ENDS);
    if (!retry->bytes.first || over) shard_redirect_fail(worker, retry);
}

/* ---- in their order ---- */

void shard_retries_hurry(struct shard_worker *worker) {
    for (struct shard_client *client = worker->retrying; client; client = client->next_retrying) {
        for (struct shard_retry *retry = client->retries; retry; retry = retry->next) retry->again_at = 0;
    }
    worker->retries_due = true;
}

/* Where it is by what is known now. */
static void shard_redirect_try_again(struct shard_worker *worker, struct shard_retry *retry) {
    const struct placement *placement = &worker->topology->placement;
    if (retry->node == SHARD_NOBODY) {
        retry->turn = SHARD_MOVED;
        retry->node = retry->place == SHARD_NOBODY ? shard_successor(worker, retry->from) : placement->points[retry->place].node;
    }
    shard_redirect_ask(worker, retry);
}

/* What the retries that were looked at, which are older, keep from being asked. */
struct older {
    uint64_t places[PLACES / 64];
    bool any;
    bool every;
};

static bool shard_redirect_is_behind(const struct older *older, uint32_t order) {
    if (order == NONE) return false;
    if (order == EVERY) return older->any;
    return older->every || (older->places[order / 64] >> order % 64 & 1);
}

static void shard_redirect_note(struct older *older, uint32_t order) {
    if (order == NONE) return;
    older->any = true;
    if (order == EVERY) older->every = true;
    else older->places[order / 64] |= UINT64_C(1) << order % 64;
}

/* A node may refuse a retry but answer the retries behind it: each waits until the older retries of the same place are answered. */
static void shard_redirect_take_turns(struct shard_worker *worker, struct shard_client *client) {
    struct older older = {.any = false};
    struct shard_retry **at = &client->retries;
    while (*at) {
        struct shard_retry *retry = *at;
        if (retry->state == RETRY_DONE) {
            *at = retry->next;
            shard_rope_clear(&retry->bytes, &worker->blocks);
            free(retry);
            continue;
        }
        bool due = retry->state == RETRY_WAITS && worker->now >= retry->again_at;
        bool gone = client->socket == -1 && retry->state == RETRY_WAITS;
        if (gone) shard_redirect_fail(worker, retry);
        else if (due && !shard_redirect_is_behind(&older, retry->order)) shard_redirect_try_again(worker, retry);
        if (retry->state != RETRY_DONE) shard_redirect_note(&older, retry->order);
        at = &retry->next;
    }
    client->retries_end = at;
}

void shard_retries_turn(struct shard_worker *worker) {
    struct shard_client *list = worker->retrying, *next;
    worker->retrying = NULL;
    worker->retries_due = false;
    for (struct shard_client *client = list; client; client = next) {
        next = client->next_retrying;
        client->retrying = false;
        shard_redirect_take_turns(worker, client);
        if (!client->retries || client->retrying) continue;
        client->retrying = true;
        client->next_retrying = worker->retrying;
        worker->retrying = client;
    }
}

void shard_retries_close(struct shard_worker *worker) {
    while (worker->retrying) {
        struct shard_client *client = worker->retrying;
        worker->retrying = client->next_retrying;
        for (struct shard_retry *retry = client->retries; retry; retry = retry->next) {
            if (retry->state == RETRY_WAITS) shard_redirect_fail(worker, retry);
        }
        shard_redirect_take_turns(worker, client);
        client->retrying = false;
    }
}

/* ---- replicas that are lost ---- */

static bool shard_redirect_is_read(const struct shard_waiter *waiter) {
    const struct shard_request *request = waiter->request;
    return request && request->command && request->command->flags & SHARD_READONLY;
}

/* False: it stays where it is. */
static bool shard_redirect_rescue(struct shard_worker *worker, struct shard_link *link, uint32_t at, uint32_t master) {
    const struct shard_waiter *waiter = &link->waiters[at & (link->room - 1)];
    uint64_t end = at + 1 == link->tail ? link->kept_to : link->waiters[(at + 1) & (link->room - 1)].at;
    struct shard_rope bytes = {0};
    if (!shard_redirect_is_read(waiter) || waiter->skip || !shard_kept_take(worker, link, waiter->at, end, &bytes)) {
        return false;
    }

    struct shard_retry *retry = shard_redirect_retry_of(worker, waiter);
    if (!retry) {
        shard_rope_clear(&bytes, &worker->blocks);
        return false;
    }
    retry->bytes = bytes;
    retry->node = retry->from = master;
    retry->place = SHARD_NOBODY;
    retry->turn = SHARD_UNREADY;
    retry->order = NONE;
    retry->tries += retry->tries < UINT8_MAX;
    snprintf(retry->error, ERROR, "-ERR neither a replica nor its master has answered\r\n");
    shard_retry_go(worker, retry);
    return true;
}

void shard_reads_rescue(struct shard_worker *worker, struct shard_link *link) {
    uint32_t node = (uint32_t)(link->node - worker->shard->settings.nodes);
    bool ends = atomic_load_explicit(&worker->shard->stopping, memory_order_acquire);
    uint32_t master = ends || !worker->topology ? node : shard_successor(worker, node);
    if (worker->shard->settings.reads == SHARD_READS_MASTER || link->own || master == node || link->head == link->tail) return;

    shard_kept_add(worker, link);
    uint32_t left = link->head + (link->scan.at != 0); /* a client that has a part of the answer gets no other */
    for (uint32_t at = left; at != link->tail; at++) {
        if (!shard_redirect_rescue(worker, link, at, master)) {
            link->waiters[left++ & (link->room - 1)] = link->waiters[at & (link->room - 1)];
        }
    }
    if (left == link->tail) return;
    link->tail = left;
    link->again = true; /* the unsent bytes are not the commands of the requests that are left */
}
