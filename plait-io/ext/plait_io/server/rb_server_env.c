/*
 * The env of a request: a copy of a template, whose keys are frozen, and in which what stays the same from one request to
 * the next is set already (the usual host and peer's address, the method of most). Values of other hosts and peers are remembered.
 */
#include "rb_server.h"

#include <arpa/inet.h>
#include <ruby/encoding.h>
#include <ruby/io.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * Fields of a request up to which it gets the small template, or the medium one, and the keys that were in the others before
 * they were emptied: so the tables of the three have 16, 32 and 64 places. What an app adds has room there too, mostly.
 */
enum { FEW = 1, SOME = 14, ROOM_FOR_SOME = 20, ROOM_FOR_MANY = 40 };

/* Keys and values that go into env at once, and up to which they go one by one. */
enum { TOGETHER = 64, ONE_BY_ONE = 6 };

/* Bytes of a Host that is remembered; and requests in a row without the usual Host, or peer, after which the last one is that. */
enum { LONGEST = 256, OTHERS = 256 };

/* X(variable, key) */
#define KEYS(X)                                                                                                           \
    X(request_method, "REQUEST_METHOD")                                                                                   \
    X(script_name, "SCRIPT_NAME")                                                                                         \
    X(path_info, "PATH_INFO")                                                                                             \
    X(query_string, "QUERY_STRING")                                                                                       \
    X(server_name, "SERVER_NAME")                                                                                         \
    X(server_port, "SERVER_PORT")                                                                                         \
    X(server_protocol, "SERVER_PROTOCOL")                                                                                 \
    X(remote_addr, "REMOTE_ADDR")                                                                                         \
    X(url_scheme, "rack.url_scheme")                                                                                      \
    X(input, "rack.input")                                                                                                \
    X(errors, "rack.errors")                                                                                              \
    X(hijack_possible, "rack.hijack?")                                                                                    \
    X(hijack, "rack.hijack")                                                                                              \
    X(after_reply, "rack.after_reply")                                                                                    \
    X(response_finished, "rack.response_finished")                                                                        \
    X(http_host, "HTTP_HOST")                                                                                             \
    X(content_length, "CONTENT_LENGTH")

#define DECLARE(variable, key) static VALUE key_##variable;
KEYS(DECLARE)
#undef DECLARE

static VALUE known_keys[HTTP1_FIELD_COUNT];
static VALUE get, post, http10, empty, no_input, string_io;
static ID id_new, id_for_fd, id_rehash;

static void server_env_set_in_templates(const struct rb_server_listener *listener, VALUE key, VALUE value) {
    for (int size = 0; size < RB_SERVER_TEMPLATES; size++) rb_hash_aset(listener->templates[size], key, value);
}

static VALUE server_env_text(const char *data, size_t size) {
    return rb_str_new(data, (long)size);
}

static VALUE server_env_frozen(const char *data, size_t size) {
    return rb_obj_freeze(server_env_text(data, size));
}

/* ---- fields ---- */

/* On their way into env: all at once they cost a fifth less than one by one, from a few on. */
struct fields {
    VALUE env;
    long count; /* of keys and values */
    VALUE pairs[TOGETHER];
};

static void server_env_store(struct fields *fields) {
    if (fields->count > ONE_BY_ONE) rb_hash_bulk_insert(fields->count, fields->pairs, fields->env);
    else for (long at = 0; at < fields->count; at += 2) rb_hash_aset(fields->env, fields->pairs[at], fields->pairs[at + 1]);
    fields->count = 0;
}

static void server_env_add(struct fields *fields, VALUE key, VALUE value) {
    if (fields->count == TOGETHER) server_env_store(fields);
    fields->pairs[fields->count++] = key;
    fields->pairs[fields->count++] = value;
}

