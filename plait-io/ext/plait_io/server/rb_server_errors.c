/* Tells an exception of the app from one that ends its thread or fiber, or the process. */
#include "rb_server.h"

static ID id_sent;

static VALUE server_errors_was_sent(VALUE error) {
    return rb_funcall(rb_path2class("Plait::Server::Signals"), id_sent, 1, error);
}

/* Signals come to the main thread: elsewhere it was the app that has raised one. There it may have been, too. */
static bool server_errors_is_signal(VALUE error) {
    if (!rb_obj_is_kind_of(error, rb_eSignal) || rb_thread_current() != rb_thread_main()) return false;

    int failed = 0;
    bool sent = RTEST(rb_protect(server_errors_was_sent, error, &failed));
    rb_set_errinfo(error);
    return sent || failed != 0;
}

bool plait_server_is_error(VALUE error) {
    if (!RTEST(error) || RB_SPECIAL_CONST_P(error) || RB_BUILTIN_TYPE(error) == T_IMEMO) return false;
    if (!rb_obj_is_kind_of(error, rb_eException) || server_errors_is_signal(error)) return false;
    return !rb_obj_is_kind_of(error, rb_path2class("Plait::Mechanisms::Interruption"));
}

void plait_server_init_errors(void) {
    id_sent = rb_intern("sent?");
}
