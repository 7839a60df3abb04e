/*
 * The hot part of Plait::Scheduler: the hooks that touch descriptors, and the loop between two events. The Ruby twins are
 * in lib/plait/mechanisms/scheduler/io_hooks.rb and scheduler.rb (`poll`); by `super` a wait with a timeout goes there, and
 * all that has to do with descriptors when the selector isn't ours.
 *
 * 60,000 switches over pipes cost 0.30 s with the twins alone and 0.15 s with this (Ruby 3.1.2): three fcntl(2) a
 * read saved, no IO::Buffer through a block, and no Ruby method between two events.
 */
#include "rb_scheduler.h"

#include "plait.h"
#include "rb_selector.h"
#include "sleepers.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <ruby/fiber/scheduler.h>
#include <ruby/io.h>
#include <ruby/io/buffer.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { READABLE = PLAIT_READABLE, WRITABLE = PLAIT_WRITABLE };

/* Seconds; the twin is Scheduler::LONGEST_POLL. */
enum { LONGEST_POLL = 3600 };

/* Of a thread: it makes its time slices eight times as long. */
enum { HIGHEST_PRIORITY = 3 };

static ID id_native, id_changed, id_fiber, id_at, id_select, id_io_timeout, id_bounded;
static ID id_ticks, id_watchdog, id_woken, id_blocker, id_selector, id_push, id_wakeup, id_priority, id_set_priority;
static ID id_priority_before, id_raised;
static VALUE basic_socket, mutex_class;

/* What the hooks need at each call, one instance variable away. */
struct native {
    VALUE selector;
    struct selector *own;    /* the same, when it is ours; else NULL */
    VALUE thread;
    VALUE ready;             /* Scheduler's @ready */
    VALUE blocked;           /* its @blocked */
    VALUE inbox;             /* its @inbox, and that one's entries */
    VALUE entries;
    VALUE raised;            /* its @raised: threads with a longer time slice */
    VALUE unblock;           /* the class */
    int exposed;             /* Mutex#unlock can be overtaken inside our hook */
    unsigned long waits;     /* part of Scheduler#ticks */
    struct deadlines deadlines;
    bool sleeps;             /* what asks for kernel_sleep is nothing but sleep, see Compat.mutex_sleep? */
    struct sleepers sleepers;
};

/* A fiber that sleeps; it lies on that fiber's stack. */
struct nap {
    struct sleeper sleeper; /* first: the heap's pointers are ours */
    struct native *native;
    VALUE fiber;
};

static void native_mark(void *data) {
    const struct native *native = data;
    rb_gc_mark(native->selector);
    rb_gc_mark(native->thread);
    rb_gc_mark(native->ready);
    rb_gc_mark(native->blocked);
    rb_gc_mark(native->inbox);
    rb_gc_mark(native->entries);
    rb_gc_mark(native->raised);
    rb_gc_mark(native->unblock);
    plait_deadlines_mark(&native->deadlines);
    for (ptrdiff_t place = 0; place < native->sleepers.size; place++) {
        rb_gc_mark(((const struct nap *)native->sleepers.heap[place])->fiber);
    }
}

static void native_free(void *data) {
    plait_deadlines_drop(&((struct native *)data)->deadlines);
    sleepers_free(&((struct native *)data)->sleepers);
    xfree(data);
}

