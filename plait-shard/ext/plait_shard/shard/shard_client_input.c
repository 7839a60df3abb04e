/* What clients ask: bytes become commands, until there is too much to be answered. */
#include "shard_client_input.h"
#include "../shard_client/shard_client_lists.h"
#include "../shard_link/shard_flush.h"
#include "../shard_command/shard_gather.h"
#include "../shard_link/shard_link.h"
#include "../shard_client/shard_memory.h"
#include "../shard_client/shard_own_links.h"
#include "../shard_client/shard_reply.h"
#include "../shard_command/shard_route.h"
#include "../shard_command/shard_session.h"
#include "../shard_command/shard_split.h"
#include "../shard_link/shard_stream.h"
#include "../shard_plane/shard_tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

/* Room for a gathering client is below what malloc takes from the system and gives back each time. */
enum { FIRST_ROOM = 4096, ROOM_BEHIND = 4096, GATHER_ROOM = 112 * 1024 };

static const double AWAITING = 0.05; /* seconds */

/* ---- pausing ---- */

static void shard_client_input_put_on(struct shard_client **list, struct shard_client *client) {
    if (client->listed) return;
    client->listed = true;
    client->next_listed = *list;
    *list = client;
}

/* It is looked at again when that has changed. What is its own affair, such as its answers, is seen when it is flushed. */
static void shard_client_input_wait_for(struct shard_worker *worker, struct shard_client *client) {
    if (client->full) shard_link_touch(worker, client->full); /* it may have written all meanwhile */
    if (client->full) shard_client_input_put_on(&client->full->blocked, client);
    else if (client->awaits) shard_client_input_put_on(&worker->awaiting, client);
}

bool shard_awaiting_check(struct shard_worker *worker) {
    if (!worker->awaiting || worker->now < worker->awaiting_at) return worker->awaiting != NULL;

    worker->awaiting_at = worker->now + AWAITING;
    shard_wake(worker, &worker->awaiting, UINT32_MAX);
    return true;
}

/* ---- commands ---- */

static bool shard_client_input_more_spans(struct shard_worker *worker, struct shard_client *client) {
    uint32_t room = client->command.room * 2;
    bool own = client->spans != NULL;
    struct resp_span *spans = realloc(own ? client->spans : worker->spans, room * sizeof *spans);
    if (!spans) return false;

    client->command.spans = spans;
    client->command.room = room;
    if (own) client->spans = spans;
    else worker->spans = spans;
    if (!own) worker->span_room = room;
    return true;
}

/* The next command of any client uses the thread's spans: the spans of an incomplete command move to its client. */
static bool shard_client_input_keep_spans(struct shard_client *client) {
    struct resp_command *command = &client->command;
    if (client->spans || command->stage == RESP_AT_START || command->stage == RESP_IN_LINE) return true;

    uint32_t room = command->found < 4 ? 8 : command->found * 2;
    client->spans = malloc(room * sizeof *client->spans);
    if (!client->spans) return false;

    memcpy(client->spans, command->spans, command->found * sizeof *client->spans);
    command->spans = client->spans;
    command->room = room;
    return true;
}

/* The error goes out behind all other answers, then the connection is closed: the bytes that follow may be garbage. */
static void shard_client_input_break_off(struct shard_call *call, int rule) {
    const char *reply = resp_rule(rule)->reply;
    shard_gather_leave(call->worker, call->client);
    call->client->ending = true;
    shard_refuse(call, "ERR Protocol error: %s", reply ? reply : resp_rule(rule)->text);
}

