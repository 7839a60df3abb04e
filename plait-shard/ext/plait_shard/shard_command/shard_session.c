/* See shard_session.h. */
#include "shard_session.h"
#include "../shard_plane/shard_greeting.h"
#include "../shard_plane/shard_pin.h"
#include "../shard_link/shard_pinned.h"
#include "../shard_link/shard_pool.h"
#include "../shard_client/shard_reply.h"
#include "shard_split.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { NAME = 1024, ADDRESS = 64, LINE = 512 + NAME };

/* As much as Redis grants to a client that has not authenticated. */
static const struct resp_limits locked_limits = {.bulk = 16384, .command = 65536, .elements = 16, .arguments = 10, .line = 16384};

static const char WRONG[] = "WRONGPASS invalid username-password pair or user is disabled.";

static const struct shard_settings *shard_session_settings_of(const struct shard_call *call) {
    return &call->worker->shard->settings;
}

const struct resp_limits *shard_limits(const struct shard_worker *worker, const struct shard_client *client) {
    return client->locked ? &locked_limits : &worker->shard->settings.limits;
}

/* ---- the beginning and the end ---- */

void shard_session_begin(struct shard_worker *worker, struct shard_client *client) {
    uint64_t accepted = worker->figures[FIGURE_ACCEPTED];
    client->id = accepted * worker->shard->threads + (uint64_t)(worker - worker->shard->workers) + 1;
    client->born = worker->now;
    client->locked = worker->shard->settings.password[0] != 0;
    client->pool = &worker->pool;
    client->pool->users++;
}

void shard_session_end(struct shard_client *client) {
    shard_pool_leave(client->pool);
    if (client->former) shard_pool_leave(client->former);
    client->former = NULL;
    free(client->name);
    client->name = NULL;
}

/* ---- words ---- */

static void shard_session_answer(struct shard_call *call, const char *reply) {
    shard_answer(call, reply, strlen(reply));
}

static bool shard_session_word_is(const struct shard_call *call, uint32_t place, const char *name) {
    return shard_word_is(call->data, call->words[place], name);
}

/* NULL: no memory. What has a zero byte in it is cut there: no name or password of Redis' own files can have one. */
static char *shard_session_copy_word(const struct shard_call *call, uint32_t place) {
    return strndup(call->data + call->words[place].at, call->words[place].size);
}

/* Takes as long wherever they differ. */
static bool shard_session_same_secret(const char *one, const char *data, size_t size) {
    size_t length = strlen(one);
    unsigned difference = length != size;
    for (size_t i = 0; i < size; i++) difference |= (unsigned char)(data[i] ^ one[length ? i % length : 0]);
    return !difference;
}

/* ---- pools ---- */

static void shard_session_change_pool(struct shard_client *client, struct shard_pool *pool) {
    pool->users++;
    shard_pool_leave(client->pool);
    client->pool = pool;
}

/* False: no memory, and the client is closed. */
static bool shard_session_speak(struct shard_call *call, const char *user, const char *password, bool resp3) {
    struct shard_pool *pool = shard_pool_find(call->worker, user, password, resp3);
    if (pool) shard_session_change_pool(call->client, pool);
    else shard_close_client(call->worker, call->client);
    return pool;
}

static void shard_session_greet_caller(struct shard_call *call) {
    char reply[SHARD_GREETING_ROOM];
    size_t size = shard_session_greet(call->worker, call->client, reply);
    shard_answer(call, reply, size);
}

/* ---- AUTH ---- */

static size_t shard_session_put_word(char *to, const char *word, size_t size) {
    size_t head = resp_write_header(to, '$', size);
    memcpy(to + head, word, size);
    memcpy(to + head + size, "\r\n", 2);
    return head + size + 2;
}

/* By all of them, on the connections that it will use if they do. */
static void shard_session_ask_nodes(struct shard_call *call, const char *user, const char *password, bool resp3) {
    struct shard_client *client = call->client;
    struct shard_buffer *command = shard_buffer_new(strlen(user) + strlen(password) + 4 * RESP_HEADER);
    struct shard_pool *pool = command ? shard_pool_find(call->worker, user, password, resp3) : NULL;
    if (!pool) {
        shard_buffer_drop(command);
        shard_close_client(call->worker, client);
        return;
    }
    command->size = resp_write_header(command->bytes, '*', 3);
    command->size += shard_session_put_word(command->bytes + command->size, "AUTH", 4);
    command->size += shard_session_put_word(command->bytes + command->size, user, strlen(user));
    command->size += shard_session_put_word(command->bytes + command->size, password, strlen(password));
    static const struct shard_command verified = {.name = "auth", .merge = SHARD_VERIFIED};
    struct shard_call question = {call->worker, client, &verified, command->bytes, command->size, command, NULL, 0, false, 0};
    client->former = client->pool;
    client->pool = pool;
    pool->users++;
    client->alone = true;
    shard_send_to_all(&question);
    shard_buffer_drop(command);
}

struct credentials {
    uint32_t user;     /* their places among the words; 0: none */
    uint32_t password;
};

