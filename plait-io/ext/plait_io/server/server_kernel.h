/*
 * What a server asks of the kernel about its descriptors. By epoll(7), or by kqueue(2) where extconf.rb has found no epoll. An
 * event carries the token of its descriptor. `struct server_kernel` has the members `number`, the descriptor of the
 * set, and `wakeup`, a descriptor that ends a sleep when eight bytes are written to it. An int is 0 or an errno.
 *
 *   server_kernel_open(kernel, token)            token: of the wakeup
 *   server_kernel_close(kernel, forked)          forked: in a fork of the process that has opened it
 *   server_kernel_watch(kernel, number, token)   a connection: each change is one event, for input and for output
 *   server_kernel_listen(kernel, number, token)  a listener: an event as long as there are clients
 *   server_kernel_mute(kernel, number, token, muted)   a listener: no events, or events again
 *   server_kernel_forget(kernel, number)         before a descriptor goes to another owner; a closed one is forgotten
 *   server_kernel_sleep(kernel, events, count, milliseconds)   how many events there are, or -1
 *   server_kernel_hush(kernel)                   takes note of the wakeup
 *   server_event_token(event)
 *   server_event_flags(event)                    bits of SERVER_READABLE, SERVER_WRITABLE, SERVER_ENDED and SERVER_LOST
 */
#ifndef PLAIT_SERVER_KERNEL_H
#define PLAIT_SERVER_KERNEL_H

#ifdef HAVE_PLAIT_KQUEUE
#include "server_kqueue.h"
#else
#include "server_epoll.h"
#endif

#endif
