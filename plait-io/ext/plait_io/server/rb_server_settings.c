/* The options of a server: from a Hash of Ruby's to the engine's struct. */
#include "rb_server.h"

#include <math.h>

VALUE plait_server_setting(VALUE settings, const char *name) {
    return rb_hash_fetch(settings, ID2SYM(rb_intern(name)));
}

static double server_settings_seconds_of(VALUE settings, const char *name) {
    VALUE value = plait_server_setting(settings, name);
    return NIL_P(value) ? INFINITY : NUM2DBL(value);
}

static uint32_t server_settings_number_of(VALUE settings, const char *name) {
    VALUE value = plait_server_setting(settings, name);
    return NIL_P(value) ? UINT32_MAX : NUM2UINT(value);
}

static struct http1_limits server_settings_limits_of(VALUE settings) {
    struct http1_limits limits = http1_default_limits;
    VALUE body = plait_server_setting(settings, "body");
    limits.body = NIL_P(body) ? UINT64_MAX : NUM2ULL(body);
    limits.start_line = server_settings_number_of(settings, "start_line");
    limits.head = server_settings_number_of(settings, "head");
    limits.headers = server_settings_number_of(settings, "headers");
    limits.chunk_extensions = server_settings_number_of(settings, "chunk_extensions");
    limits.trailer = server_settings_number_of(settings, "trailer");
    return limits;
}

struct server_settings plait_server_settings(VALUE settings, VALUE folder) {
    struct server_settings engine = {.limits = server_settings_limits_of(settings)};
    engine.seconds[SERVER_IDLE] = server_settings_seconds_of(settings, "idle_timeout");
    engine.seconds[SERVER_HEAD] = server_settings_seconds_of(settings, "head_timeout");
    engine.seconds[SERVER_BODY] = server_settings_seconds_of(settings, "body_timeout");
    engine.seconds[SERVER_STALLED] = server_settings_seconds_of(settings, "write_timeout");
    engine.seconds[SERVER_LINGER] = 2;
    engine.waiting = server_settings_seconds_of(settings, "queue_timeout");
    engine.spool = NUM2SIZET(plait_server_setting(settings, "spool"));
    engine.folder = StringValueCStr(folder);
    engine.connections = server_settings_number_of(settings, "connections");
    engine.descriptors = server_settings_number_of(settings, "descriptors");
    engine.requests = server_settings_number_of(settings, "requests");
    return engine;
}