static void shard_session_unlock(struct shard_call *call, bool resp3) {
    call->client->locked = false;
    if (!shard_session_speak(call, NULL, NULL, resp3)) return;
    shard_session_greet_caller(call);
}

static void shard_session_judge_at_nodes(struct shard_call *call, struct credentials given, bool resp3) {
    char *user = given.user ? shard_session_copy_word(call, given.user) : strdup("default");
    char *password = shard_session_copy_word(call, given.password);
    if (user && password) shard_session_ask_nodes(call, user, password, resp3);
    else shard_close_client(call->worker, call->client);
    free(user);
    free(password);
}

/* The shard's own password is the default user's; other users are the nodes'. */
static void shard_session_authenticate(struct shard_call *call, struct credentials given, bool resp3) {
    const struct shard_settings *settings = shard_session_settings_of(call);
    struct resp_span password = call->words[given.password];
    bool unnamed = !given.user || shard_session_word_is(call, given.user, "default");
    if (settings->password[0] && unnamed) {
        if (shard_session_same_secret(settings->password, call->data + password.at, password.size))
            shard_session_unlock(call, resp3);
        else shard_refuse(call, "%s", WRONG);
    } else if (settings->users) {
        shard_session_judge_at_nodes(call, given, resp3);
    } else if (unnamed) {
        shard_refuse(call, "ERR AUTH <password> called without any password configured for the shard");
    } else {
        shard_refuse(call, "%s", WRONG);
    }
}

/* As HELLO and RESET do, it changes what is sent where: all that came before is answered first. */
void shard_auth(struct shard_call *call) {
    if (shard_hold_back(call)) return;
    call->client->greets = false;
    if (call->count > 3) shard_refuse(call, "ERR syntax error");
    else
        shard_session_authenticate(call, (struct credentials){call->count == 3 ? 1 : 0, call->count - 1},
                                   call->client->pool->resp3);
}

/* ---- names ---- */

static bool shard_session_may_be_name(const struct shard_call *call, struct resp_span word) {
    for (size_t i = 0; i < word.size; i++) {
        char byte = call->data[word.at + i];
        if (byte < '!' || byte > '~') return false;
    }
    return word.size <= NAME;
}

/* False: that failed, and the client has got an error. */
static bool shard_session_take_name(struct shard_call *call, uint32_t place) {
    struct resp_span word = call->words[place];
    if (!shard_session_may_be_name(call, word)) {
        shard_refuse(call, "ERR Client names cannot contain spaces, newlines or special characters.");
        return false;
    }
    free(call->client->name);
    call->client->name = word.size ? shard_session_copy_word(call, place) : NULL;
    return true;
}

void shard_set_name(struct shard_call *call) {
    if (shard_session_take_name(call, 2)) shard_session_answer(call, "+OK\r\n");
}

void shard_tell_name(struct shard_call *call) {
    const char *name = call->client->name;
    char reply[NAME + RESP_HEADER];
    if (name) shard_answer(call, reply, shard_session_put_word(reply, name, strlen(name)));
    else shard_session_answer(call, call->client->pool->resp3 ? "_\r\n" : "$-1\r\n");
}

/* ---- HELLO ---- */

struct hello {
    bool resp3;
    struct credentials given;
    uint32_t name;
};

/* HELLO [version [AUTH user password] [SETNAME name]]; false: the client has got an error. */
static bool shard_session_read_hello(struct shard_call *call, struct hello *hello) {
    *hello = (struct hello){.resp3 = call->client->pool->resp3};
    if (call->count > 1 && !shard_session_word_is(call, 1, "2") && !shard_session_word_is(call, 1, "3")) {
        shard_refuse(call, "NOPROTO unsupported protocol version");
        return false;
    }
    if (call->count > 1) hello->resp3 = shard_session_word_is(call, 1, "3");
    for (uint32_t i = 2; i < call->count; i++) {
        if (shard_session_word_is(call, i, "AUTH") && i + 2 < call->count) {
            hello->given = (struct credentials){i + 1, i + 2};
            i += 2;
        } else if (shard_session_word_is(call, i, "SETNAME") && i + 1 < call->count) {
            hello->name = ++i;
        } else {
            struct resp_span word = call->words[i];
            shard_refuse(call, "ERR Syntax error in HELLO option '%.*s'", (int)(word.size < 64 ? word.size : 64), call->data + word.at);
            return false;
        }
    }
    return true;
}

static void shard_session_greet_anew(struct shard_call *call, bool resp3) {
    struct shard_pool *pool = call->client->pool;
    if (pool->resp3 != resp3 && !shard_session_speak(call, pool->user, pool->password, resp3)) return;
    shard_session_greet_caller(call);
}

void shard_hello(struct shard_call *call) {
    struct hello hello;
    if (shard_hold_back(call) || !shard_session_read_hello(call, &hello)) return;
    if (call->client->locked && !hello.given.password) {
        shard_refuse(call, "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> "
                           "<pass> option can be used to authenticate the client and select the RESP protocol version at the same time");
        return;
    }
    call->client->greets = true;
    if (hello.name && !shard_session_take_name(call, hello.name)) return;
    if (hello.given.password) shard_session_authenticate(call, hello.given, hello.resp3);
    else shard_session_greet_anew(call, hello.resp3);
}