/* Of the same name there may be one before. */
static void server_env_join(struct fields *fields, VALUE key, VALUE value, const char *separator) {
    server_env_store(fields);
    VALUE before = rb_hash_lookup(fields->env, key);
    if (!NIL_P(before)) value = rb_str_append(rb_str_cat_cstr(rb_str_dup(before), separator), value);
    server_env_add(fields, key, value);
}

static bool server_env_skipped(const struct http1_header *header) {
    switch (header->known) {
    case HTTP1_FIELD_HOST: /* in the template, or set beside it */
    case HTTP1_FIELD_CONTENT_LENGTH:
    case HTTP1_FIELD_TRANSFER_ENCODING: return true; /* it was taken off */
    default: return false;
    }
}

/* Of a request: what can't be there twice needs not be looked for. Of the others several may have the same place. */
struct seen {
    uint64_t known, others;
};

static bool server_env_is_first(uint64_t *seen, unsigned place) {
    uint64_t bit = place < RB_SERVER_PLACES ? UINT64_C(1) << place : 0;
    bool first = bit && !(*seen & bit);
    *seen |= bit;
    return first;
}

static void server_env_set_fields(VALUE env, const struct server_request *request) {
    struct seen seen = {0};
    struct fields fields;
    fields.env = env;
    fields.count = 0;
    for (uint32_t index = 0; index < request->head->count; index++) {
        const struct http1_header *header = &request->head->table[index];
        if (server_env_skipped(header)) continue;

        unsigned place = header->known;
        VALUE key = known_keys[place];
        bool other = place == HTTP1_FIELD_OTHER;
        if (other) key = plait_server_key(request->data + header->name_at, header->name_size, &place);
        if (NIL_P(key)) continue;

        VALUE value = server_env_text(request->data + header->value_at, header->value_size);
        if (server_env_is_first(other ? &seen.others : &seen.known, place)) server_env_add(&fields, key, value);
        else server_env_join(&fields, key, value, header->known == HTTP1_FIELD_COOKIE ? "; " : ", ");
    }
    server_env_store(&fields);
}

/* ---- host ---- */

struct host {
    const char *data;
    size_t size;
};

/* Its port begins behind the last colon that is not within brackets. */
static size_t server_env_name_size(struct host host) {
    for (size_t at = host.size; at > 0 && host.data[at - 1] != ']'; at--) {
        if (host.data[at - 1] == ':') return at - 1;
    }
    return host.size;
}

static VALUE server_env_port_of_scheme(const struct rb_server_listener *listener) {
    return server_env_frozen(listener->port_of_scheme, strlen(listener->port_of_scheme));
}

static struct rb_server_host server_env_parts_of(const struct rb_server_listener *listener, struct host host) {
    size_t size = server_env_name_size(host);
    bool port = size + 1 < host.size;
    return (struct rb_server_host){
        .whole = server_env_frozen(host.data, host.size),
        .name = size > 0 ? server_env_frozen(host.data, size) : listener->name,
        .port = port ? server_env_frozen(host.data + size + 1, host.size - size - 1) : server_env_port_of_scheme(listener),
    };
}

static void server_env_set_host(VALUE env, const struct rb_server_host *host) {
    rb_hash_aset(env, key_http_host, host->whole);
    rb_hash_aset(env, key_server_name, host->name);
    rb_hash_aset(env, key_server_port, host->port);
}

static bool server_env_is_host(const struct rb_server_host *known, struct host host) {
    return known->whole && (size_t)RSTRING_LEN(known->whole) == host.size &&
           memcmp(RSTRING_PTR(known->whole), host.data, host.size) == 0;
}

static unsigned server_env_place_of(const void *data, size_t size) {
    const unsigned char *bytes = data;
    unsigned place = 0;
    for (size_t index = 0; index < size; index++) place = place * 31 + bytes[index];
    return place;
}

/* Whether the values in the templates are most likely not the ones of the next requests. */
static bool server_env_is_new(bool none, unsigned *others) {
    if (!none && ++*others < OTHERS) return false;

    *others = 0;
    return true;
}

