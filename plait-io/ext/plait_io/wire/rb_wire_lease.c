/*
 * Plait::HTTP::NativeLease: Connections::Cache#get, the ordinary call from the cache's idle connection to the response, without a
 * frame of Ruby. Everything else returns nil, and goes by Connections#with.
 *
 * Ruby looks for interrupts where a method returns and where C code waits. Between taking the entry and rb_rescue2, and between
 * putting it back and the return, there is neither: no mask is needed.
 */
#include "rb_wire_lease.h"

#include "../plait_io.h"
#include "rb_response.h"
#include "rb_wire_exchange.h"
#include "rb_wire_methods.h"
#include "rb_wire_move.h"

/* Members of Connections::Cache::Entry. */
enum { ENTRY_WIRE, ENTRY_SINCE };

static ID id_route, id_prefix, id_offset, id_block, id_entries, id_connections, id_idle_timeout, id_most;
static ID id_cache, id_waiting, id_reused, id_take_back, id_recover, id_judge;
static VALUE error_class = Qnil;

struct lease {
    VALUE cache;
    VALUE connections;
    VALUE direct;
    VALUE entries;
    VALUE entry;
    VALUE wire;
    bool stale; /* nothing was sent */
    struct exchange exchange;
};

/* ---- which connection ---- */

/* As Route#serves? */
static bool lease_serves(VALUE route, VALUE url) {
    VALUE prefix = rb_ivar_get(route, id_prefix);
    long size = RSTRING_LEN(prefix);
    if (RSTRING_LEN(url) < size || memcmp(RSTRING_PTR(url), RSTRING_PTR(prefix), (size_t)size) != 0) return false;

    char next = RSTRING_LEN(url) > size ? RSTRING_PTR(url)[size] : '/';
    return next == '/' || next == '?' || next == '#';
}

/* Plain and in time; TLS may call Ruby before anything is sent. */
static bool lease_is_fresh(const struct lease *lease) {
    const struct wire *wire = plait_wire_of(lease->wire);
    if (wire->tls || !plait_wire_reusable(wire)) return false;

    VALUE most = rb_ivar_get(lease->cache, id_idle_timeout);
    return NIL_P(most) || plait_now() - NUM2DBL(rb_struct_aref(lease->entry, INT2FIX(ENTRY_SINCE))) < NUM2DBL(most);
}

/* The newest idle connection; it stays where it is if it is no plain case. */
static bool lease_take(struct lease *lease) {
    lease->entries = rb_ivar_get(lease->cache, id_entries);
    lease->connections = rb_ivar_get(lease->cache, id_connections);
    long count = RARRAY_LEN(lease->entries);
    if (count == 0) return false;

    lease->entry = RARRAY_AREF(lease->entries, count - 1);
    lease->wire = rb_struct_aref(lease->entry, INT2FIX(ENTRY_WIRE));
    if (!rb_typeddata_is_kind_of(lease->wire, &plait_wire_type) || !lease_is_fresh(lease)) return false;

    rb_ary_pop(lease->entries);
    return true;
}

/* ---- its way back ---- */

static bool lease_keeps(const struct lease *lease) {
    if (!lease->exchange.finished || !plait_wire_reusable(lease->exchange.wire)) return false;
    if (FIX2LONG(rb_ivar_get(lease->connections, id_waiting)) > 0) return false;
    if (rb_ivar_get(lease->connections, id_cache) != lease->cache) return false;
    return RARRAY_LEN(lease->entries) < NUM2LONG(rb_ivar_get(lease->cache, id_most));
}

static VALUE lease_end(VALUE argument) {
    const struct lease *lease = (const struct lease *)argument;
    if (lease_keeps(lease)) {
        rb_struct_aset(lease->entry, INT2FIX(ENTRY_SINCE), DBL2NUM(plait_now()));
        rb_ary_push(lease->entries, lease->entry);
    } else {
        rb_funcall(lease->connections, id_take_back, 1, lease->wire);
    }
    return Qnil;
}

