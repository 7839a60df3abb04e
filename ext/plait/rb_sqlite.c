/*
 * A loadable extension of SQLite (https://www.sqlite.org/loadext.html): while a statement of a connection that has loaded it
 * computes, Ruby gets its turn every millisecond. The gem sqlite3 keeps Ruby's lock all the time, so that Ruby may be
 * called at any moment; it offers no progress handler of its own, and hides SQLite's functions in its library.
 */
#include "plait.h"

/* Steps of SQLite's virtual machine between two looks at the clock: some tens of microseconds. */
enum { STEPS = 1000 };

static const double SLICE = 0.001;

/* What SQLite hands to its extensions: struct sqlite3_api_routines of sqlite3ext.h. It only ever grows at its end. */
struct sqlite_routines {
    void (*before[75])(void);                                                                    /* of no interest here */
    void (*progress_handler)(void *connection, int steps, int (*callback)(void *), void *data);
};

static double last_turn;
static ID id_turn;

static VALUE take_turn(VALUE unused) {
    (void)unused;
    return rb_funcall(rb_path2class("Plait::DB::Sqlite::Pace"), id_turn, 0);
}

/* Nothing of Ruby's may jump over SQLite. Not 0: the statement ends with SQLITE_INTERRUPT. */
static int progress(void *data) {
    (void)data;
    if (plait_now() - last_turn < SLICE) return 0;

    int state = 0;
    VALUE ends = rb_protect(take_turn, Qnil, &state);
    last_turn = plait_now();
    return state || RTEST(ends);
}

/* The name that SQLite makes of the file's. */
RUBY_FUNC_EXPORTED int sqlite3_plait_init(void *connection, char **message, const struct sqlite_routines *routines);

int sqlite3_plait_init(void *connection, char **message, const struct sqlite_routines *routines) {
    (void)message;
    id_turn = rb_intern("turn");
    routines->progress_handler(connection, STEPS, progress, NULL);
    return 0;
}
