/*
 * Plait::HTTP::NativeCheckout: Connections::Cache#get, the ordinary call from the cache's idle connection to the response, without a
 * frame of Ruby. Everything else returns nil, and goes by Connections#with.
 *
 * Ruby looks for interrupts where a method returns and where C code waits. Between taking the entry and rb_rescue2, and between
 * putting it back and the return, there is neither: no mask is needed.
 */
#include "rb_wire_checkout.h"

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

struct checkout {
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
static bool checkout_serves(VALUE route, VALUE url) {
    VALUE prefix = rb_ivar_get(route, id_prefix);
    long size = RSTRING_LEN(prefix);
    if (RSTRING_LEN(url) < size || memcmp(RSTRING_PTR(url), RSTRING_PTR(prefix), (size_t)size) != 0) return false;

    char next = RSTRING_LEN(url) > size ? RSTRING_PTR(url)[size] : '/';
    return next == '/' || next == '?' || next == '#';
}

static bool checkout_is_fresh(const struct checkout *checkout) {
    const struct wire *wire = plait_wire_of(checkout->wire);
    if (!plait_wire_reusable(wire)) return false;

    VALUE most = rb_ivar_get(checkout->cache, id_idle_timeout);
    return NIL_P(most) || plait_now() - NUM2DBL(rb_struct_aref(checkout->entry, INT2FIX(ENTRY_SINCE))) < NUM2DBL(most);
}

/* The newest idle connection; it stays where it is if it is no plain case. */
static bool checkout_take(struct checkout *checkout) {
    checkout->entries = rb_ivar_get(checkout->cache, id_entries);
    checkout->connections = rb_ivar_get(checkout->cache, id_connections);
    long count = RARRAY_LEN(checkout->entries);
    if (count == 0) return false;

    checkout->entry = RARRAY_AREF(checkout->entries, count - 1);
    checkout->wire = rb_struct_aref(checkout->entry, INT2FIX(ENTRY_WIRE));
    if (!rb_typeddata_is_kind_of(checkout->wire, &plait_wire_type) || !checkout_is_fresh(checkout)) return false;

    rb_ary_pop(checkout->entries);
    return true;
}

/* ---- its way back ---- */

static bool checkout_keeps(const struct checkout *checkout) {
    if (!checkout->exchange.finished || !plait_wire_reusable(checkout->exchange.wire)) return false;
    if (RHASH_SIZE(rb_ivar_get(checkout->connections, id_waiting)) > 0) return false;
    if (rb_ivar_get(checkout->connections, id_cache) != checkout->cache) return false;
    return RARRAY_LEN(checkout->entries) < NUM2LONG(rb_ivar_get(checkout->cache, id_most));
}

static VALUE checkout_end(VALUE argument) {
    const struct checkout *checkout = (const struct checkout *)argument;
    if (checkout_keeps(checkout)) {
        rb_struct_aset(checkout->entry, INT2FIX(ENTRY_SINCE), DBL2NUM(plait_now()));
        rb_ary_push(checkout->entries, checkout->entry);
    } else {
        rb_funcall(checkout->connections, id_take_back, 1, checkout->wire);
    }
    return Qnil;
}

/* ---- the exchange ---- */

static VALUE checkout_look(VALUE wire) {
    return plait_wire_unasked((struct wire *)wire) ? Qtrue : Qfalse;
}

static VALUE checkout_is_stale(VALUE unused, VALUE error) {
    (void)unused, (void)error;
    return Qtrue;
}

/* A second answer to the last request would be taken for the one to the next. */
static VALUE checkout_run(VALUE argument) {
    struct checkout *checkout = (struct checkout *)argument;
    struct wire *wire = checkout->exchange.wire;
    if (plait_wire_quietly(wire, checkout_look, (VALUE)wire, checkout_is_stale) == Qtrue) {
        checkout->stale = true;
        plait_wire_release(wire);
        return Qnil;
    }
    return plait_wire_get(&checkout->exchange);
}

static VALUE checkout_exchange(VALUE argument) {
    return rb_ensure(checkout_run, argument, checkout_end, argument);
}

static VALUE checkout_recover(VALUE argument, VALUE error) {
    const struct checkout *checkout = (const struct checkout *)argument;
    const struct exchange *exchange = &checkout->exchange;
    return rb_funcall(checkout->direct, id_recover, 4, exchange->url, error, exchange->wire->received ? Qfalse : Qtrue,
                      DBL2NUM(exchange->started));
}

static VALUE checkout_error_class(void) {
    if (NIL_P(error_class)) error_class = rb_path2class("Plait::Error");
    return error_class;
}

/* ---- in Ruby ---- */

/*
 * get(direct, route, url, timeouts) => Response, or nil: another way has to be found, and nothing was sent. `direct` gets an error
 * by `recover`, and by `judge` a response that may not be what the caller wants.
 */
static VALUE checkout_get(VALUE self, VALUE direct, VALUE route, VALUE url, VALUE timeouts) {
    struct checkout checkout = {.cache = self, .direct = direct};
    if (NIL_P(route) || rb_ivar_get(self, id_route) != route || !RB_TYPE_P(url, T_STRING)) return Qnil;
    if (!checkout_serves(route, url) || !checkout_take(&checkout)) return Qnil;

    plait_wire_init_exchange(&checkout.exchange, checkout.wire);
    checkout.exchange.first = checkout.exchange.url = url;
    checkout.exchange.second = rb_ivar_get(route, id_block);
    checkout.exchange.offset = NUM2SIZET(rb_ivar_get(route, id_offset));
    checkout.exchange.timeouts = timeouts;
    VALUE reused = rb_ivar_get(checkout.connections, id_reused);
    rb_ivar_set(checkout.connections, id_reused, LONG2NUM(NUM2LONG(reused) + 1));
    VALUE argument = (VALUE)&checkout;
    VALUE response = rb_rescue2(checkout_exchange, argument, checkout_recover, argument, checkout_error_class(), (VALUE)0);
    RB_GC_GUARD(checkout.wire);
    if (checkout.stale || !checkout.exchange.finished || plait_response_is_plain(response)) return response;
    return rb_funcall(direct, id_judge, 3, url, response, DBL2NUM(checkout.exchange.started));
}

void plait_define_wire_checkout(VALUE http) {
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
    VALUE checkout = rb_define_module_under(http, "NativeCheckout");
    rb_define_method(checkout, "get", checkout_get, 4);
}