/* ---- the exchange ---- */

static VALUE lease_look(VALUE wire) {
    return plait_wire_unasked((struct wire *)wire) ? Qtrue : Qfalse;
}

static VALUE lease_is_stale(VALUE unused, VALUE error) {
    (void)unused, (void)error;
    return Qtrue;
}

/* A second answer to the last request would be taken for the one to the next. */
static VALUE lease_run(VALUE argument) {
    struct lease *lease = (struct lease *)argument;
    struct wire *wire = lease->exchange.wire;
    if (plait_wire_quietly(wire, lease_look, (VALUE)wire, lease_is_stale) == Qtrue) {
        lease->stale = true;
        plait_wire_release(wire);
        return Qnil;
    }
    return plait_wire_get(&lease->exchange);
}

static VALUE lease_exchange(VALUE argument) {
    return rb_ensure(lease_run, argument, lease_end, argument);
}

static VALUE lease_recover(VALUE argument, VALUE error) {
    const struct lease *lease = (const struct lease *)argument;
    const struct exchange *exchange = &lease->exchange;
    return rb_funcall(lease->direct, id_recover, 4, exchange->url, error, exchange->wire->received ? Qfalse : Qtrue,
                      DBL2NUM(exchange->started));
}

static VALUE lease_error_class(void) {
    if (NIL_P(error_class)) error_class = rb_path2class("Plait::Error");
    return error_class;
}

/* ---- in Ruby ---- */

/*
 * get(direct, route, url, timeouts) => Response, or nil: another way has to be found, and nothing was sent. `direct` gets an error
 * by `recover`, and by `judge` a response that may not be what the caller wants.
 */
static VALUE lease_get(VALUE self, VALUE direct, VALUE route, VALUE url, VALUE timeouts) {
    struct lease lease = {.cache = self, .direct = direct};
    if (NIL_P(route) || rb_ivar_get(self, id_route) != route || !RB_TYPE_P(url, T_STRING)) return Qnil;
    if (!lease_serves(route, url) || !lease_take(&lease)) return Qnil;

    plait_wire_init_exchange(&lease.exchange, lease.wire);
    lease.exchange.first = lease.exchange.url = url;
    lease.exchange.second = rb_ivar_get(route, id_block);
    lease.exchange.offset = NUM2SIZET(rb_ivar_get(route, id_offset));
    lease.exchange.timeouts = timeouts;
    VALUE reused = rb_ivar_get(lease.connections, id_reused);
    rb_ivar_set(lease.connections, id_reused, LONG2NUM(NUM2LONG(reused) + 1));
    VALUE argument = (VALUE)&lease;
    VALUE response = rb_rescue2(lease_exchange, argument, lease_recover, argument, lease_error_class(), (VALUE)0);
    RB_GC_GUARD(lease.wire);
    if (lease.stale || !lease.exchange.finished || plait_response_is_plain(response)) return response;
    return rb_funcall(direct, id_judge, 3, url, response, DBL2NUM(lease.exchange.started));
}

void plait_define_wire_lease(VALUE http) {
    rb_gc_register_address(&error_class);
    id_route = rb_intern("@route");
    id_prefix = rb_intern("@prefix");
    id_offset = rb_intern("@offset");
    id_block = rb_intern("@block");
    id_entries = rb_intern("@entries");
    id_connections = rb_intern("@connections");
    id_idle_timeout = rb_intern("@idle_timeout");
    id_most = rb_intern("@most");
    id_cache = rb_intern("@cache");
    id_waiting = rb_intern("@waiting");
    id_reused = rb_intern("@reused");
    id_take_back = rb_intern("take_back");
    id_recover = rb_intern("recover");
    id_judge = rb_intern("judge");
    VALUE lease = rb_define_module_under(http, "NativeLease");
    rb_define_method(lease, "get", lease_get, 4);
}