/* An inline command is dispatched as the array it stands for. */
static void shard_client_input_dispatch_line(struct shard_call *call) {
    struct shard_worker *worker = call->worker;
    struct shard_buffer *array = shard_buffer_new(resp_inline_room(call->size));
    int result = array ? resp_inline(call->data, call->size, array->bytes, &array->size) : 0;
    if (!array) {
        shard_close_client(worker, call->client);
    } else if (result < 0) {
        shard_client_input_break_off(call, result);
    } else {
        struct shard_client *client = call->client;
        resp_command_start(&client->command, &worker->shard->settings.limits, worker->spans, worker->span_room);
        int event;
        while ((event = resp_command_scan(&client->command, array->bytes, array->size)) == RESP_SPANS) {
            if (shard_client_input_more_spans(worker, client)) continue;
            shard_close_client(worker, client);
            break;
        }
        *call = (struct shard_call){.worker = worker, .client = client, .data = array->bytes, .size = array->size, .owner = array,
                                    .words = client->command.spans, .count = client->command.count};
        if (event < 0) {
            shard_client_input_break_off(call, event);
        } else if (event == RESP_COMMAND && call->count) {
            call->command = shard_command_find(call->data, call->words, call->count);
            shard_dispatch(call);
        }
    }
    shard_buffer_drop(array);
}

/* Of a whole command, or a line. The words behind the keys of a command that gathers name no command. */
static struct shard_call shard_client_input_call_of(struct shard_worker *worker, struct shard_client *client, int event,
                                                    const char *data, struct shard_buffer *owner) {
    const struct resp_command *command = &client->command;
    struct shard_call call = {.worker = worker, .client = client, .data = data, .size = command->at, .owner = owner,
                              .words = command->spans, .count = command->count};
    bool named = event == RESP_COMMAND && call.count && !client->gather;
    if (named) call.command = shard_command_find(data, call.words, call.count);
    return call;
}

/* A whole command or line, or a broken one. */
static void shard_client_input_take(struct shard_call *call, int event) {
    struct shard_client *client = call->client;
    struct resp_span *spans = client->spans; /* they outlive the client */
    client->spans = NULL;
    client->scanning = false;
    if (event < 0) shard_client_input_break_off(call, event);
    else if (event == RESP_INLINE) shard_client_input_dispatch_line(call);
    else if (client->gather) shard_gather_last(call);
    else if (call->count) shard_dispatch(call);
    free(spans);
}

/*
 * A node that no longer has the keys redirects a request. The client's next requests must not arrive before it. So they wait until
 * redirected requests, and requests by another topology, are answered. An MSET that is forwarded while it arrives goes on.
 */
static bool shard_client_input_may_be_sent(const struct shard_worker *worker, struct shard_client *client) {
    bool settled = client->version == worker->version && !client->retries;
    if (settled || client->gather) return true;
    client->alone = client->first != NULL;
    if (!client->alone) client->version = worker->version;
    return !client->alone;
}

/* Returns whether what is here of a command is on its way, and the rest will follow. */
static bool shard_client_input_stream(struct shard_worker *worker, struct shard_client *client, const char *data, size_t size,
                                      struct shard_buffer *owner) {
    if (!shard_stream_wanted(worker, client, data, size)) return false;

    client->alone = client->first != NULL;
    if (client->alone || !shard_stream_begin(worker, client, data, size, owner)) return false;

    free(client->spans);
    client->spans = NULL;
    client->scanning = false;
    return true;
}

/* What is not to be started before all that was asked before is answered, or before there are connections for it, is scanned again. */
static bool shard_client_input_waits_for_others(const struct shard_call *call, int event) {
    struct shard_client *client = call->client;
    if (event == RESP_INLINE && client->first) {
        client->alone = true;
    } else if (call->command && shard_goes_alone(call)) {
        client->alone = client->first != NULL;
        if (!shard_own_links(call->worker, SHARD_ALL)) client->awaits = SHARD_ALL;
    }
    if (!client->alone && !client->awaits) return false;

    free(client->spans);
    client->spans = NULL;
    client->scanning = false;
    return true;
}

