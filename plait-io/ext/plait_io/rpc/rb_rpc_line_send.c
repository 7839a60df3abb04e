/* What goes: frames are put together by the writer, and leave by as few system calls as possible. */
#include "rb_rpc_line_send.h"

#include <errno.h>
#include <ruby/io.h>
#include <ruby/thread.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "../messagepack_rpc/rb_messagepack_rpc.h"
#include "../messagepack_rpc/rb_messagepack_rpc_small.h"
#include "../plait_io.h"
#include "rb_rpc_line_end.h"
#include "rb_rpc_line_members.h"
#include "rb_rpc_line_secure.h"
#include "rb_rpc_line_wait.h"

/* Not everywhere; Ruby sees to it that SIGPIPE does no harm. */
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

enum {
    PLAIN = 64 * 1024 * 1024, /* bytes of a String from which on the codec says whether the peer takes it */
    SLOW = 128 * 1024, /* bytes from which on a send is worth giving the GVL to others */
    PARTS = 64,        /* Strings in one sendmsg(2) */
    KEPT = 16 * 1024,  /* bytes of memory that are kept for the next frames, at most */
    SPARES = 64
};

/* Unused writers: of a server's 10,000 lines a few have something to send. */
static VALUE spares;

/* What one send has come to. */
enum progress { SENT, WAITS, FAILED };

VALUE plait_line_writer(struct line *line) {
    if (!NIL_P(line->writer)) return line->writer;
    if (!line->raw && RARRAY_LEN(spares) > 0) return line->writer = rb_ary_pop(spares);

    VALUE options = rb_hash_new();
    rb_hash_aset(options, ID2SYM(rb_intern("raw")), line->raw ? Qtrue : Qfalse);
    VALUE writer = rb_class_new_instance_kw(1, &options, rb_path2class("Plait::Protocols::MessagePackRPC::NativeWriter"),
                                            RB_PASS_KEYWORDS);
    if (NIL_P(line->writer)) line->writer = writer; /* else another thread was let in by `initialize`, and has written to its own */
    return line->writer;
}

static size_t rpc_line_send_written(const struct line *line) {
    return NIL_P(line->writer) ? 0 : plait_messagepack_rpc_pending(line->writer);
}

uint64_t plait_line_said(const struct line *line) {
    return line->pushed + rpc_line_send_written(line);
}

uint64_t plait_line_unsent(const struct line *line) {
    return plait_line_said(line) - line->sent;
}

bool plait_line_may_be_sent(const struct line *line, uint64_t end) {
    return line->sent + line->going >= end;
}

bool plait_line_congested(const struct line *line) {
    return line->unsent && !line->sending && plait_line_unsent(line) > line->room;
}

bool plait_line_answer_small(struct line *line, VALUE id, VALUE result) {
    char bytes[MESSAGEPACK_RPC_SMALL];
    if (!NIL_P(line->over)) return true;

    size_t size = line->plain ? plait_messagepack_rpc_pack_small(result, bytes, sizeof bytes) : 0;
    if (size == 0) return false;
    plait_messagepack_rpc_write_small_result(plait_line_writer(line), id, bytes, size);
    return true;
}

bool plait_line_answer_string(struct line *line, VALUE id, VALUE result) {
    char header[MESSAGEPACK_RPC_STRING_HEADER];
    if (!NIL_P(line->over)) return true;

    size_t size = line->plain ? plait_messagepack_rpc_string_header(result, header) : 0;
    if (size == 0 || RSTRING_LEN(result) > PLAIN) return false;
    VALUE packed = rb_ary_new_from_args(2, rb_str_new(header, (long)size), rb_str_new_frozen(result));
    plait_messagepack_rpc_write_result(plait_line_writer(line), id, packed);
    return true;
}

