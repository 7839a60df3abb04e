/*
 * The least that a server on one thread can do: an epoll(7) loop that answers whatever ends with an empty line with the same
 * bytes, by one recv(2) and one send(2). Its arguments: "close" if it ends each connection behind its answer, or "keep"; and the
 * port, on the loopback.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../harness/program.h"

#define HEAD "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ndate: Sat, 21 Nov 2026 15:24:28 GMT\r\ncontent-length: 13\r\n"
#define BODY "\r\nHello, world!"

static const char KEEP[] = HEAD BODY, CLOSE[] = HEAD "connection: close\r\n" BODY;

static int listen_on(int port) {
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 4096) != 0) die("listen");
    return listener;
}

static void add(int epoll, int number, unsigned events) {
    struct epoll_event event = {.events = events, .data.fd = number};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, number, &event) != 0) die("epoll_ctl");
}

static void admit(int epoll, int listener) {
    int number;
    while ((number = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) != -1) add(epoll, number, EPOLLIN | EPOLLET);
}

static void answer(int number, bool closing) {
    char buffer[65536];
    ssize_t size = recv(number, buffer, sizeof buffer, 0);
    if (size == 0) close(number);
    if (size < 4 || memcmp(buffer + size - 4, "\r\n\r\n", 4) != 0) return;
    ssize_t sent = closing ? send(number, CLOSE, sizeof CLOSE - 1, MSG_NOSIGNAL) : send(number, KEEP, sizeof KEEP - 1, MSG_NOSIGNAL);
    if (sent < 0 || closing) close(number);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    bool closing = strcmp(argv[1], "close") == 0;
    int listener = listen_on(atoi(argv[2])), epoll = epoll_create1(0);
    add(epoll, listener, EPOLLIN);
    for (;;) {
        struct epoll_event events[64];
        int count = epoll_wait(epoll, events, 64, -1);
        for (int index = 0; index < count; index++) {
            if (events[index].data.fd == listener) admit(epoll, listener);
            else answer(events[index].data.fd, closing);
        }
    }
}
