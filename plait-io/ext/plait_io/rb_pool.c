/*
 * Plait::Pool#with, as long as no thread waits: an idle connection is taken, lent and given back under Ruby's own lock, without
 * the pool's. Between taking it and rb_ensure no interrupt can come in. Everything else is the pool's own, in Ruby.
 */
#include "plait_io.h"

/* What rb_protect says of a block that was left by `break`, `return` or `next`: the same since Ruby 1.9. */
enum { LEFT_BY_NEXT = 3 }; /* and 1 by `return`, 2 by `break`, 0: it came to its end */

static ID id_books_idle, id_books_waiting, id_check_after, id_closed, id_key, id_connection, id_good_until, id_retire_at, id_holder,
    id_take_back, id_generation, id_sweep_at;

/* A connection that is lent, for as long as the block runs. */
struct loan {
    VALUE pool;
    VALUE entry; /* Plait::Pool::Entry */
    ID key;      /* the fiber's variable that says what it has */
    int state;   /* how the block has ended */
};

static bool pool_is_ours(VALUE pool) {
    return rb_ivar_get(pool, id_generation) == UINT2NUM(plait_generation());
}

static bool pool_somebody_waits(VALUE pool) {
    return RHASH_SIZE(rb_ivar_get(pool, id_books_waiting)) > 0;
}

/* False: it is not as simple as that. */
static bool pool_take(struct loan *loan) {
    VALUE pool = loan->pool;
    if (pool_somebody_waits(pool) || !pool_is_ours(pool)) return false;

    VALUE idle = rb_ivar_get(pool, id_books_idle);
    long count = RARRAY_LEN(idle);
    if (count == 0) return false;

    VALUE entry = RARRAY_AREF(idle, count - 1);
    if (NUM2DBL(rb_ivar_get(entry, id_good_until)) <= plait_now()) return false;

    loan->key = SYM2ID(rb_ivar_get(pool, id_key));
    if (!NIL_P(rb_thread_local_aref(rb_thread_current(), loan->key))) return false;

    loan->entry = rb_ary_pop(idle);
    return true;
}

static bool pool_is_simple(VALUE pool, double now) {
    return !pool_somebody_waits(pool) && pool_is_ours(pool) && !RTEST(rb_ivar_get(pool, id_closed)) &&
           now < NUM2DBL(rb_ivar_get(pool, id_sweep_at));
}

static void pool_rest(VALUE pool, VALUE entry, double now) {
    double until = now + NUM2DBL(rb_ivar_get(pool, id_check_after));
    double retire = NUM2DBL(rb_ivar_get(entry, id_retire_at));
    rb_ivar_set(entry, id_good_until, DBL2NUM(until < retire ? until : retire));
    rb_ivar_set(entry, id_holder, Qnil);
    rb_ary_push(rb_ivar_get(pool, id_books_idle), entry);
}

/* rb_errinfo: nil, an exception, or what a throw or a kill leaves there. */
static VALUE pool_standard_error(void) {
    VALUE error = rb_errinfo();
    return RB_TYPE_P(error, T_OBJECT) && RTEST(rb_obj_is_kind_of(error, rb_eStandardError)) ? error : Qnil;
}

static VALUE pool_yield_connection(VALUE argument) {
    const struct loan *loan = (const struct loan *)argument;
    return rb_yield(rb_ivar_get(loan->entry, id_connection));
}

/* Remembers how the block has ended; nothing of Ruby's may come between the two, which keep that in one place. */
static VALUE pool_run(VALUE argument) {
    struct loan *loan = (struct loan *)argument;
    VALUE value = rb_protect(pool_yield_connection, argument, &loan->state);
    if (loan->state) rb_jump_tag(loan->state);
    return value;
}

static VALUE pool_finish(VALUE argument) {
    const struct loan *loan = (const struct loan *)argument;
    rb_thread_local_aset(rb_thread_current(), loan->key, Qnil);
    bool finished = loan->state <= LEFT_BY_NEXT;
    double now = plait_now();
    if (finished && pool_is_simple(loan->pool, now)) {
        pool_rest(loan->pool, loan->entry, now);
    } else {
        VALUE error = finished ? Qnil : pool_standard_error();
        rb_funcall(loan->pool, id_take_back, 3, loan->entry, finished ? Qtrue : Qfalse, error);
    }
    return Qnil;
}

static VALUE pool_lend(struct loan *loan) {
    rb_thread_local_aset(rb_thread_current(), loan->key, loan->entry);
    VALUE value = rb_ensure(pool_run, (VALUE)loan, pool_finish, (VALUE)loan);
    RB_GC_GUARD(loan->entry);
    return value;
}

/* @overload with(timeout:, &block) */
static VALUE pool_with(int argc, VALUE *argv, VALUE self) {
    struct loan loan = {.pool = self};
    if (argc > 0 || !rb_block_given_p() || !pool_take(&loan)) return rb_call_super_kw(argc, argv, RB_PASS_CALLED_KEYWORDS);

    return pool_lend(&loan);
}

/* @overload use(entry, &block) */
static VALUE pool_use(VALUE self, VALUE entry) {
    struct loan loan = {.pool = self, .entry = entry, .key = SYM2ID(rb_ivar_get(self, id_key))};
    return pool_lend(&loan);
}

/* As new: what there is belongs to this process. */
static VALUE pool_open(VALUE self) {
    rb_ivar_set(self, id_generation, UINT2NUM(plait_generation()));
    return rb_call_super(0, NULL);
}

void plait_init_pool(VALUE plait) {
    VALUE lending = rb_define_module_under(rb_define_module_under(plait, "Native"), "Lending");
    rb_define_method(lending, "with", pool_with, -1);
    rb_define_private_method(lending, "use", pool_use, 1);
    rb_define_private_method(lending, "open", pool_open, 0);
    id_books_idle = rb_intern("@idle");
    id_books_waiting = rb_intern("@waiting");
    id_check_after = rb_intern("@check_after");
    id_closed = rb_intern("@closed");
    id_key = rb_intern("@key");
    id_generation = rb_intern("@generation");
    id_connection = rb_intern("@connection");
    id_good_until = rb_intern("@good_until");
    id_retire_at = rb_intern("@retire_at");
    id_holder = rb_intern("@holder");
    id_sweep_at = rb_intern("@sweep_at");
    id_take_back = rb_intern("take_back");
}
