/*
 * The physical limit of bench/http: a client in C, one thread, epoll, as few system calls as the work allows.
 *
 *   floor PORT CONNECTIONS WARM_UP
 *
 * It reads the targets to get from stdin, one a line, gets the first WARM_UP of them, then all, over keep-alive connections, parses
 * every head, takes Content-Length and chunked bodies apart and keeps each body in memory of its own. Then it prints one line of
 * JSON: the bodies kept, their bytes, the CRC-32 of all in the order of the targets, wall and CPU time in seconds, and the bytes
 * by which its resident memory rose at most.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../harness/program.h"

#define EVENTS 512
#define HEAD_LIMIT 8192
#define READ_BYTES 65536
#define REQUEST_LIMIT 1024
#define TARGET_LIMIT 256

struct body {
    char *bytes;
    size_t length;   /* bytes here so far */
    size_t capacity; /* bytes allocated */
};

/* What of a response is expected next. */
enum stage { CONNECT, HEAD, PLAIN_BODY, CHUNK_SIZE, CHUNK_DATA, CHUNK_END, TRAILER };

struct connection {
    int descriptor;
    enum stage stage;
    long index;         /* of the target under way */
    size_t left;        /* bytes of the body or of the chunk that are still to come */
    char *kept;         /* the beginning of a head or of a line, from earlier reads */
    size_t kept_length; /* bytes of it */
};

struct run {
    char **targets;
    struct body *bodies;
    struct connection *connections;
    long count;  /* targets */
    long asked;  /* targets begun */
    long done;   /* targets got */
    int epoll;
    int port;
};

static char incoming[READ_BYTES];

static void refuse(const char *what)
{
    fprintf(stderr, "floor: %s\n", what);
    exit(1);
}

static void *allocate(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);

    if (!memory) {
        die("calloc");
    }
    return memory;
}

/* Bytes, a field of /proc/self/status. */
static long memory(const char *field)
{
    char line[256];
    long kilobytes = 0;
    FILE *status = fopen("/proc/self/status", "r");

    while (status && fgets(line, sizeof line, status)) {
        if (strncmp(line, field, strlen(field)) == 0) {
            kilobytes = atol(line + strlen(field) + 1);
        }
    }
    if (status) {
        fclose(status);
    }
    return kilobytes * 1024;
}

static void reset_peak(void)
{
    int file = open("/proc/self/clear_refs", O_WRONLY);

    if (file >= 0) {
        check((int)write(file, "5", 1), "clear_refs");
        close(file);
    }
}

static uint32_t crc32(uint32_t crc, const char *bytes, size_t length)
{
    static uint32_t table[256];

    if (!table[1]) {
        for (uint32_t i = 0; i < 256; i++) {
            table[i] = i;
            for (int bit = 0; bit < 8; bit++) {
                table[i] = table[i] & 1 ? table[i] >> 1 ^ 0xedb88320 : table[i] >> 1;
            }
        }
    }
    crc = ~crc;
    for (size_t i = 0; i < length; i++) {
        crc = table[(crc ^ (uint8_t)bytes[i]) & 255] ^ crc >> 8;
    }
    return ~crc;
}

/* --- bodies ----------------------------------------------------------------------------------------------------- */

/* A body whose length is known is allocated once; a chunked one grows by half, and is cut to its size at its end. */
static void reserve(struct body *body, size_t capacity)
{
    if (capacity <= body->capacity) {
        return;
    }
    body->bytes = realloc(body->bytes, capacity);
    if (!body->bytes) {
        die("realloc");
    }
    body->capacity = capacity;
}

static void append(struct body *body, const char *bytes, size_t length)
{
    if (body->length + length > body->capacity) {
        size_t more = body->capacity + body->capacity / 2;

        reserve(body, more > body->length + length ? more : body->length + length);
    }
    memcpy(body->bytes + body->length, bytes, length);
    body->length += length;
}

/* --- requests --------------------------------------------------------------------------------------------------- */

static void watch(struct run *run, struct connection *connection, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = connection};

    check(epoll_ctl(run->epoll, operation, connection->descriptor, &event), "epoll_ctl");
}

static void ask(struct run *run, struct connection *connection)
{
    char request[REQUEST_LIMIT];
    int length;

    connection->index = run->asked++;
    connection->stage = HEAD;
    length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", run->targets[connection->index],
                      run->port);
    if (send(connection->descriptor, request, length, MSG_NOSIGNAL) != length) {
        die("send");
    }
}

