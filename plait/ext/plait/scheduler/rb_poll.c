/* See rb_poll.h. */
#include "rb_poll.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <ruby.h>
#include <ruby/thread.h>

#include "../plait_bindings.h"
#include "rb_scheduler.h"

/* Seconds of one poll(2): its milliseconds are an int. */
static const double LONGEST_POLL = 3600;

struct poll_call {
    struct pollfd file;
    double limit; /* monotonic seconds, or INFINITY */
};

static void *poll_without_gvl(void *argument) {
    struct poll_call *call = argument;
    double left = isinf(call->limit) ? LONGEST_POLL : call->limit - plait_now();
    if (left > LONGEST_POLL) left = LONGEST_POLL;
    if (left < 0) left = 0;
    if (poll(&call->file, 1, (int)ceil(left * 1e3)) < 0) call->file.revents = 0;
    return NULL;
}

/* RUBY_UBF_IO, because Ruby 3.1 starts a helper thread for any other way to interrupt. */
int plait_poll(int descriptor, int events, double limit) {
    struct poll_call call = {.file = {.fd = descriptor}, .limit = limit};
    if (events & PLAIT_READABLE) call.file.events |= POLLIN;
    if (events & PLAIT_WRITABLE) call.file.events |= POLLOUT;
    rb_nogvl(poll_without_gvl, &call, RUBY_UBF_IO, NULL, 0);
    if (call.file.revents & (POLLERR | POLLHUP | POLLNVAL)) return events;
    return (call.file.revents & POLLIN ? PLAIT_READABLE : 0) | (call.file.revents & POLLOUT ? PLAIT_WRITABLE : 0);
}
