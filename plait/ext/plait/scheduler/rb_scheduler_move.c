/* The hooks io_read and io_write: between a descriptor and an IO::Buffer, and a wait only where there is nothing to move. */
#include "rb_scheduler_native.h"

#include <errno.h>
#include <fcntl.h>
#include <ruby/io.h>
#include <ruby/io/buffer.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { READABLE = PLAIT_READABLE, WRITABLE = PLAIT_WRITABLE };

static ID id_bounded, id_closed;
static VALUE basic_socket;

/*
 * Whether the last read of a descriptor found nothing at first: then the next one waits before it reads, which saves a
 * failed read(2). A hint only: it may be stale, or another descriptor's.
 */
enum { HINTS = 4096 };
static unsigned char was_empty[HINTS];

static unsigned char *scheduler_move_hint(int descriptor) {
    return &was_empty[(unsigned)descriptor % HINTS];
}

/* One io_read or io_write on its way. */
struct transfer {
    struct native *native;
    VALUE io;
    int descriptor;
    int is_socket;  /* recv(2) and send(2) take MSG_DONTWAIT, whatever mode the descriptor is in */
    int events;     /* what to wait for */
    char *base;     /* of the IO::Buffer, from the offset on */
    size_t room;    /* bytes from there to its end */
    size_t minimum; /* bytes to move before returning; with 0, any */
    int blocks;     /* it would wait, and is in blocking mode */
    int mode;       /* its flags for fcntl(2), when its mode was changed for this; else -1 */
};

static int scheduler_move_is_socket(VALUE io) {
    return RTEST(rb_obj_is_kind_of(io, basic_socket));
}

static int scheduler_move_is_nonblocking(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    return flags != -1 && (flags & O_NONBLOCK);
}

#if defined(HAVE_PREADV2) && defined(HAVE_PWRITEV2) && defined(RWF_NOWAIT)
/* A pipe can be asked not to wait whatever mode it is in (Linux 6.4), which saves an fcntl(2) to learn the mode. */
static ssize_t scheduler_move_nowait(const struct transfer *transfer) {
    struct iovec part = {.iov_base = transfer->base, .iov_len = transfer->room};
    if (transfer->events == READABLE) return preadv2(transfer->descriptor, &part, 1, -1, RWF_NOWAIT);
    return pwritev2(transfer->descriptor, &part, 1, -1, RWF_NOWAIT);
}
#else
static ssize_t scheduler_move_nowait(const struct transfer *transfer) {
    (void)transfer;
    errno = EOPNOTSUPP;
    return -1;
}
#endif

static ssize_t scheduler_move_plainly(const struct transfer *transfer) {
    if (transfer->events == READABLE) return read(transfer->descriptor, transfer->base, transfer->room);
    return write(transfer->descriptor, transfer->base, transfer->room);
}

static ssize_t scheduler_move_stream(struct transfer *transfer) {
    if (transfer->mode != -1) return scheduler_move_plainly(transfer);

    ssize_t moved = scheduler_move_nowait(transfer);
    if (moved >= 0 || (errno != EAGAIN && errno != EOPNOTSUPP && errno != ENOSYS && errno != ESPIPE)) return moved;

    int again = errno == EAGAIN;
    transfer->blocks = !scheduler_move_is_nonblocking(transfer->descriptor);
    if (again || transfer->blocks) {
        errno = EAGAIN;
        return -1;
    }
    return scheduler_move_plainly(transfer);
}