static void connect_to_origin(struct run *run, struct connection *connection)
{
    struct sockaddr_in address = {
            .sin_family = AF_INET, .sin_port = htons(run->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1;

    connection->descriptor = check(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
    setsockopt(connection->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connection->stage = CONNECT;
    if (connect(connection->descriptor, (struct sockaddr *)&address, sizeof address) < 0 && errno != EINPROGRESS) {
        die("connect");
    }
    watch(run, connection, EPOLL_CTL_ADD, EPOLLOUT);
}

static void connected(struct run *run, struct connection *connection)
{
    int error = 0;
    socklen_t length = sizeof error;

    getsockopt(connection->descriptor, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error) {
        errno = error;
        die("connect");
    }
    watch(run, connection, EPOLL_CTL_MOD, EPOLLIN);
    if (run->asked < run->count) {
        ask(run, connection);
    }
}

static void finish(struct run *run, struct connection *connection)
{
    struct body *body = &run->bodies[connection->index];

    if (body->capacity > body->length) {
        body->bytes = realloc(body->bytes, body->length ? body->length : 1);
        body->capacity = body->length;
    }
    run->done++;
    if (run->asked < run->count) {
        ask(run, connection);
    }
}

/* --- responses -------------------------------------------------------------------------------------------------- */

/* Keeps the beginning of a head or of a line until the rest of it comes. Rare: it is allocated when first needed. */
static void keep(struct connection *connection, const char *bytes, size_t length)
{
    if (connection->kept_length + length >= HEAD_LIMIT) {
        refuse("a head or a line is too long");
    }
    if (!connection->kept) {
        connection->kept = allocate(HEAD_LIMIT);
    }
    memcpy(connection->kept + connection->kept_length, bytes, length);
    connection->kept_length += length;
}

/* Takes bytes up to and with the mark, and returns how many. Where the mark was there, `text` is what it ended, with what was
 * kept in front, a zero in the place of the mark's last byte; else NULL. */
static size_t take_until(struct connection *connection, char *bytes, size_t length, const char *mark, char **text)
{
    size_t kept = connection->kept_length, mark_length = strlen(mark);
    char *found = kept ? NULL : memmem(bytes, length, mark, mark_length);

    *text = bytes;
    if (kept) {
        size_t more = length < HEAD_LIMIT - 1 - kept ? length : HEAD_LIMIT - 1 - kept;

        keep(connection, bytes, more);
        *text = connection->kept;
        found = memmem(connection->kept, kept + more, mark, mark_length);
    }
    if (!found) {
        *text = NULL;
        if (!kept) {
            keep(connection, bytes, length);
        }
        if (connection->kept_length == HEAD_LIMIT - 1) {
            refuse("a head or a line is too long");
        }
        return length;
    }
    found[mark_length - 1] = 0;
    connection->kept_length = 0;
    return found + mark_length - *text - kept;
}

/* Looks at every field, as a client must. */
static void parse_head(struct run *run, struct connection *connection, char *line)
{
    long long length = -1;
    int chunked = 0;

    if (strncmp(line, "HTTP/1.1 200 ", 13) != 0) {
        refuse("the origin did not answer HTTP/1.1 200");
    }
    while ((line = strstr(line, "\r\n")) && line[2] != '\r') {
        line += 2;
        if (strncasecmp(line, "Content-Length:", 15) == 0) {
            length = atoll(line + 15);
        } else if (strncasecmp(line, "Transfer-Encoding:", 18) == 0) {
            chunked = strncasecmp(line + 18, " chunked\r", 9) == 0;
        }
    }
    if (!chunked && length < 0) {
        refuse("a response has no length");
    }
    connection->stage = chunked ? CHUNK_SIZE : PLAIN_BODY;
    if (!chunked) {
        connection->left = length;
        reserve(&run->bodies[connection->index], length);
    }
}

static void parse_chunk_size(struct connection *connection, const char *line)
{
    connection->left = strtoul(line, NULL, 16);
    connection->stage = connection->left ? CHUNK_DATA : TRAILER;
}

static size_t take_data(struct run *run, struct connection *connection, const char *bytes, size_t length)
{
    size_t taken = length < connection->left ? length : connection->left;

    append(&run->bodies[connection->index], bytes, taken);
    connection->left -= taken;
    if (connection->left == 0 && connection->stage == CHUNK_DATA) {
        connection->stage = CHUNK_END;
    }
    return taken;
}

/* A trailer ends with an empty line. */
static size_t take_line(struct run *run, struct connection *connection, char *bytes, size_t length)
{
    int head = connection->stage == HEAD;
    char *line;
    size_t taken = take_until(connection, bytes, length, head ? "\r\n\r\n" : "\r\n", &line);

    if (!line) {
        return taken;
    }
    if (head) {
        parse_head(run, connection, line);
    } else if (connection->stage == CHUNK_SIZE) {
        parse_chunk_size(connection, line);
    } else if (connection->stage == CHUNK_END) {
        connection->stage = CHUNK_SIZE;
    } else if (line[0] == '\r') {
        finish(run, connection);
    }
    return taken;
}

static void take(struct run *run, struct connection *connection, char *bytes, size_t length)
{
    while (length > 0) {
        int data = connection->stage == PLAIN_BODY || connection->stage == CHUNK_DATA;
        size_t taken = data ? take_data(run, connection, bytes, length) : take_line(run, connection, bytes, length);

        bytes += taken;
        length -= taken;
        if (connection->stage == PLAIN_BODY && connection->left == 0) {
            finish(run, connection);
        }
    }
}

static ssize_t receive_into(struct connection *connection, char *buffer, size_t length)
{
    ssize_t received = recv(connection->descriptor, buffer, length, 0);

    if (received == 0) {
        refuse("the origin closed a connection");
    }
    if (received < 0 && errno != EAGAIN) {
        die("recv");
    }
    return received;
}

/* The rest of a long body is read in place. */
static void receive(struct run *run, struct connection *connection)
{
    struct body *body = &run->bodies[connection->index];
    ssize_t received;

    if (connection->stage != PLAIN_BODY) {
        received = receive_into(connection, incoming, sizeof incoming);
        if (received > 0) {
            take(run, connection, incoming, received);
        }
        return;
    }
    received = receive_into(connection, body->bytes + body->length, connection->left);
    if (received > 0) {
        body->length += received;
        connection->left -= received;
        if (connection->left == 0) {
            finish(run, connection);
        }
    }
}

/* --- the run ---------------------------------------------------------------------------------------------------- */

static void drive(struct run *run)
{
    struct epoll_event events[EVENTS];

    while (run->done < run->count) {
        int ready = epoll_wait(run->epoll, events, EVENTS, -1);

        if (ready < 0 && errno != EINTR) {
            die("epoll_wait");
        }
        for (int i = 0; i < ready; i++) {
            struct connection *connection = events[i].data.ptr;

            if (connection->stage == CONNECT) {
                connected(run, connection);
            } else {
                receive(run, connection);
            }
        }
    }
}

static void get_all(struct run *run, long connections)
{
    long used = connections < run->count ? connections : run->count;

    run->bodies = allocate(run->count * sizeof *run->bodies);
    run->connections = allocate(used * sizeof *run->connections);
    run->epoll = check(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    for (long i = 0; i < used; i++) {
        connect_to_origin(run, &run->connections[i]);
    }
    drive(run);
    for (long i = 0; i < used; i++) {
        close(run->connections[i].descriptor);
        free(run->connections[i].kept);
    }
    close(run->epoll);
    free(run->connections);
}

static long read_targets(char ***targets)
{
    char line[TARGET_LIMIT];
    long count = 0, room = 0;

    *targets = NULL;
    while (fgets(line, sizeof line, stdin)) {
        if (count == room) {
            room = room ? room * 2 : 1024;
            *targets = realloc(*targets, room * sizeof **targets);
        }
        line[strcspn(line, "\n")] = 0;
        (*targets)[count++] = strdup(line);
    }
    return count;
}

static void tell(const struct run *run, double wall, double cpu, long grown)
{
    uint32_t crc = 0;
    size_t bytes = 0;

    for (long i = 0; i < run->count; i++) {
        crc = crc32(crc, run->bodies[i].bytes, run->bodies[i].length);
        bytes += run->bodies[i].length;
    }
    printf("{\"bodies\":%ld,\"bytes\":%zu,\"crc\":%u,\"wall\":%.9f,\"cpu\":%.9f,\"memory\":%ld}\n", run->done, bytes, crc, wall, cpu,
           grown);
}

int main(int argc, char **argv)
{
    struct run run = {0}, warm_up;
    double wall, cpu;
    long base;

    if (argc != 4) {
        fprintf(stderr, "usage: %s PORT CONNECTIONS WARM_UP <TARGETS\n", argv[0]);
        return 2;
    }
    raise_descriptor_limit();
    run.port = atoi(argv[1]);
    run.count = read_targets(&run.targets);
    warm_up = run;
    warm_up.count = atol(argv[3]) < run.count ? atol(argv[3]) : run.count;
    get_all(&warm_up, atol(argv[2]));
    reset_peak();
    base = memory("VmRSS:");
    wall = seconds(CLOCK_MONOTONIC);
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    get_all(&run, atol(argv[2]));
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    wall = seconds(CLOCK_MONOTONIC) - wall;
    tell(&run, wall, cpu, memory("VmHWM:") - base);
    return 0;
}