/* ---- RESET and CLIENT ---- */

void shard_reset(struct shard_call *call) {
    struct shard_client *client = call->client;
    if (shard_hold_back(call)) return;
    shard_transaction_drop(call->worker, client);
    shard_pin_leave(call->worker, client);
    shard_session_change_pool(client, &call->worker->pool);
    client->locked = shard_session_settings_of(call)->password[0] != 0;
    free(client->name);
    client->name = NULL;
    shard_session_answer(call, "+RESET\r\n");
}

void shard_tell_id(struct shard_call *call) {
    char reply[40];
    int size = snprintf(reply, sizeof reply, ":%llu\r\n", (unsigned long long)call->client->id);
    shard_answer(call, reply, (size_t)size);
}

static void shard_session_write_address(char to[ADDRESS], int socket, int (*ask)(int, struct sockaddr *, socklen_t *)) {
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    char host[INET6_ADDRSTRLEN] = "?";
    ask(socket, (struct sockaddr *)&address, &size);
    if (address.ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&address;
        inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof host);
        snprintf(to, ADDRESS, "[%s]:%d", host, ntohs(six->sin6_port));
    } else {
        const struct sockaddr_in *four = (const struct sockaddr_in *)&address;
        inet_ntop(AF_INET, &four->sin_addr, host, sizeof host);
        snprintf(to, ADDRESS, "%s:%d", host, ntohs(four->sin_port));
    }
}

static const char *shard_session_flag_of(const struct shard_client *client) {
    if (client->pin && client->pin->use == SHARD_PIN_SUBSCRIBED) return "P";
    if (client->pin && client->pin->use == SHARD_PIN_WAITS) return "b";
    return client->transaction ? "x" : "N";
}

/* What the shard knows of one; an empty line for one that is closed. */
static size_t shard_session_describe(const struct shard_worker *worker, const struct shard_client *client, char line[LINE]) {
    char peer[ADDRESS], own[ADDRESS];
    if (client->socket == -1) return 0;
    shard_session_write_address(peer, client->socket, getpeername);
    shard_session_write_address(own, client->socket, getsockname);
    const struct shard_pin *pin = client->pin;
    int size = snprintf(line, LINE, "id=%llu addr=%s laddr=%s fd=%d name=%s age=%lld flags=%s db=0 sub=%lld ssub=%lld multi=%lld "
                        "qbuf=%zu omem=%zu user=%s resp=%d\n",
                        (unsigned long long)client->id, peer, own, client->socket, client->name ? client->name : "",
                        (long long)(worker->now - client->born), shard_session_flag_of(client),
                            pin ? (long long)pin->channels : 0,
                        pin ? (long long)pin->shard_channels : 0, client->transaction ? (long long)client->transaction->count : -1,
                        client->in ? client->in->size : 0, client->out.size, client->pool->user ? client->pool->user : "default",
                        client->pool->resp3 ? 3 : 2);
    return size < LINE ? (size_t)size : LINE - 1;
}

static void shard_session_answer_text(struct shard_call *call, struct shard_buffer *text) {
    struct shard_buffer *reply = text ? shard_buffer_new(text->size + RESP_HEADER + 2) : NULL;
    if (reply) {
        reply->size = shard_session_put_word(reply->bytes, text->bytes, text->size);
        shard_answer(call, reply->bytes, reply->size);
    } else {
        shard_refuse(call, "ERR out of memory");
    }
    shard_buffer_drop(reply);
    shard_buffer_drop(text);
}

void shard_tell_client(struct shard_call *call) {
    struct shard_buffer *text = shard_buffer_new(LINE);
    if (text) text->size = shard_session_describe(call->worker, call->client, text->bytes);
    shard_session_answer_text(call, text);
}

void shard_list_clients(struct shard_call *call) {
    if (call->worker->shard->threads > 1) {
        shard_refuse(call, "ERR CLIENT LIST is for a shard with one thread: the clients of other threads can't be seen from here");
        return;
    }
    if (call->count > 2) {
        shard_refuse(call, "ERR CLIENT LIST takes no options here");
        return;
    }
    struct shard_buffer *text = shard_buffer_new(LINE * (call->worker->figures[FIGURE_CLIENTS] + 1));
    for (const struct shard_client *client = call->worker->clients; text && client; client = client->after) {
        text->size += shard_session_describe(call->worker, client, text->bytes + text->size);
    }
    shard_session_answer_text(call, text);
}

void shard_accept_it(struct shard_call *call) {
    shard_session_answer(call, "+OK\r\n");
}

bool shard_locked_takes(struct shard_call *call) {
    if (call->command && call->command->traits & SHARD_OPEN) return false;
    shard_refuse(call, "NOAUTH Authentication required.");
    return true;
}
