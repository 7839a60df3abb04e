/*
 * Reading, writing and polling pipes without a wait, in one system call each. Ruby's own methods ask for the descriptor's flags
 * each time, and take a buffer as large as what might be there.
 */
#include "plait_bindings.h"

#include <errno.h>
#include <poll.h>
#include <ruby/io.h>
#include <stdbool.h>
#include <unistd.h>

#define MOST 65536

static VALUE wait_readable, wait_writable;

int plait_descriptor_of(VALUE io) {
#ifdef HAVE_RB_IO_DESCRIPTOR
    return rb_io_descriptor(io);
#else
    rb_io_t *fptr;
    GetOpenFile(io, fptr);
    return fptr->fd;
#endif
}

/* NativePipe.read(io, most): the bytes that are here, :wait_readable, or nil at the end. */
static VALUE pipe_read(VALUE self, VALUE io, VALUE most) {
    static char bytes[MOST]; /* with the GVL, and in the main ractor only */
    (void)self;
    int descriptor = plait_descriptor_of(io);
    size_t wanted = NUM2SIZET(most);
    ssize_t count;
    do count = read(descriptor, bytes, wanted < MOST ? wanted : MOST);
    while (count < 0 && errno == EINTR);
    if (count > 0) return rb_str_new(bytes, count);
    if (count == 0) return Qnil;
    if (errno == EAGAIN) return wait_readable;
    rb_sys_fail("read(2) of a pipe");
}

/* NativePipe.write(io, bytes): how many of them, or :wait_writable */
static VALUE pipe_write(VALUE self, VALUE io, VALUE bytes) {
    (void)self;
    int descriptor = plait_descriptor_of(io);
    StringValue(bytes);
    ssize_t count;
    do count = write(descriptor, RSTRING_PTR(bytes), RSTRING_LEN(bytes));
    while (count < 0 && errno == EINTR);
    if (count >= 0) return SSIZET2NUM(count);
    if (errno == EAGAIN) return wait_writable;
    rb_sys_fail("write(2) to a pipe");
}

/* What select(2) takes for ready in each of its three sets. */
static const short SETS[] = {POLLIN | POLLHUP | POLLERR, POLLOUT | POLLERR, POLLPRI};

static int pipe_count(VALUE list) {
    return NIL_P(list) ? 0 : (int)RARRAY_LEN(list);
}

/*
 * NativePipe.ready?(readables, writables, exceptables): whether IO.select would find any; each list an Array of IOs or nil. False
 * where poll(2) fails: it takes no more entries than the process may have descriptors, and a list may name one many times.
 */
static VALUE pipe_ready(VALUE self, VALUE readables, VALUE writables, VALUE exceptables) {
    (void)self;
    const VALUE lists[] = {readables, writables, exceptables};
    const int sizes[] = {pipe_count(readables), pipe_count(writables), pipe_count(exceptables)};
    int count = 0;
    VALUE buffer;
    struct pollfd *files = ALLOCV_N(struct pollfd, buffer, sizes[0] + sizes[1] + sizes[2] + 1);
    for (int set = 0; set < 3; set++)
        for (int i = 0; i < sizes[set] && i < pipe_count(lists[set]); i++) { /* `to_io` of an entry may change the list */
            VALUE io = rb_io_get_io(RARRAY_AREF(lists[set], i));
            if (set == 1) io = rb_io_get_write_io(io);
            files[count++] = (struct pollfd){.fd = plait_descriptor_of(io), .events = SETS[set]};
        }
    int found;
    do found = poll(files, count, 0);
    while (found < 0 && errno == EINTR);
    bool ready = false;
    for (int i = 0; i < count && found > 0; i++) ready |= (files[i].revents & (files[i].events | POLLNVAL)) != 0;
    ALLOCV_END(buffer);
    return ready ? Qtrue : Qfalse;
}

void plait_init_pipe(VALUE plait) {
    wait_readable = ID2SYM(rb_intern("wait_readable"));
    wait_writable = ID2SYM(rb_intern("wait_writable"));
    VALUE native = rb_define_module_under(plait, "NativePipe");
    rb_define_singleton_method(native, "read", pipe_read, 2);
    rb_define_singleton_method(native, "write", pipe_write, 2);
    rb_define_singleton_method(native, "ready?", pipe_ready, 3);
}