/* The peer doesn't listen any more, but may still have sent something: the reader will find that, and then the end. */
static enum progress rpc_line_send_failed(struct line *line, VALUE error) {
    line->writer = line->parts = Qnil;
    line->pushed = line->sent;
    if (line->reader) plait_line_shut(line);
    else plait_line_finish(line, error);
    return FAILED;
}

static enum progress rpc_line_send_judge(struct line *line, ssize_t sent, int error, size_t size) {
    if (sent >= 0) return (size_t)sent == size ? SENT : WAITS;
    return error == EAGAIN || error == EWOULDBLOCK ? WAITS : rpc_line_send_failed(line, rb_syserr_new(error, NULL));
}

/* ---- a few bytes ---- */

/* What is left of the String becomes the first part. */
static void rpc_line_send_keep_rest(struct line *line, size_t sent) {
    line->parts = plait_messagepack_rpc_take(line->writer);
    line->offset = sent;
    line->part = 0;
}

/* Its writer is empty. */
static void rpc_line_send_release_writer(struct line *line) {
    if (!line->served) return;

    if (!line->raw && RARRAY_LEN(spares) < SPARES) rb_ary_push(spares, line->writer);
    line->writer = Qnil;
}

static void rpc_line_send_clear(struct line *line, bool keep) {
    plait_messagepack_rpc_clear(line->writer, keep);
    rpc_line_send_release_writer(line);
}