/* Returns the bytes that are done with. */
static size_t shard_client_input_parse(struct shard_worker *worker, struct shard_client *client, const char *data, size_t size,
                                       struct shard_buffer *owner) {
    size_t at = 0;
    while (at < size && shard_may_go_on(worker, client)) {
        struct resp_command *command = &client->command;
        client->alone = false;
        client->awaits = 0;
        if (client->left) {
            at += shard_stream_pass(worker, client, data + at, size - at, owner);
            client->alone = client->left == 0;
            continue;
        }
        if (!shard_client_input_may_be_sent(worker, client)) break;
        if (!client->scanning) {
            resp_command_start(command, shard_limits(worker, client), worker->spans, worker->span_room);
            client->scanning = true;
        } else if (!client->spans) {
            command->spans = worker->spans; /* none is known yet, and they may have moved */
            command->room = worker->span_room;
        }
        int event = resp_command_scan(command, data + at, size - at);
        if (event == RESP_MORE) {
            if (shard_gather_wanted(worker, client, data + at, size - at)) {
                at += shard_gather(worker, client, data + at, owner);
            } else if (shard_client_input_stream(worker, client, data + at, size - at, owner)) {
                at = size;
            }
            break;
        }
        struct shard_call call = shard_client_input_call_of(worker, client, event, data + at, owner);
        if (shard_client_input_waits_for_others(&call, event)) break;
        if (event != RESP_SPANS) {
            size_t done = event < 0 ? size - at : command->at;
            shard_client_input_take(&call, event);
            if (client->again) {
                client->again = false;
                client->alone = true;
                break;
            }
            at += done;
        } else if (!shard_client_input_more_spans(worker, client)) {
            shard_close_client(worker, client);
        }
    }
    return at;
}

/* ---- bytes ---- */

void shard_client_drop_input(struct shard_client *client) {
    shard_buffer_drop(client->in);
    free(client->spans);
    client->in = NULL;
    client->spans = NULL;
    client->scanning = false;
}

/* A buffer of its own for a command that is not here as a whole, of the size that it is known to have. */
static bool shard_client_input_keep(struct shard_worker *worker, struct shard_client *client, const char *data, size_t size) {
    size_t needs = client->scanning ? resp_command_needs(&client->command) : 0;
    size_t room = size * 2 > needs ? size * 2 : needs;
    if (client->gather && room < GATHER_ROOM) room = GATHER_ROOM;
    if (client->in && client->in->bytes == data) {
        struct shard_buffer *larger = shard_buffer_grow(client->in, room + ROOM_BEHIND);
        if (larger) {
            client->in = larger;
            return !client->scanning || shard_client_input_keep_spans(client);
        }
    }
    struct shard_buffer *buffer = shard_buffer_new(room < FIRST_ROOM ? FIRST_ROOM : room + ROOM_BEHIND);
    if (!buffer || (client->scanning && !shard_client_input_keep_spans(client))) {
        shard_buffer_drop(buffer);
        return false;
    }
    memcpy(buffer->bytes, data, size);
    buffer->size = size;
    shard_buffer_drop(client->in);
    client->in = buffer;
    client->in_at = 0;
    shard_weigh_client(worker, client);
    return true;
}

static void shard_client_input_pause_or_not(struct shard_worker *worker, struct shard_client *client) {
    if (client->socket == -1 || client->ending || client->paused || shard_may_go_on(worker, client)) return;

    client->paused = true;
    shard_client_touch(worker, client); /* to be looked at no longer */
    shard_client_input_wait_for(worker, client);
}

/* Of its own buffer. */
static void shard_client_input_parse_kept(struct shard_worker *worker, struct shard_client *client) {
    struct shard_buffer *in = client->in;
    in->references++;
    size_t at = client->in_at + shard_client_input_parse(worker, client, in->bytes + client->in_at, in->size - client->in_at,
                                                         in);
    if (client->socket != -1 && at == in->size) {
        shard_buffer_drop(client->in);
        client->in = NULL;
    } else if (client->socket != -1) {
        client->in_at = at;
        if (client->scanning && !shard_client_input_keep_spans(client)) shard_close_client(worker, client);
    }
    shard_buffer_drop(in);
    shard_weigh_client(worker, client);
    shard_client_input_pause_or_not(worker, client);
}

