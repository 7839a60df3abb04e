/* TLS, by libssl: it calls no Ruby after the handshake, so a step lets no other thread run. */
#include "rb_rpc_line_secure.h"

#include <errno.h>
#include <string.h>

#include "../messagepack_rpc/rb_messagepack_rpc.h"
#include "../tls/rb_tls.h"

struct secure_step plait_line_secure_receive(struct line *line) {
    char record[TLS_RECORD];
    struct secure_step step = {.failure = Qnil};
    step.count = tls_receive(line->ssl, record, sizeof record, &step.drained);
    bool failed = step.count < 0 && errno != EAGAIN;
    if (failed) step.failure = plait_tls_error("SSL_read");
    if (step.count > 0) plait_messagepack_rpc_feed(line->parser, record, (size_t)step.count);
    return step;
}

/* As much as a record holds, gathered from small parts. */
static ssize_t rpc_line_secure_send_gathered(const struct line *line) {
    char record[TLS_RECORD];
    size_t size = 0, offset = line->offset;
    for (long i = line->part; i < RARRAY_LEN(line->parts) && size < TLS_RECORD; i++) {
        VALUE part = RARRAY_AREF(line->parts, i);
        size_t rest = (size_t)RSTRING_LEN(part) - offset, room = TLS_RECORD - size, more = rest < room ? rest : room;
        memcpy(record + size, RSTRING_PTR(part) + offset, more);
        size += more;
        offset = 0;
    }
    return tls_send(line->ssl, record, size);
}

struct secure_step plait_line_secure_send(struct line *line) {
    VALUE first = RARRAY_AREF(line->parts, line->part);
    size_t rest = (size_t)RSTRING_LEN(first) - line->offset;
    struct secure_step step = {.failure = Qnil};
    step.count = rest < TLS_RECORD ? rpc_line_secure_send_gathered(line)
                                   : tls_send(line->ssl, RSTRING_PTR(first) + line->offset, rest);
    if (step.count < 0 && errno != EAGAIN) step.failure = plait_tls_error("SSL_write");
    RB_GC_GUARD(first);
    return step;
}