static const rb_data_type_t native_type = {
    .wrap_struct_name = "Plait::NativeScheduler",
    .function = {.dmark = native_mark, .dfree = native_free},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static struct native *native_of(VALUE self) {
    return rb_check_typeddata(rb_ivar_get(self, id_native), &native_type);
}

/*
 * Whether the last read of a descriptor found nothing at first: then the next one waits before it reads, which saves a
 * failed read(2). A hint only: it may be stale, or another descriptor's.
 */
enum { HINTS = 4096 };
static unsigned char was_empty[HINTS];

static unsigned char *hint(int descriptor) {
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

int plait_descriptor_of(VALUE io) {
#ifdef HAVE_RB_IO_DESCRIPTOR
    return rb_io_descriptor(io);
#else
    rb_io_t *fptr;
    GetOpenFile(io, fptr);
    return fptr->fd;
#endif
}

static int has_timeout(VALUE io) {
#ifdef HAVE_RB_IO_TIMEOUT
    return !NIL_P(rb_io_timeout(io));
#else
    return !NIL_P(rb_attr_get(io, id_io_timeout));
#endif
}

static int is_socket(VALUE io) {
    return RTEST(rb_obj_is_kind_of(io, basic_socket));
}

static int is_nonblocking(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    return flags != -1 && (flags & O_NONBLOCK);
}

/* Returns the events that came, or false. */
static VALUE wait_for(struct native *native, VALUE io, int events) {
    native->waits++;
    return plait_selector_wait(native->own, io, plait_descriptor_of(io), events);
}

/* waiting_for(io): the fibers that wait for it now */
static VALUE scheduler_waiting_for(VALUE self, VALUE io) {
    struct selector *own = native_of(self)->own;
    return own ? plait_selector_waiting_for(own, io) : rb_call_super(1, &io);
}

/* io_close(descriptor): Ruby closes it after this */
static VALUE scheduler_io_close(VALUE self, VALUE descriptor) {
    const struct native *native = native_of(self);
    if (native->own && rb_thread_current() == native->thread) plait_selector_forget(native->own, NUM2INT(descriptor));
    return Qfalse;
}

/* io_wait(io, events, timeout = nil) */
static VALUE scheduler_io_wait(int argc, VALUE *argv, VALUE self) {
    rb_check_arity(argc, 2, 3);
    struct native *native = native_of(self);
    int limited = (argc == 3 && !NIL_P(argv[2])) || !RB_TYPE_P(argv[0], T_FILE) || has_timeout(argv[0]);
    if (limited || !native->own) return rb_call_super(argc, argv);
    return wait_for(native, argv[0], NUM2INT(argv[1]));
}

/* ---- sleeping ---- */

static VALUE doze(VALUE argument) {
    plait_selector_leave(((const struct nap *)argument)->native->own);
    return Qtrue;
}

/* It may have been raised into. */
static VALUE rise(VALUE argument) {
    struct nap *nap = (struct nap *)argument;
    sleepers_remove(&nap->native->sleepers, &nap->sleeper);
    return Qnil;
}

/* Seconds of what is a number and surely a time to sleep; 0: Ruby looks at it. */
static double seconds_of(int argc, const VALUE *argv) {
    if (argc != 1 || (!RB_FLOAT_TYPE_P(argv[0]) && !RB_FIXNUM_P(argv[0]))) return 0;

    double seconds = NUM2DBL(argv[0]);
    return seconds > 0 && isfinite(seconds) ? seconds : 0;
}

/*
 * kernel_sleep(duration). The twin in Ruby costs 5 µs of CPU more, most of it for its heap and for the loop that goes
 * through Ruby each time. A watchdog wants to be told by the twin.
 */
static VALUE scheduler_kernel_sleep(int argc, VALUE *argv, VALUE self) {
    struct native *native = native_of(self);
    double seconds = seconds_of(argc, argv);
    if (seconds == 0 || !native->own || !native->sleeps || RTEST(rb_attr_get(self, id_watchdog))) return rb_call_super(argc, argv);

    struct nap nap = {.sleeper = {.at = plait_now() + seconds}, .native = native, .fiber = rb_fiber_current()};
    if (sleepers_add(&native->sleepers, &nap.sleeper) != 0) rb_memerror();
    native->waits++;
    return rb_ensure(doze, (VALUE)&nap, rise, (VALUE)&nap);
}

/* Seconds of a turn after which no further one is woken, as Scheduler::SLICE. */
static const double SLICE = 0.004;

/* Those who were due when it began: who sleeps again meanwhile has to wait for the others. */
static void wake_sleepers(struct native *native) {
    const struct sleeper *first = sleepers_first(&native->sleepers);
    if (!first) return;

    double now = plait_now(), until = now + SLICE;
    while ((first = sleepers_first(&native->sleepers)) && first->at <= now) {
        struct nap *nap = (struct nap *)first;
        sleepers_remove(&native->sleepers, &nap->sleeper);
        rb_fiber_transfer(nap->fiber, 0, NULL);
        if (plait_now() >= until) return;
    }
}

/* ---- for other bindings ---- */

struct native *plait_native_of(VALUE scheduler) {
    VALUE data = rb_attr_get(scheduler, id_native);
    return rb_typeddata_is_kind_of(data, &native_type) ? RTYPEDDATA_DATA(data) : NULL;
}

/* The twins in Ruby tell a watchdog when control passes from one fiber to another. */
static VALUE wait_somehow(struct native *native, VALUE scheduler, VALUE io, int events) {
    if (native->own && !RTEST(rb_attr_get(scheduler, id_watchdog))) return wait_for(native, io, events);
    return rb_fiber_scheduler_io_wait(scheduler, io, INT2FIX(events), Qnil);
}

void plait_native_deadline(VALUE scheduler, struct deadline *deadline) {
    VALUE data = rb_attr_get(scheduler, id_native);
    struct native *native = rb_check_typeddata(data, &native_type);
    plait_deadlines_add(&native->deadlines, data, scheduler, deadline);
}

VALUE plait_native_wait(struct native *native, VALUE scheduler, VALUE io, int events, struct deadline *deadline) {
    if (!deadline) return wait_somehow(native, scheduler, io, events);

    plait_deadlines_add(&native->deadlines, rb_attr_get(scheduler, id_native), scheduler, deadline);
    VALUE came = wait_somehow(native, scheduler, io, events);
    plait_deadline_remove(deadline);
    return came;
}

bool plait_native_ends_waits(const struct native *native) {
    return native->own;
}

bool plait_native_leaves(const struct native *native, VALUE scheduler) {
    return native->own && !RTEST(rb_attr_get(scheduler, id_watchdog));
}

void plait_native_leave(const struct native *native) {
    plait_selector_leave(native->own);
}

unsigned long plait_native_ticks(const struct native *native, VALUE scheduler) {
    return native->waits + NUM2ULONG(rb_attr_get(scheduler, id_ticks));
}

VALUE plait_native_thread(const struct native *native) {
    return native->thread;
}

void plait_native_push(const struct native *native, VALUE object) {
    plait_selector_push(native->own, object);
}

void plait_native_end_wait(const struct native *native, int descriptor, VALUE fiber) {
    plait_selector_end_wait(native->own, descriptor, fiber);
}

#if defined(HAVE_PREADV2) && defined(HAVE_PWRITEV2) && defined(RWF_NOWAIT)
/* A pipe can be asked not to wait whatever mode it is in (Linux 6.4), which saves an fcntl(2) to learn the mode. */
static ssize_t move_nowait(const struct transfer *transfer) {
    struct iovec part = {.iov_base = transfer->base, .iov_len = transfer->room};
    if (transfer->events == READABLE) return preadv2(transfer->descriptor, &part, 1, -1, RWF_NOWAIT);
    return pwritev2(transfer->descriptor, &part, 1, -1, RWF_NOWAIT);
}
#else
static ssize_t move_nowait(const struct transfer *transfer) {
    (void)transfer;
    errno = EOPNOTSUPP;
    return -1;
}
#endif

static ssize_t move_plainly(const struct transfer *transfer) {
    if (transfer->events == READABLE) return read(transfer->descriptor, transfer->base, transfer->room);
    return write(transfer->descriptor, transfer->base, transfer->room);
}

static ssize_t move_stream(struct transfer *transfer) {
    if (transfer->mode != -1) return move_plainly(transfer);

    ssize_t moved = move_nowait(transfer);
    if (moved >= 0 || (errno != EAGAIN && errno != EOPNOTSUPP && errno != ENOSYS && errno != ESPIPE)) return moved;

    int again = errno == EAGAIN;
    transfer->blocks = !is_nonblocking(transfer->descriptor);
    if (again || transfer->blocks) {
        errno = EAGAIN;
        return -1;
    }
    return move_plainly(transfer);
}

static ssize_t move_once(struct transfer *transfer) {
    if (!transfer->is_socket) return move_stream(transfer);
    if (transfer->events == READABLE) return recv(transfer->descriptor, transfer->base, transfer->room, MSG_DONTWAIT);
    return send(transfer->descriptor, transfer->base, transfer->room, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void wait_until_possible(const struct transfer *transfer) {
    wait_for(transfer->native, transfer->io, transfer->events);
}

/*
 * Returns the bytes moved, or -errno, as the hooks do; Qundef when the descriptor's mode is in the way. With a minimum of
 * 0 Ruby would take EAGAIN too, call io_wait and then this hook once more, with a new IO::Buffer: waiting here saves a
 * third of a switch. What must not wait (read_nonblock) does not come through the hooks.
 */
static VALUE move_all(struct transfer *transfer) {
    size_t total = 0;
    while (transfer->room > 0) {
        ssize_t moved = move_once(transfer);
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
            if (transfer->events == READABLE) *hint(transfer->descriptor) = 1;
            wait_until_possible(transfer);
        } else {
            return total > 0 ? SIZET2NUM(total) : INT2NUM(-errno);
        }
    }
    return SIZET2NUM(total);
}

/* Bytes that fill the whole buffer tell of more to come. */
static VALUE read_after_waiting(struct transfer *transfer) {
    size_t room = transfer->room;
    wait_until_possible(transfer);
    VALUE result = move_all(transfer);
    if (transfer->room == 0 && room > 1) *hint(transfer->descriptor) = 0;
    return result;
}

static VALUE move_again(VALUE argument) {
    return move_all((struct transfer *)argument);
}

static VALUE restore_mode(VALUE argument) {
    const struct transfer *transfer = (const struct transfer *)argument;
    fcntl(transfer->descriptor, F_SETFL, transfer->mode);
    return Qnil;
}

/* Of a descriptor in blocking mode (standard input, say) that is not ready. Others may have it open too. */
static VALUE move_in_other_mode(struct transfer *transfer) {
    transfer->mode = fcntl(transfer->descriptor, F_GETFL);
    if (transfer->mode == -1 || fcntl(transfer->descriptor, F_SETFL, transfer->mode | O_NONBLOCK) == -1) {
        return INT2NUM(-errno);
    }
    transfer->blocks = 0;
    return rb_ensure(move_again, (VALUE)transfer, restore_mode, (VALUE)transfer);
}

static VALUE move(struct transfer *transfer) {
    int wait_first = transfer->events == READABLE && transfer->room > 0 && *hint(transfer->descriptor);
    VALUE result = wait_first ? read_after_waiting(transfer) : move_all(transfer);
    return result == Qundef ? move_in_other_mode(transfer) : result;
}

static VALUE move_within(RB_BLOCK_CALL_FUNC_ARGLIST(unused, transfer)) {
    (void)unused, (void)argc, (void)argv, (void)blockarg;
    return move((struct transfer *)transfer);
}

static VALUE scheduler_transfer(int argc, VALUE *argv, VALUE self, int events) {
    rb_check_arity(argc, 3, 4);
    struct native *native = native_of(self);
    if (!native->own) return rb_call_super(argc, argv);

    VALUE io = rb_io_get_io(argv[0]);
    struct transfer transfer = {
        .native = native, .io = io, .descriptor = plait_descriptor_of(io), .events = events, .mode = -1};
    transfer.is_socket = is_socket(io);
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
    if (has_timeout(io)) return rb_block_call(self, id_bounded, 1, &io, move_within, (VALUE)&transfer);
    return move(&transfer);
}

/* io_read(io, buffer, length, offset = 0) */
static VALUE scheduler_io_read(int argc, VALUE *argv, VALUE self) {
    return scheduler_transfer(argc, argv, self, READABLE);
}

/* io_write(io, buffer, length, offset = 0) */
static VALUE scheduler_io_write(int argc, VALUE *argv, VALUE self) {
    return scheduler_transfer(argc, argv, self, WRITABLE);
}

/* How long select may wait, or Qundef when a timer is due, or dead and in the way. */
static VALUE interval(VALUE heap, VALUE bound) {
    if (RARRAY_LEN(heap) == 0) return bound;

    VALUE first = RARRAY_AREF(heap, 0);
    if (NIL_P(rb_ivar_get(first, id_fiber))) return Qundef;

    double left = NUM2DBL(rb_ivar_get(first, id_at)) - plait_now();
    if (left <= 0) return Qundef;
    if (left > LONGEST_POLL) left = LONGEST_POLL;
    return NIL_P(bound) || left < NUM2DBL(bound) ? DBL2NUM(left) : bound;
}

/* How long the selector may sleep; below 0: for ever. */
static double rest(const struct native *native, VALUE bound) {
    double seconds = NIL_P(bound) ? -1 : NUM2DBL(bound);
    const struct sleeper *first = sleepers_first(&native->sleepers);
    if (!first) return seconds;

    double left = first->at - plait_now();
    if (left <= 0) return 0;
    if (left > LONGEST_POLL) left = LONGEST_POLL;
    return seconds < 0 || left < seconds ? left : seconds;
}

static void turn(struct native *native, VALUE seconds) {
    if (native->own) {
        plait_selector_turn(native->own, rest(native, seconds));
        wake_sleepers(native);
    } else {
        rb_funcall(native->selector, id_select, 1, seconds);
    }
}

/*
 * spin(ready, jobs, heap, bound): lets events resume their fibers until the Ruby part of the loop has something to do:
 * an entry in one of the arrays, a timer that is due, a fiber that has finished (@changed), the bound.
 */
static VALUE scheduler_spin(VALUE self, VALUE ready, VALUE jobs, VALUE heap, VALUE bound) {
    struct native *native = native_of(self);
    rb_ivar_set(self, id_changed, Qfalse);
    do {
        VALUE seconds = interval(heap, bound);
        if (seconds == Qundef) seconds = INT2FIX(0);
        turn(native, seconds);
        if (seconds == INT2FIX(0)) break;
    } while (NIL_P(bound) && RARRAY_LEN(ready) == 0 && RARRAY_LEN(jobs) == 0 && !RTEST(rb_ivar_get(self, id_changed)));
    return Qnil;
}

/* Twin of Blocked#answers?. */
static int answers(VALUE wait, VALUE blocker) {
    VALUE own = rb_ivar_get(wait, id_blocker);
    if (own == blocker || NIL_P(own)) return 1;
    return RTEST(rb_obj_is_kind_of(own, rb_cThread)) && RTEST(rb_obj_is_kind_of(blocker, rb_cThread));
}

static int wake_here(const struct native *native, VALUE blocker, VALUE fiber) {
    VALUE wait = rb_hash_lookup(native->blocked, fiber);
    if (NIL_P(wait) || !answers(wait, blocker)) return 0;

    if (!RTEST(rb_ivar_get(wait, id_woken))) {
        rb_ivar_set(wait, id_woken, Qtrue);
        rb_ary_push(native->ready, wait);
    }
    return 1;
}

static VALUE new_unblock(const struct native *native, VALUE blocker, VALUE fiber) {
    VALUE unblock = rb_obj_alloc(native->unblock);
    rb_ivar_set(unblock, id_blocker, blocker);
    rb_ivar_set(unblock, id_fiber, fiber);
    return unblock;
}

/* Puts the entry where the loop finds it. */
static void hand_over(VALUE self, const struct native *native, VALUE blocker, VALUE fiber) {
    if (rb_thread_current() == native->thread) {
        if (!wake_here(native, blocker, fiber)) rb_ary_push(native->ready, new_unblock(native, blocker, fiber));
    } else if (!NIL_P(rb_ivar_get(self, id_selector))) { /* not closed */
        rb_ary_push(native->entries, new_unblock(native, blocker, fiber));
        if (RARRAY_LEN(native->entries) > 1) return;
        if (native->own) {
            plait_selector_push(native->own, native->inbox);
        } else {
            rb_funcall(native->selector, id_push, 1, native->inbox);
            rb_funcall(native->selector, id_wakeup, 0);
        }
    }
}

/* Once; the loop sees to it that `settle` ends it. */
static void raise_priority(const struct native *native) {
    VALUE thread = rb_thread_current();
    if (RTEST(rb_ivar_get(thread, id_raised))) return;

    VALUE before = rb_ivar_get(thread, id_priority_before);
    if (NIL_P(before)) {
        before = rb_funcall(thread, id_priority, 0);
        rb_ivar_set(thread, id_priority_before, before);
    }
    rb_funcall(thread, id_set_priority, 1, INT2FIX(HIGHEST_PRIORITY));
    rb_ivar_set(thread, id_raised, Qtrue);
    rb_ary_push(native->raised, thread);
}

/* settle: gives threads the priority back that they had. */
static VALUE scheduler_settle(VALUE self) {
    VALUE thread;
    while (!NIL_P(thread = rb_ary_shift(native_of(self)->raised))) {
        rb_ivar_set(thread, id_raised, Qfalse);
        VALUE before = rb_ivar_get(thread, id_priority_before);
        if (!NIL_P(before)) rb_funcall(thread, id_set_priority, 1, before);
    }
    return Qnil;
}

/*
 * unblock(blocker, fiber). Before Ruby 3.3 Mutex#unlock calls it when the mutex is free already but still among those
 * that its thread keeps. A thread that takes over here and locks the same mutex ties the two threads' lists together,
 * and Ruby aborts when one of them ends. So nothing here is a Ruby method, and the thread keeps the GVL through all time
 * slices that end here: it gets longer ones until the loop's next turn. Of 20 runs of the stress test 14 aborted with
 * the hook in Ruby, 9 with it in C alone; with slices twice as long 4 of 40, eight times as long 0 of 40.
 */
static VALUE scheduler_unblock(VALUE self, VALUE blocker, VALUE fiber) {
    const struct native *native = native_of(self);
    if (native->exposed && rb_obj_class(blocker) == mutex_class) raise_priority(native);
    hand_over(self, native, blocker, fiber);
    return Qnil;
}

/* attach: once all that the loop works with is there. */
static VALUE scheduler_attach(VALUE self) {
    struct native *native;
    VALUE data = TypedData_Make_Struct(0, struct native, &native_type, native);
    native->selector = rb_ivar_get(self, id_selector);
    native->own = plait_selector_of(native->selector);
    native->thread = rb_thread_current();
    native->ready = rb_iv_get(self, "@ready");
    native->blocked = rb_iv_get(self, "@blocked");
    native->inbox = rb_iv_get(self, "@inbox");
    native->entries = rb_iv_get(native->inbox, "@entries");
    native->raised = rb_iv_get(self, "@raised");
    native->unblock = rb_path2class("Plait::Scheduler::Unblock");
    native->deadlines.alarm = Qnil;
    native->exposed = rb_method_boundp(rb_cThread, id_set_priority, 0);
    native->sleeps = RTEST(rb_funcall(rb_path2class("Plait::Mechanisms::Compat"), rb_intern("mutex_sleep?"), 0));
    rb_ivar_set(self, id_native, data);
    return self;
}

/* The waits that went through the native hooks. */
static VALUE scheduler_waits(VALUE self) {
    return ULONG2NUM(native_of(self)->waits);
}

void plait_init_scheduler(VALUE plait) {
    id_native = rb_intern("@native");
    id_changed = rb_intern("@changed");
    id_fiber = rb_intern("@fiber");
    id_at = rb_intern("@at");
    id_io_timeout = rb_intern("@timeout");
    id_select = rb_intern("select");
    id_bounded = rb_intern("bounded");

    id_watchdog = rb_intern("@watchdog");
    id_ticks = rb_intern("@ticks");
    id_woken = rb_intern("@woken");
    id_blocker = rb_intern("@blocker");
    id_selector = rb_intern("@selector");
    id_push = rb_intern("push");
    id_wakeup = rb_intern("wakeup");

    id_priority = rb_intern("priority");
    id_set_priority = rb_intern("plait_priority=");
    id_priority_before = rb_intern("@plait_priority");
    id_raised = rb_intern("@plait_raised");
    mutex_class = rb_path2class("Thread::Mutex");

    rb_require("socket");
    basic_socket = rb_const_get(rb_cObject, rb_intern("BasicSocket"));
    rb_gc_register_mark_object(basic_socket);

    VALUE native = rb_define_module_under(plait, "NativeScheduler");
    rb_define_method(native, "io_wait", scheduler_io_wait, -1);
    rb_define_method(native, "io_read", scheduler_io_read, -1);
    rb_define_method(native, "io_write", scheduler_io_write, -1);
    rb_define_method(native, "io_close", scheduler_io_close, 1);
    rb_define_method(native, "kernel_sleep", scheduler_kernel_sleep, -1);
    rb_define_method(native, "waiting_for", scheduler_waiting_for, 1);
    rb_define_method(native, "unblock", scheduler_unblock, 2);
    rb_define_private_method(native, "attach", scheduler_attach, 0);
    rb_define_private_method(native, "settle", scheduler_settle, 0);
    rb_define_private_method(native, "waits", scheduler_waits, 0);
    rb_define_private_method(native, "spin", scheduler_spin, 4);
}
