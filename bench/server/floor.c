/*
 * The least that a server on one thread can do: an epoll(7) loop that answers whatever ends with an empty line with the same
 * bytes, by one recv(2) and one send(2). Its argument is the port, on the loopback.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../harness/program.h"

static const char ANSWER[] = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ndate: Sat, 21 Nov 2026 15:24:28 GMT\r\n"
                             "content-length: 13\r\n\r\nHello, world!";

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

static void answer(int number) {
    char buffer[65536];
    ssize_t size = recv(number, buffer, sizeof buffer, 0);
    if (size == 0) close(number);
    if (size < 4 || memcmp(buffer + size - 4, "\r\n\r\n", 4) != 0) return;
    if (send(number, ANSWER, sizeof ANSWER - 1, MSG_NOSIGNAL) < 0) close(number);
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    int listener = listen_on(atoi(argv[1])), epoll = epoll_create1(0);
    add(epoll, listener, EPOLLIN);
    for (;;) {
        struct epoll_event events[64];
        int count = epoll_wait(epoll, events, 64, -1);
        for (int index = 0; index < count; index++) {
            if (events[index].data.fd == listener) admit(epoll, listener);
            else answer(events[index].data.fd);
        }
    }
}
