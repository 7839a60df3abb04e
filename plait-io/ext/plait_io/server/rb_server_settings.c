/* The options of a server: from a Hash of Ruby's to the engine's struct. */
#include "rb_server.h"

#ifdef __linux__

#include <math.h>

VALUE plait_server_setting(VALUE settings, const char *name) {
    return rb_hash_fetch(settings, ID2SYM(rb_intern(name)));
}

static double seconds_of(VALUE settings, const char *name) {
    VALUE value = plait_server_setting(settings, name);
    return NIL_P(value) ? INFINITY : NUM2DBL(value);
}

static uint32_t number_of(VALUE settings, const char *name) {
    VALUE value = plait_server_setting(settings, name);
    return NIL_P(value) ? UINT32_MAX : NUM2UINT(value);
}

static struct http1_limits limits_of(VALUE settings) {
    struct http1_limits limits = http1_default_limits;
    VALUE body = plait_server_setting(settings, "body");
    limits.body = NIL_P(body) ? UINT64_MAX : NUM2ULL(body);
    limits.start_line = number_of(settings, "start_line");
    limits.head = number_of(settings, "head");
    limits.headers = number_of(settings, "headers");
    limits.chunk_extensions = number_of(settings, "chunk_extensions");
    limits.trailer = number_of(settings, "trailer");
    return limits;
}

struct server_settings plait_server_settings(VALUE settings, VALUE folder) {
    struct server_settings engine = {.limits = limits_of(settings)};
    engine.seconds[SERVER_IDLE] = seconds_of(settings, "idle_timeout");
    engine.seconds[SERVER_HEAD] = seconds_of(settings, "head_timeout");
    engine.seconds[SERVER_BODY] = seconds_of(settings, "body_timeout");
    engine.seconds[SERVER_STALLED] = seconds_of(settings, "write_timeout");
    engine.seconds[SERVER_LINGER] = 2;
    engine.waiting = seconds_of(settings, "queue_timeout");
    engine.spool = NUM2SIZET(plait_server_setting(settings, "spool"));
    engine.folder = StringValueCStr(folder);
    engine.connections = number_of(settings, "connections");
    engine.descriptors = number_of(settings, "descriptors");
    engine.requests = number_of(settings, "requests");
    return engine;
}

#endif
