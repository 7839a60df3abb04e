/*
 * A loadable extension of SQLite (https://www.sqlite.org/loadext.html): while a statement of a connection that has loaded it
 * computes, Ruby gets its turn every millisecond, and while it waits for another connection's lock, all the time. The gem
 * sqlite3 keeps Ruby's lock all the time, so that Ruby may be called at any moment; it offers no progress handler of its own,
 * lets exceptions through SQLite from its busy handler, and hides SQLite's functions in its library.
 *
 * And what the child of a fork has to do with the connections of its parent.
 */
#include "plait_io.h"

/* Steps of SQLite's virtual machine between two looks at the clock: some tens of microseconds. */
enum { STEPS = 1000 };

/* SQLITE_FCNTL_FILE_POINTER of sqlite3.h. */
enum { FILE_POINTER = 7 };

/* Seconds for all statements that compute at once together, and the least that one gets: else a switch would cost more. */
static const double SLICE = 0.001;
static const double SHORTEST = 0.0001;

/* What SQLite hands to its extensions: struct sqlite3_api_routines of sqlite3ext.h. It only ever grows at its end. */
struct sqlite_routines {
    void (*before_busy[13])(void);                                                               /* of no interest here */
    int (*busy_handler)(void *connection, int (*callback)(void *, int), void *data);
    void (*before_progress[61])(void);
    void (*progress_handler)(void *connection, int steps, int (*callback)(void *), void *data);
    void (*before_file_control[51])(void);
    int (*file_control)(void *connection, const char *name, int what, void *argument);
};

/* The beginning of struct sqlite3_file of sqlite3.h. */
struct sqlite_file {
    const struct {
        int version;
        int (*close)(struct sqlite_file *file);
    } *methods;
};

static const struct sqlite_routines *known;
static double last_turn;
static int parked; /* statements in the middle of which others have their turn */
static ID id_turn, id_locked, id_keep_error;

static VALUE sqlite_pace(void) {
    return rb_path2class("Plait::DB::Sqlite::Pace");
}

static VALUE sqlite_take_turn(VALUE unused) {
    (void)unused;
    return rb_funcall(sqlite_pace(), id_turn, 0);
}

static VALUE sqlite_keep(VALUE error) {
    return rb_funcall(sqlite_pace(), id_keep_error, 1, error);
}

/* What rb_protect has caught goes to the caller once SQLite has returned; a kill or a throw as nil. */
static void sqlite_keep_error(void) {
    VALUE error = rb_errinfo();
    bool exception = RB_TYPE_P(error, T_OBJECT) && RTEST(rb_obj_is_kind_of(error, rb_eException));
    rb_set_errinfo(Qnil);
    int state = 0;
    rb_protect(sqlite_keep, exception ? error : Qnil, &state);
    if (state) rb_set_errinfo(Qnil);
}

static double sqlite_slice(void) {
    double share = SLICE / (parked + 1);
    return share > SHORTEST ? share : SHORTEST;
}

/* Nothing of Ruby's may jump over SQLite. Not 0: the statement ends with SQLITE_INTERRUPT. */
static int sqlite_progress(void *data) {
    (void)data;
    if (plait_now() - last_turn < sqlite_slice()) return 0;

    int state = 0;
    parked++;
    VALUE ends = rb_protect(sqlite_take_turn, Qnil, &state);
    parked--;
    if (state) sqlite_keep_error();
    last_turn = plait_now();
    return state || RTEST(ends);
}

static VALUE sqlite_await_lock(VALUE tries) {
    return rb_funcall(sqlite_pace(), id_locked, 1, tries);
}

/* 0: the statement ends with SQLITE_BUSY. */
static int sqlite_busy(void *data, int tries) {
    (void)data;
    int state = 0;
    VALUE again = rb_protect(sqlite_await_lock, INT2FIX(tries), &state);
    if (state) sqlite_keep_error();
    return !state && RTEST(again);
}

/* The name that SQLite makes of the file's. */
RUBY_FUNC_EXPORTED int sqlite3_plaitio_init(void *connection, char **message, const struct sqlite_routines *routines);

int sqlite3_plaitio_init(void *connection, char **message, const struct sqlite_routines *routines) {
    (void)message;
    known = routines;
    routines->busy_handler(connection, sqlite_busy, NULL);
    routines->progress_handler(connection, STEPS, sqlite_progress, NULL);
    return 0;
}

/* What the gem's objects begin with: a connection's sqlite3 *, a statement's sqlite3_stmt *. */
static void **sqlite_handle(VALUE object) {
    return RTYPEDDATA_DATA(object);
}

/* @return [Integer] the address of what SQLite knows of the file of a connection */
static VALUE sqlite_file_of(VALUE self, VALUE connection) {
    (void)self;
    struct sqlite_file *file = NULL;
    void *sqlite = *sqlite_handle(connection);
    if (!known || !sqlite || known->file_control(sqlite, NULL, FILE_POINTER, &file) || !file) return Qnil;

    return ULL2NUM((uintptr_t)file);
}

/*
 * Without the connection's mutex, which another thread of the parent may have had. What SQLite has allocated stays: the child
 * may not walk through it. The file itself must be closed, or a new connection of the child to it would be taken for one
 * that shares the parent's locks.
 */
static VALUE sqlite_discard(VALUE self, VALUE connection, VALUE file, VALUE statements) {
    (void)self;
    for (long i = 0; i < RARRAY_LEN(statements); i++) *sqlite_handle(RARRAY_AREF(statements, i)) = NULL;
    if (!*sqlite_handle(connection)) return Qnil;

    *sqlite_handle(connection) = NULL;
    struct sqlite_file *inherited = (struct sqlite_file *)(uintptr_t)NUM2ULL(file);
    if (inherited->methods) inherited->methods->close(inherited);
    return Qnil;
}

void plait_init_sqlite(VALUE plait) {
    VALUE native = rb_define_module_under(plait, "Native");
    rb_define_singleton_method(native, "sqlite_file", sqlite_file_of, 1);
    rb_define_singleton_method(native, "discard_sqlite", sqlite_discard, 3);
    id_turn = rb_intern("turn");
    id_locked = rb_intern("locked");
    id_keep_error = rb_intern("keep_error");
}