static void server_env_set_other_host(VALUE env, struct rb_server_listener *listener, struct host host) {
    struct rb_server_host *place = &listener->hosts[server_env_place_of(host.data, host.size) % RB_SERVER_HOSTS], one;
    one = server_env_is_host(place, host) ? *place : server_env_parts_of(listener, host);
    server_env_set_host(env, &one);
    if (host.size > LONGEST) return;

    *place = one;
    if (!server_env_is_new(!listener->usual.whole, &listener->other_hosts)) return;
    listener->usual = one;
    for (int size = 0; size < RB_SERVER_TEMPLATES; size++) server_env_set_host(listener->templates[size], &one);
}

/* ---- target ---- */

struct target {
    struct host path, query, authority;
};

static struct target server_env_target_of(const struct server_request *request) {
    const char *data = request->data + request->head->target.at;
    size_t size = request->head->target.size;
    struct target target = {.path = {"/", 1}};
    const char *scheme_end = data[0] == '/' ? NULL : memmem(data, size, "://", 3);
    if (scheme_end) { /* absolute-form, RFC 9112 §3.2.2: its authority is the host, whatever Host says */
        const char *authority = scheme_end + 3, *end = authority;
        while (end < data + size && *end != '/' && *end != '?') end++;
        target.authority = (struct host){authority, (size_t)(end - authority)};
        size -= (size_t)(end - data);
        data = end;
    }
    const char *mark = memchr(data, '?', size);
    size_t path = mark ? (size_t)(mark - data) : size;
    if (path > 0) target.path = (struct host){data, path};
    if (mark) target.query = (struct host){mark + 1, size - path - 1};
    return target;
}

/* What follows a CONNECT may be meant for a tunnel, whatever the answer is: it must not be taken for requests. */
static void server_env_set_method(struct exchange *exchange, const struct server_request *request) {
    const char *method = request->data + request->head->method.at;
    size_t size = request->head->method.size;
    if (size == 3 && memcmp(method, "GET", 3) == 0) return;

    exchange->to_head = size == 4 && memcmp(method, "HEAD", 4) == 0;
    exchange->to_connect = size == 7 && memcmp(method, "CONNECT", 7) == 0;
    if (exchange->to_connect) exchange->persistent = false;
    bool is_post = size == 4 && memcmp(method, "POST", 4) == 0;
    rb_hash_aset(exchange->env, key_request_method, is_post ? post : server_env_frozen(method, size));
}

/* ---- peer ---- */

static VALUE server_env_address_of(const struct server_connection *connection) {
    char name[INET6_ADDRSTRLEN] = "127.0.0.1"; /* for UNIX sockets: what reads it wants an IP address */
    if (connection->family == AF_INET || connection->family == AF_INET6) {
        inet_ntop(connection->family, connection->address, name, sizeof name);
    }
    return rb_obj_freeze(rb_str_new_cstr(name));
}

static bool server_env_is_peer(const struct rb_server_peer *known, const struct server_connection *connection) {
    return known->address && known->family == connection->family &&
           memcmp(known->bytes, connection->address, sizeof connection->address) == 0;
}

static void server_env_set_peer(struct exchange *exchange, struct rb_server_listener *listener,
                                const struct server_connection *connection) {
    if (server_env_is_peer(&listener->peer, connection)) {
        listener->other_peers = 0;
        return;
    }
    size_t size = sizeof connection->address;
    struct rb_server_peer *place = &listener->peers[server_env_place_of(connection->address, size) % RB_SERVER_PEERS];
    if (!server_env_is_peer(place, connection)) {
        *place = (struct rb_server_peer){.family = connection->family, .address = server_env_address_of(connection)};
        memcpy(place->bytes, connection->address, size);
    }
    rb_hash_aset(exchange->env, key_remote_addr, place->address);
    if (!server_env_is_new(!listener->peer.address, &listener->other_peers)) return;
    listener->peer = *place;
    server_env_set_in_templates(listener, key_remote_addr, place->address);
}

