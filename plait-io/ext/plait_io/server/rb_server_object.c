/* The memory of a Plait::Server::NativeCore: what the garbage collector marks and frees. */
#include "rb_server.h"

#include "../plait_io.h"

static void server_object_mark_host(const struct rb_server_host *host) {
    rb_gc_mark(host->whole);
    rb_gc_mark(host->name);
    rb_gc_mark(host->port);
}

static void server_object_mark_listener(const struct rb_server_listener *listener) {
    for (int size = 0; size < RB_SERVER_TEMPLATES; size++) rb_gc_mark(listener->templates[size]);
    rb_gc_mark(listener->name);
    rb_gc_mark(listener->port);
    server_object_mark_host(&listener->usual);
    for (int index = 0; index < RB_SERVER_HOSTS; index++) server_object_mark_host(&listener->hosts[index]);
    rb_gc_mark(listener->peer.address);
    for (int index = 0; index < RB_SERVER_PEERS; index++) rb_gc_mark(listener->peers[index].address);
}

static void server_object_mark(void *data) {
    const struct rb_server *server = data;
    rb_gc_mark(server->self); /* so that it does not move */
    rb_gc_mark(server->app);
    rb_gc_mark(server->reply);
    rb_gc_mark(server->hybrid);
    rb_gc_mark(server->spawner);
    rb_gc_mark(server->resting);
    rb_gc_mark(server->called);
    rb_gc_mark(server->folder);
    rb_gc_mark(server->io);
    rb_gc_mark(server->scheduler);
    for (const struct rb_server_remainder *one = server->remainders; one; one = one->next) rb_gc_mark(one->body);
    for (const struct rb_server_secure *one = server->secures; one; one = one->next) rb_gc_mark(one->socket);
    for (int index = 0; index < SERVER_LISTENERS && server->listeners[index].name; index++) {
        server_object_mark_listener(&server->listeners[index]);
    }
}

static void server_object_free(void *data) {
    struct rb_server *server = data;
    if (server->generation == plait_generation()) server_close(&server->engine);
    xfree(server);
}

static size_t server_object_size(const void *data) {
    return sizeof(struct rb_server) + server_bytes(&((const struct rb_server *)data)->engine);
}

const rb_data_type_t plait_server_type = {
    .wrap_struct_name = "Plait::Server::NativeCore",
    .function = {.dmark = server_object_mark, .dfree = server_object_free, .dsize = server_object_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};
