/*
 * Plait::NativeConnect: connect(2) with a second look. A peer on this machine, or close by,
 * has accepted by the time that connect(2) returns, though it says EINPROGRESS. To see that here saves the caller a wait, and
 * so a fiber its switch, and a fan-out a fiber for each connection.
 */
#include <ruby.h>

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "plait.h"
#include "rb_selector.h"

/* Returns 0 when it is connected, else why not: EINPROGRESS when that is not known yet. */
static int look(int descriptor) {
    struct pollfd file = {.fd = descriptor, .events = POLLOUT};
    if (poll(&file, 1, 0) <= 0) return EINPROGRESS;

    int error = 0;
    socklen_t size = sizeof error;
    return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

/* begin(socket, sockaddr) => 0: it is connected; nil: wait until it is writable, and connect again; else an errno */
static VALUE connect_begin(VALUE self, VALUE socket, VALUE address) {
    (void)self;
    StringValue(address);
    int descriptor = plait_descriptor_of(socket);
    int error = 0;
    if (connect(descriptor, (const struct sockaddr *)RSTRING_PTR(address), (socklen_t)RSTRING_LEN(address)) != 0) error = errno;
    RB_GC_GUARD(address);
    if (error == EINPROGRESS) error = look(descriptor);
    return error == EINPROGRESS || error == EINTR ? Qnil : INT2FIX(error);
}

void plait_init_connect(VALUE plait) {
    VALUE native = rb_define_module_under(plait, "NativeConnect");
    rb_define_singleton_method(native, "begin", connect_begin, 2);
}
