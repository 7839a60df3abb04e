/* Receives a request from a connection that is ready, and has the app run it, holds it, or refuses it when too many run. */
#include "rb_server.h"

#include <ruby/thread.h>

static VALUE queued_key;

static bool server_request_is_last(const struct rb_server *server, const struct server_connection *connection) {
    return connection->requests + 1 >= server->engine.settings.requests;
}

static void server_request_run(struct rb_server *server, struct server_connection *connection,
                               const struct server_request *request) {
    struct exchange exchange = {.server = server, .number = connection->number, .generation = connection->generation,
                                .minor = connection->minor, .serial = connection->requests + 1, .status = Qnil,
                                .headers = Qnil, .persistent = request->head->persistent &&
                                    !server_request_is_last(server, connection)};
    plait_server_env(&exchange, connection, request);
    if (server->waited >= 0) rb_hash_aset(exchange.env, queued_key, DBL2NUM(server->waited));
    if (server_begin(&server->engine, connection, request) != 0) return server_drop(&server->engine, connection);

    server->running++;
    int state = plait_server_call_worker(server);
    if (state != 0) plait_server_abandon(&exchange);
    else state = NIL_P(server->hybrid) ? plait_server_perform(&exchange) : plait_server_run_hybrid(&exchange);
    server->running--;
    if (state != 0) rb_jump_tag(state);
    RB_GC_GUARD(exchange.env);
}

static void server_request_refuse(struct rb_server *server, struct server_connection *connection) {
    server->engine.counts.refused++;
    server_refuse(&server->engine, connection, 503, "the server is busy", "retry-after: 1\r\n", plait_server_now());
}

struct spooling {
    struct rb_server *server;
    struct server_connection *connection;
    bool done;
};

static void *server_request_spool_without_gvl(void *argument) {
    struct spooling *spooling = argument;
    server_spool(&spooling->server->engine, spooling->connection);
    spooling->done = true;
    return NULL;
}

/* Other threads go on, as if the app ran. With an interrupt at hand it is done all the same. */
static void server_request_spool_here(struct rb_server *server, struct server_connection *connection) {
    struct spooling spooling = {.server = server, .connection = connection};
    server->running++;
    int state = NIL_P(server->scheduler) ? plait_server_call_worker(server) : 0;
    rb_nogvl(server_request_spool_without_gvl, &spooling, NULL, NULL, RB_NOGVL_INTR_FAIL);
    if (!spooling.done) server_request_spool_without_gvl(&spooling);
    server->running--;
    server_give_back(&server->engine, connection);
    if (state != 0) rb_jump_tag(state);
}

/* The disk may be slow, and must not hold up a loop of fibers: the current fiber goes on with other connections at once. */
static void server_request_spool(struct rb_server *server, struct server_connection *connection) {
    if (!NIL_P(server->scheduler) && server_spool_offload(&server->engine, connection) == 0) return;
    server_request_spool_here(server, connection);
}

void plait_server_serve(struct rb_server *server, struct server_connection *connection) {
    struct server_request request;
    int result = server_receive(&server->engine, connection, &request, plait_server_now());
    if (result == SERVER_SPOOL) server_request_spool(server, connection);
    if (result != SERVER_REQUEST) return;
    if (server->running < server->limit) return server_request_run(server, connection, &request);
    if ((long)server->engine.held >= server->queue) return server_request_refuse(server, connection);
    if (server_hold(&server->engine, connection, &request, plait_server_now()) != 0) server_drop(&server->engine, connection);
}

void plait_server_init_request(void) {
    queued_key = rb_interned_str_cstr("plait.queued");
    rb_gc_register_mark_object(queued_key);
}