/* What is in the writer's own String goes from there. */
static enum progress rpc_line_send_tail(struct line *line, VALUE tail) {
    size_t size = (size_t)RSTRING_LEN(tail);
    int descriptor = plait_descriptor_of(line->io);
    ssize_t sent;
    do sent = send(descriptor, RSTRING_PTR(tail), size, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    int error = errno;
    if (sent > 0) {
        line->pushed += size;
        line->sent += (uint64_t)sent;
        if ((size_t)sent < size) rpc_line_send_keep_rest(line, (size_t)sent);
        else rpc_line_send_clear(line, size <= KEPT);
    }
    return rpc_line_send_judge(line, sent, error, size);
}

/* ---- many ---- */

struct sending {
    int descriptor;
    struct msghdr message;
    struct iovec vectors[PARTS];
    VALUE strings[PARTS]; /* on the stack, so that no compaction moves them */
    size_t size;          /* bytes of all */
    ssize_t sent;         /* bytes, or -1 with error */
    int error;
};

static void rpc_line_send_gather(const struct line *line, struct sending *sending) {
    size_t count = 0;
    size_t offset = line->offset;
    sending->size = 0;
    for (long i = line->part; i < RARRAY_LEN(line->parts) && count < PARTS; i++, count++) {
        VALUE string = sending->strings[count] = rb_ary_entry(line->parts, i);
        size_t size = (size_t)RSTRING_LEN(string) - offset;
        sending->vectors[count] = (struct iovec){.iov_base = RSTRING_PTR(string) + offset, .iov_len = size};
        sending->size += size;
        offset = 0;
    }
    sending->message = (struct msghdr){.msg_iov = sending->vectors, .msg_iovlen = count};
}

static void *rpc_line_send_now(void *argument) {
    struct sending *sending = argument;
    do sending->sent = sendmsg(sending->descriptor, &sending->message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sending->sent < 0 && errno == EINTR);
    sending->error = errno;
    return NULL;
}

/* As receive_without_gvl in rb_rpc_line_receive.c. */
static void rpc_line_send_without_gvl(struct line *line, struct sending *sending) {
    sending->sent = -2;
    line->going = sending->size;
    line->sending = true;
    rb_nogvl(rpc_line_send_now, sending, NULL, NULL, RB_NOGVL_INTR_FAIL);
    if (sending->sent == -2) rpc_line_send_now(sending);
    line->sending = false;
    line->going = 0;
}

/* What is sent is not kept. */
static void rpc_line_send_note_sent(struct line *line, size_t sent) {
    line->sent += sent;
    sent += line->offset;
    while (line->part < RARRAY_LEN(line->parts)) {
        size_t size = (size_t)RSTRING_LEN(rb_ary_entry(line->parts, line->part));
        if (sent < size) break;
        sent -= size;
        rb_ary_store(line->parts, line->part++, Qnil);
    }
    line->offset = sent;
    if (line->part < RARRAY_LEN(line->parts)) return;

    line->parts = Qnil;
    line->part = 0;
}

static enum progress rpc_line_send_parts(struct line *line) {
    struct sending sending = {.descriptor = plait_descriptor_of(line->io)};
    rpc_line_send_gather(line, &sending);
    if (sending.size < SLOW) rpc_line_send_now(&sending);
    else rpc_line_send_without_gvl(line, &sending);
    if (!NIL_P(line->over)) {
        if (sending.sent > 0) line->sent += (uint64_t)sending.sent;
        plait_line_release(line);
        return FAILED;
    }
    if (sending.sent > 0) rpc_line_send_note_sent(line, (size_t)sending.sent);
    return rpc_line_send_judge(line, sending.sent, sending.error, sending.size);
}

/* ---- over TLS ---- */

static enum progress rpc_line_send_record(struct line *line) {
    struct secure_step step = plait_line_secure_send(line);
    if (!NIL_P(line->over)) {
        plait_line_release(line);
        return FAILED;
    }
    if (step.count > 0) rpc_line_send_note_sent(line, (size_t)step.count);
    if (step.count >= 0) return SENT;
    if (!NIL_P(step.failure)) return rpc_line_send_failed(line, step.failure);
    return WAITS;
}

/* ---- either ---- */

/* What is written is behind the parts that are being sent. */
static void rpc_line_send_push_written(struct line *line) {
    size_t size = rpc_line_send_written(line);
    if (size == 0) return;

    VALUE parts = plait_messagepack_rpc_take(line->writer);
    line->pushed += size;
    if (NIL_P(line->parts)) line->parts = parts;
    else rb_ary_concat(line->parts, parts);
    rpc_line_send_release_writer(line);
}

static enum progress rpc_line_send_some(struct line *line) {
    if (NIL_P(line->parts) && NIL_P(line->secure)) {
        VALUE tail = plait_messagepack_rpc_pending_tail(line->writer);
        if (!NIL_P(tail) && RSTRING_LEN(tail) < SLOW) return rpc_line_send_tail(line, tail);
    }
    rpc_line_send_push_written(line);
    return NIL_P(line->secure) ? rpc_line_send_parts(line) : rpc_line_send_record(line);
}

static bool rpc_line_send_all(struct line *line) {
    enum progress progress = SENT;
    bool any = false;
    while (NIL_P(line->over) && plait_line_unsent(line) > 0 && progress == SENT) {
        progress = rpc_line_send_some(line);
        any = true;
    }
    if (!NIL_P(line->over)) return true;

    line->unsent = progress == WAITS;
    if (any && line->sleeping) plait_line_wake_senders(line);
    if (any) plait_line_rouse_satisfied_reader(line, plait_line_unsent(line));
    return !line->unsent;
}

/* In a fork there is nothing to be sent: the peer is the parent's. */
bool plait_line_flush(struct line *line) {
    if (line->generation != plait_generation()) return true;
    if (line->sending) return true; /* that member goes on until all is sent */
    return rpc_line_send_all(line);
}

/* Other members are about to send too, and the last of them sends all; not if the current thread holds them up itself. */
static bool rpc_line_send_others_follow(const struct line *line) {
    return line->due && !line->served && line->stirring && line->stirring->thread != rb_thread_current();
}

bool plait_line_flush_soon(struct line *line) {
    if ((line->reader && !line->reading) || line->intake || rpc_line_send_others_follow(line)) return true;
    return plait_line_flush(line);
}

void plait_init_rpc_line_send(void) {
    spares = rb_ary_new_capa(SPARES);
    rb_gc_register_address(&spares);
}