/* Programs replace $stderr, as tests and daemons do. */
static void server_env_set_errors(struct rb_server_listener *listener) {
    if (listener->errors == rb_stderr) return;

    listener->errors = rb_stderr;
    server_env_set_in_templates(listener, key_errors, rb_stderr);
}

/* ---- body ---- */

static VALUE server_env_file_of(int file) {
    lseek(file, 0, SEEK_SET);
    rb_update_max_fd(file);
    return rb_funcall(rb_cFile, id_for_fd, 2, INT2NUM(file), rb_str_new_cstr("r+b"));
}

static void server_env_set_length(VALUE env, size_t size) {
    char digits[24];
    rb_hash_aset(env, key_content_length, rb_str_new(digits, snprintf(digits, sizeof digits, "%zu", size)));
}

static void server_env_take_body(struct exchange *exchange, const struct server_request *request) {
    const struct http1_head *head = request->head;
    exchange->file = request->file;
    exchange->body = exchange->input = Qnil;
    bool length = head->seen & (UINT64_C(1) << HTTP1_FIELD_CONTENT_LENGTH);
    if (head->framing != HTTP1_NO_BODY || length) server_env_set_length(exchange->env, request->body_size);
    if (request->body_size == 0 || request->file != -1) return;

    exchange->body = server_env_text(request->body, request->body_size);
}

void plait_server_input(struct exchange *exchange) {
    VALUE input;
    int file = exchange->file;
    exchange->file = -1; /* first: an interrupt as `for_fd` returns leaves the File, which closes it */
    if (file != -1) input = exchange->input = server_env_file_of(file);
    else if (!NIL_P(exchange->body)) input = rb_funcall(string_io, id_new, 1, exchange->body);
    else return;

    rb_hash_aset(exchange->env, key_input, input);
}

/* ---- the whole ---- */

static struct host server_env_host_of(const struct server_request *request, const struct target *target) {
    if (target->authority.size > 0) return target->authority;

    const struct http1_header *header = http1_head_find(request->head, HTTP1_FIELD_HOST);
    if (!header) return (struct host){0};
    return (struct host){request->data + header->value_at, header->value_size};
}

static void server_env_set_place(struct exchange *exchange, struct rb_server_listener *listener, struct host host) {
    if (host.size > 0 && server_env_is_host(&listener->usual, host)) {
        listener->other_hosts = 0;
        return;
    }
    if (host.size > 0) return server_env_set_other_host(exchange->env, listener, host);

    rb_hash_delete(exchange->env, key_http_host);
    rb_hash_aset(exchange->env, key_server_name, listener->name);
    rb_hash_aset(exchange->env, key_server_port, listener->port);
}

static enum rb_server_template server_env_size_for(uint32_t fields) {
    return fields <= FEW ? RB_SERVER_SMALL : fields <= SOME ? RB_SERVER_MEDIUM : RB_SERVER_LARGE;
}

void plait_server_env(struct exchange *exchange, const struct server_connection *connection,
                      const struct server_request *request) {
    struct rb_server_listener *listener = &exchange->server->listeners[connection->listener];
    struct target target = server_env_target_of(request);
    struct host host = server_env_host_of(request, &target);
    server_env_set_errors(listener);
    VALUE env = exchange->env = rb_hash_dup(listener->templates[server_env_size_for(request->head->count)]);
    server_env_set_place(exchange, listener, host);
    server_env_set_peer(exchange, listener, connection);
    server_env_set_method(exchange, request);
    if (request->head->minor == 0) rb_hash_aset(env, key_server_protocol, http10);
    rb_hash_aset(env, key_path_info, server_env_text(target.path.data, target.path.size));
    if (target.query.size > 0) rb_hash_aset(env, key_query_string, server_env_text(target.query.data, target.query.size));
    exchange->handle = plait_server_handle(exchange);
    rb_hash_aset(env, key_hijack, exchange->handle);
    rb_hash_aset(env, key_response_finished, rb_ary_new());
    rb_hash_aset(env, key_after_reply, rb_ary_new());
    server_env_set_fields(env, request);
    server_env_take_body(exchange, request);
}

