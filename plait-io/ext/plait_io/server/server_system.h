/* What systems have under different names, or not at all: extconf.rb looks for it. */
#ifndef PLAIT_SERVER_SYSTEM_H
#define PLAIT_SERVER_SYSTEM_H

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* To send(2): without a signal where the peer has gone. Elsewhere the socket itself is asked for that. */
#ifdef MSG_NOSIGNAL
#define SERVER_NO_SIGNAL MSG_NOSIGNAL
#else
#define SERVER_NO_SIGNAL 0
#endif

/* Some milliseconds too old at times, and cheap to ask for. */
#ifdef HAVE_CONST_CLOCK_MONOTONIC_COARSE
#define SERVER_CLOCK CLOCK_MONOTONIC_COARSE
#else
#define SERVER_CLOCK CLOCK_MONOTONIC
#endif

/* As accept4(2), with SOCK_NONBLOCK and SOCK_CLOEXEC. */
static inline int server_system_accept(int listener, struct sockaddr *address, socklen_t *size) {
#ifdef HAVE_ACCEPT4
    return accept4(listener, address, size, SOCK_NONBLOCK | SOCK_CLOEXEC);
#else
    int number = accept(listener, address, size);
    if (number == -1) return -1;

    fcntl(number, F_SETFD, FD_CLOEXEC);
    fcntl(number, F_SETFL, O_NONBLOCK);
#ifdef SO_NOSIGPIPE
    int on = 1;
    setsockopt(number, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    return number;
#endif
}

/* A file without a name, or -1 with errno. */
static inline int server_system_nameless_file(const char *folder) {
#ifdef HAVE_CONST_O_TMPFILE
    return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
#else
    (void)folder;
    errno = EOPNOTSUPP;
    return -1;
#endif
}

#endif
