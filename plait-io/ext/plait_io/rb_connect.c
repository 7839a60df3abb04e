/*
 * Plait::NativeConnect: connect(2) with a second look. A peer on this machine, or close by,
 * has accepted by the time that connect(2) returns, though it says EINPROGRESS. To see that here saves the caller a wait, and
 * so a fiber its switch, and a fan-out a fiber for each connection.
 *
 * And accept(2) without the peer's address, which Ruby keeps in two kilobytes each: 10,000 connections would leave 20 MB behind.
 */
#include <ruby.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "plait_io.h"

/* Returns 0 when it is connected, else why not: EINPROGRESS when that is not known yet. */
static int connect_look(int descriptor) {
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
    if (error == EINPROGRESS) error = connect_look(descriptor);
    return error == EINPROGRESS || error == EINTR ? Qnil : INT2FIX(error);
}

/* Neither survives an exec, nor blocks. */
static int connect_accept_one(int listener) {
#ifdef SOCK_NONBLOCK
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
#else
    int descriptor = accept(listener, NULL, NULL);
    if (descriptor < 0) return descriptor;

    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
    return descriptor;
#endif
}

/* accept(socket, nodelay) => descriptor; nil: no client has connected. The socket is one that doesn't block. */
static VALUE connect_accept(VALUE self, VALUE socket, VALUE nodelay) {
    (void)self;
    int descriptor = connect_accept_one(plait_descriptor_of(socket));
    if (descriptor >= 0) {
        int on = 1;
        if (RTEST(nodelay)) setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return INT2FIX(descriptor);
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Qnil;

    rb_sys_fail("accept(2)");
}

void plait_init_connect(VALUE plait) {
    VALUE native = rb_define_module_under(plait, "NativeConnect");
    rb_define_singleton_method(native, "begin", connect_begin, 2);
    rb_define_singleton_method(native, "accept", connect_accept, 2);
}