static void shard_client_input_end_of_input(struct shard_worker *worker, struct shard_client *client, ssize_t size) {
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
        if (client->tls) shard_client_touch(worker, client); /* it may have to write before it can read */
        return;
    }
    if (size < 0 || client->left) {
        shard_close_client(worker, client);
        return;
    }
    client->finished = true;
    /* A client that has shut down only its half may still want the answers. */
    shard_gather_leave(worker, client);
    client->ending = true;
    shard_client_drop_input(client);
    shard_client_touch(worker, client);
}

static void shard_client_input_receive_kept(struct shard_worker *worker, struct shard_client *client) {
    struct shard_buffer *in = client->in;
    if (in->size == in->room && !shard_client_input_keep(worker, client, in->bytes + client->in_at, in->size - client->in_at)) {
        shard_close_client(worker, client);
        return;
    }
    in = client->in;
    ssize_t size = shard_receive(worker, client->socket, client->tls, in->bytes + in->size, in->room - in->size);
    if (size <= 0) {
        shard_client_input_end_of_input(worker, client, size);
        return;
    }
    in->size += (size_t)size;
    shard_add(worker, FIGURE_IN, (uint64_t)size);
    shard_client_input_parse_kept(worker, client);
}

static void shard_client_input_receive(struct shard_worker *worker, struct shard_client *client) {
    size_t room;
    char *data = shard_room(worker, &room);
    if (client->socket == -1) return; /* making room has written to it, and found it broken */

    ssize_t size = shard_receive(worker, client->socket, client->tls, data, room);
    if (size <= 0) {
        shard_client_input_end_of_input(worker, client, size);
        return;
    }
    worker->used += (size_t)size;
    shard_add(worker, FIGURE_IN, (uint64_t)size);
    size_t at = shard_client_input_parse(worker, client, data, (size_t)size, NULL);
    if (client->socket == -1) return;
    if (client->ending) shard_client_drop_input(client);
    else if (at < (size_t)size && !shard_client_input_keep(worker, client, data + at, (size_t)size - at))
        shard_close_client(worker, client);
    shard_weigh_client(worker, client);
    shard_client_input_pause_or_not(worker, client);
}

/* What one that leaves still sends. */
static void shard_client_input_ignore(struct shard_worker *worker, struct shard_client *client) {
    size_t room;
    char *data = shard_room(worker, &room);
    ssize_t size = client->socket == -1 ? -1 : recv(client->socket, data, room, 0);
    if (size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR))) return;
    shard_close_client(worker, client);
}

void shard_client_readable(struct shard_worker *worker, struct shard_client *client, uint32_t events) {
    if (client->leaving) {
        shard_client_input_ignore(worker, client);
    } else if (client->paused || client->ending) {
        /* Whatever it has sent: no client is left to be answered, and epoll would report the event again and again. */
        if (events & (EPOLLHUP | EPOLLERR)) shard_close_client(worker, client);
    } else if (client->in) {
        shard_client_input_receive_kept(worker, client);
    } else {
        shard_client_input_receive(worker, client);
    }
}

bool shard_resume(struct shard_worker *worker) {
    struct shard_client *list = worker->ready;
    bool any = false;
    worker->ready = NULL;
    while (list) {
        struct shard_client *client = list;
        list = client->next_listed;
        client->listed = false;
        if (!client->paused || client->socket == -1) continue;
        if (!shard_may_go_on(worker, client)) {
            shard_client_input_wait_for(worker, client);
            continue;
        }
        client->paused = false;
        any = true;
        shard_client_touch(worker, client);
        if (client->in) shard_client_input_parse_kept(worker, client);
        if (client->tls) shard_tls_tell(worker, client->tls);
    }
    return any;
}