static ssize_t scheduler_move_once(struct transfer *transfer) {
    if (!transfer->is_socket) return scheduler_move_stream(transfer);
    if (transfer->events == READABLE) return recv(transfer->descriptor, transfer->base, transfer->room, MSG_DONTWAIT);
    return send(transfer->descriptor, transfer->base, transfer->room, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Another thread may close the IO meanwhile, and another file may get its number: that raises IOError. */
static void scheduler_move_wait_until_possible(struct transfer *transfer) {
    plait_native_await(transfer->native, transfer->io, transfer->events);
    transfer->descriptor = plait_descriptor_of(transfer->io);
}

/*
 * Returns the bytes moved, or -errno, as the hooks do; Qundef when the descriptor's mode is in the way. With a minimum of
 * 0 Ruby would take EAGAIN too, call io_wait and then this hook once more, with a new IO::Buffer: waiting here saves a
 * third of a switch. What must not wait (read_nonblock) does not come through the hooks.
 */
static VALUE scheduler_move_all(struct transfer *transfer) {
    size_t total = 0;
    while (transfer->room > 0) {
        ssize_t moved = scheduler_move_once(transfer);
        if (moved > 0) {
            total += (size_t)moved;
            transfer->base += moved;
            transfer->room -= (size_t)moved;
            if (total >= transfer->minimum) break;
        } else if (moved == 0) {
            break;
        } else if (errno == EINTR) {
            rb_thread_check_ints();
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (total > 0 && (transfer->minimum == 0 || transfer->blocks)) break;
            if (transfer->blocks) return Qundef;
            if (transfer->events == READABLE) *scheduler_move_hint(transfer->descriptor) = 1;
            scheduler_move_wait_until_possible(transfer);
        } else {
            return total > 0 ? SIZET2NUM(total) : INT2NUM(-errno);
        }
    }
    return SIZET2NUM(total);
}

/* Bytes that fill the whole buffer tell of more to come. */
static VALUE scheduler_move_read_after_waiting(struct transfer *transfer) {
    size_t room = transfer->room;
    scheduler_move_wait_until_possible(transfer);
    VALUE result = scheduler_move_all(transfer);
    if (transfer->room == 0 && room > 1) *scheduler_move_hint(transfer->descriptor) = 0;
    return result;
}

static VALUE scheduler_move_again(VALUE argument) {
    return scheduler_move_all((struct transfer *)argument);
}

static VALUE scheduler_move_restore_mode(VALUE argument) {
    const struct transfer *transfer = (const struct transfer *)argument;
    if (RTEST(rb_funcall(transfer->io, id_closed, 0))) return Qnil; /* another file may have its number */

    fcntl(transfer->descriptor, F_SETFL, transfer->mode);
    return Qnil;
}

/* Of a descriptor in blocking mode (standard input, say) that is not ready. Others may have it open too. */
static VALUE scheduler_move_in_other_mode(struct transfer *transfer) {
    transfer->mode = fcntl(transfer->descriptor, F_GETFL);
    if (transfer->mode == -1 || fcntl(transfer->descriptor, F_SETFL, transfer->mode | O_NONBLOCK) == -1) {
        return INT2NUM(-errno);
    }
    transfer->blocks = 0;
    return rb_ensure(scheduler_move_again, (VALUE)transfer, scheduler_move_restore_mode, (VALUE)transfer);
}

static VALUE scheduler_move_move(struct transfer *transfer) {
    int wait_first = transfer->events == READABLE && transfer->room > 0 && *scheduler_move_hint(transfer->descriptor);
    VALUE result = wait_first ? scheduler_move_read_after_waiting(transfer) : scheduler_move_all(transfer);
    return result == Qundef ? scheduler_move_in_other_mode(transfer) : result;
}

/* What Ruby has done meanwhile may have let another thread close the IO, and another file may have its number. */
static VALUE scheduler_move_within(RB_BLOCK_CALL_FUNC_ARGLIST(unused, argument)) {
    (void)unused, (void)argc, (void)argv, (void)blockarg;
    struct transfer *transfer = (struct transfer *)argument;
    transfer->descriptor = plait_descriptor_of(transfer->io);
    return scheduler_move_move(transfer);
}

static VALUE scheduler_move_transfer(int argc, VALUE *argv, VALUE self, int events) {
    rb_check_arity(argc, 3, 4);
    struct native *native = plait_native_in(self);
    if (!native->own) return rb_call_super(argc, argv);

    VALUE io = rb_io_get_io(argv[0]);
    struct transfer transfer = {
        .native = native, .io = io, .descriptor = plait_descriptor_of(io), .events = events, .mode = -1};
    transfer.is_socket = scheduler_move_is_socket(io);
    size_t offset = argc == 4 ? NUM2SIZET(argv[3]) : 0;
    size_t size;
    if (events == READABLE) {
        void *base;
        rb_io_buffer_get_bytes_for_writing(argv[1], &base, &size);
        transfer.base = base;
    } else {
        const void *base;
        rb_io_buffer_get_bytes_for_reading(argv[1], &base, &size);
        transfer.base = (char *)base;
    }
    if (offset > size) rb_raise(rb_eArgError, "the offset %"PRIuSIZE" is past the buffer's %"PRIuSIZE" bytes", offset, size);
    transfer.base += offset;
    transfer.room = size - offset;
    transfer.minimum = NUM2SIZET(argv[2]);
    if (plait_has_timeout(io)) return rb_block_call(self, id_bounded, 1, &io, scheduler_move_within, (VALUE)&transfer);
    VALUE result = scheduler_move_move(&transfer);
    if (events == WRITABLE && transfer.room == 0) native->written = transfer.descriptor + 1;
    return result;
}

/* io_read(io, buffer, length, offset = 0) */
static VALUE scheduler_move_io_read(int argc, VALUE *argv, VALUE self) {
    return scheduler_move_transfer(argc, argv, self, READABLE);
}

/* io_write(io, buffer, length, offset = 0) */
static VALUE scheduler_move_io_write(int argc, VALUE *argv, VALUE self) {
    return scheduler_move_transfer(argc, argv, self, WRITABLE);
}

void plait_scheduler_define_moves(VALUE native) {
    id_bounded = rb_intern("bounded");
    id_closed = rb_intern("closed?");
    rb_require("socket");
    basic_socket = rb_const_get(rb_cObject, rb_intern("BasicSocket"));
    rb_gc_register_mark_object(basic_socket);
    rb_define_method(native, "io_read", scheduler_move_io_read, -1);
    rb_define_method(native, "io_write", scheduler_move_io_write, -1);
}