/* A Hash keeps its room when it is emptied, and when it is copied. */
static VALUE server_env_hash_with_room(int room) {
    VALUE hash = rb_hash_new();
    for (int index = 0; index < room; index++) rb_hash_aset(hash, INT2FIX(index), Qnil);
    return rb_hash_clear(hash);
}

static VALUE server_env_template(const struct rb_server_listener *listener, VALUE scheme, VALUE protocol, int room) {
    VALUE env = server_env_hash_with_room(room);
    rb_hash_aset(env, key_request_method, get);
    rb_hash_aset(env, key_script_name, empty);
    rb_hash_aset(env, key_path_info, Qnil);
    rb_hash_aset(env, key_query_string, empty);
    rb_hash_aset(env, key_server_name, listener->name);
    rb_hash_aset(env, key_server_port, listener->port);
    rb_hash_aset(env, key_server_protocol, NIL_P(protocol) ? rb_interned_str_cstr("HTTP/1.1") : protocol);
    rb_hash_aset(env, key_url_scheme, scheme);
    rb_hash_aset(env, key_input, no_input);
    rb_hash_aset(env, key_errors, rb_stderr);
    rb_hash_aset(env, key_hijack_possible, Qtrue);
    rb_hash_aset(env, key_hijack, Qnil);
    rb_hash_aset(env, key_response_finished, Qnil);
    rb_hash_aset(env, key_after_reply, Qnil);
    if (room == 0) rb_funcall(env, id_rehash, 0); /* it has grown to twice the room that it needs */
    return env;
}

void plait_server_listener(struct rb_server_listener *listener, VALUE scheme, VALUE protocol) {
    listener->port_of_scheme = strcmp(StringValueCStr(scheme), "https") == 0 ? "443" : "80";
    listener->templates[RB_SERVER_SMALL] = server_env_template(listener, scheme, protocol, 0);
    listener->templates[RB_SERVER_MEDIUM] = server_env_template(listener, scheme, protocol, ROOM_FOR_SOME);
    listener->templates[RB_SERVER_LARGE] = server_env_template(listener, scheme, protocol, ROOM_FOR_MANY);
    listener->errors = rb_stderr;
    listener->usual.whole = listener->peer.address = 0;
}

static VALUE server_env_constant(VALUE value) {
    rb_gc_register_mark_object(value);
    return value;
}

static void server_env_init_known_keys(void) {
    unsigned place;
#define SET(name, field, first, last, length)                                                                             \
    known_keys[HTTP1_FIELD_##name] = server_env_constant(plait_server_key(field, length, &place));
    HTTP1_KNOWN_FIELDS(SET)
#undef SET
    known_keys[HTTP1_FIELD_CONTENT_TYPE] = server_env_constant(rb_interned_str_cstr("CONTENT_TYPE"));
}

void plait_server_init_env(void) {
    id_new = rb_intern("new");
    id_for_fd = rb_intern("for_fd");
    id_rehash = rb_intern("rehash");
#define SET(variable, key) key_##variable = server_env_constant(rb_interned_str_cstr(key));
    KEYS(SET)
#undef SET
    plait_server_init_names();
    server_env_init_known_keys();
    get = server_env_constant(rb_interned_str_cstr("GET"));
    post = server_env_constant(rb_interned_str_cstr("POST"));
    http10 = server_env_constant(rb_interned_str_cstr("HTTP/1.0"));
    empty = server_env_constant(rb_interned_str_cstr(""));
}

void plait_server_define_env(VALUE server_class) {
    rb_require("stringio");
    string_io = server_env_constant(rb_path2class("StringIO"));
    no_input = server_env_constant(rb_funcall(rb_const_get(server_class, rb_intern("NoInput")), id_new, 0));
}
