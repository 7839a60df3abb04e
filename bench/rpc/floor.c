/*
 * The physical limit of bench/rpc: plain sockets in C, 8 bytes of head (what, a number) and bytes as they are, a server in a
 * process of its own.
 *
 *   floor get|put|add CALLS BYTES CONNECTIONS WINDOW WARM_UP
 *
 * Every connection asks for WINDOW things at once and takes the answers before it asks again; all connections do so in turn. It
 * prints one line of JSON: wall time, CPU time and page faults of both processes, the sum of the answers, the 99th percentile of a
 * turn's time in microseconds, and the turns of more than 38 ms.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "../harness/program.h"

#define MOST_CONNECTIONS 64
#define MOST_AT_ONCE 256
#define STALL 0.038

struct head {
    char what[4];
    uint32_t number; /* big-endian */
};

struct job {
    char what;       /* its first letter tells it */
    long calls;
    uint32_t bytes;  /* of an answer, or of what is put */
    int connections;
    int window;      /* calls at once on each */
    long warm_up;    /* calls before any time is taken */
    char *body;
    int sockets[MOST_CONNECTIONS];
    uint32_t asked[MOST_CONNECTIONS]; /* calls of each so far */
};

static int read_all(int descriptor, void *to, size_t size) {
    for (char *at = to; size > 0;) {
        ssize_t got = recv(descriptor, at, size, 0);
        if (got <= 0) return 0;
        at += got;
        size -= (size_t)got;
    }
    return 1;
}

static void write_all(int descriptor, struct iovec *parts, int count) {
    while (count > 0) {
        ssize_t sent = writev(descriptor, parts, count);
        if (sent < 0) die("writev");
        while (count > 0 && (size_t)sent >= parts->iov_len) {
            sent -= (ssize_t)parts->iov_len;
            parts++;
            count--;
        }
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + sent;
            parts->iov_len -= (size_t)sent;
        }
    }
}

static struct head head(char what, uint32_t number) {
    return (struct head){.what = {what}, .number = htonl(number)};
}

static void send_with(int descriptor, struct head head, const char *body, uint32_t size) {
    struct iovec parts[] = {{&head, sizeof head}, {(char *)(uintptr_t)body, size}};
    write_all(descriptor, parts, size ? 2 : 1);
}

/* Bytes get memory of their own, as in a client or server that keeps them. */
static uint32_t take(int descriptor, uint32_t size) {
    char *bytes = malloc(size);
    if (!bytes || !read_all(descriptor, bytes, size)) die("recv");
    free(bytes);
    return size;
}

/* ---- the server ---- */

static int answer(const struct job *job, int descriptor) {
    struct head heads[MOST_AT_ONCE];
    ssize_t got = recv(descriptor, heads, job->what == 'p' ? sizeof *heads : sizeof heads, 0);
    if (got <= 0) return 0;
    size_t rest = (size_t)got % sizeof *heads;
    if (rest && !read_all(descriptor, (char *)heads + got, sizeof *heads - rest)) return 0;

    size_t count = ((size_t)got + sizeof *heads - 1) / sizeof *heads;
    for (size_t i = 0; i < count; i++) {
        uint32_t number = ntohl(heads[i].number);
        if (job->what == 'g') send_with(descriptor, heads[i], job->body, number);
        else if (job->what == 'p') send_with(descriptor, head('p', take(descriptor, number)), NULL, 0);
        else heads[i] = head('a', number + 1);
    }
    if (job->what == 'a' && send(descriptor, heads, count * sizeof *heads, 0) < 0) return 0;
    return 1;
}

static void serve(const struct job *job, int listener) {
    struct pollfd polled[MOST_CONNECTIONS];
    int one = 1;
    for (int i = 0; i < job->connections; i++) {
        polled[i] = (struct pollfd){.fd = accept(listener, NULL, NULL), .events = POLLIN};
        setsockopt(polled[i].fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }
    for (;;) {
        if (poll(polled, (nfds_t)job->connections, -1) < 0) die("poll");
        for (int i = 0; i < job->connections; i++) {
            if (polled[i].revents && !answer(job, polled[i].fd)) _exit(0);
        }
    }
}

/* ---- the client ---- */

static void ask(struct job *job, int connection) {
    struct head heads[MOST_AT_ONCE];
    int descriptor = job->sockets[connection];
    for (int i = 0; i < job->window; i++) {
        uint32_t number = job->what == 'a' ? job->asked[connection]++ : job->bytes;
        if (job->what == 'p') send_with(descriptor, head('p', number), job->body, number);
        else heads[i] = head(job->what, number);
    }
    if (job->what == 'p') return;

    struct iovec part = {heads, (size_t)job->window * sizeof *heads};
    write_all(descriptor, &part, 1);
}

static uint64_t collect(const struct job *job, int connection) {
    struct head heads[MOST_AT_ONCE];
    int descriptor = job->sockets[connection];
    uint64_t sum = 0;
    if (job->what == 'a') {
        if (!read_all(descriptor, heads, (size_t)job->window * sizeof *heads)) die("recv");
        for (int i = 0; i < job->window; i++) sum += ntohl(heads[i].number);
        return sum;
    }
    for (int i = 0; i < job->window; i++) {
        if (!read_all(descriptor, heads, sizeof *heads)) die("recv");
        uint32_t number = ntohl(heads->number);
        sum += job->what == 'g' ? take(descriptor, number) : number;
    }
    return sum;
}

static uint64_t turn(struct job *job) {
    uint64_t sum = 0;
    for (int i = 0; i < job->connections; i++) ask(job, i);
    for (int i = 0; i < job->connections; i++) sum += collect(job, i);
    return sum;
}

static long faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

static long faults_of(pid_t pid) {
    char path[64];
    long count = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    if (fscanf(file, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %ld", &count) != 1) count = 0;
    fclose(file);
    return count;
}

static int by_size(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

static void measure(struct job *job, pid_t server) {
    long at_once = (long)job->connections * job->window;
    for (long i = 0; i < job->warm_up; i += at_once) turn(job);
    memset(job->asked, 0, sizeof job->asked);

    long turns = job->calls / at_once, stalls = 0;
    double *times = malloc(sizeof *times * (size_t)turns);
    clockid_t clock;
    if (!times || clock_getcpuclockid(server, &clock) != 0) die("the server's clock");
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) + seconds(clock), wall = now();
    long before = faults() + faults_of(server);
    uint64_t sum = 0;
    for (long i = 0; i < turns; i++) {
        double began = now();
        sum += turn(job);
        times[i] = now() - began;
        stalls += times[i] > STALL;
    }
    wall = now() - wall;
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) + seconds(clock) - cpu;
    qsort(times, (size_t)turns, sizeof *times, by_size);
    printf("{\"wall\":%.9f,\"cpu\":%.9f,\"faults\":%ld,\"result\":%llu,\"p99_us\":%.3f,\"stalls\":%ld}\n", wall, cpu,
           faults() + faults_of(server) - before, (unsigned long long)sum, times[turns * 99 / 100] * 1e6, stalls);
    free(times);
}

static void connect_all(struct job *job, struct sockaddr_in address) {
    int one = 1;
    for (int i = 0; i < job->connections; i++) {
        job->sockets[i] = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(job->sockets[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (connect(job->sockets[i], (struct sockaddr *)&address, sizeof address) < 0) die("connect");
    }
}

static struct job job_from(char **arguments) {
    struct job job = {.what = arguments[1][0], .calls = atol(arguments[2]), .bytes = (uint32_t)strtoul(arguments[3], NULL, 10),
                      .connections = atoi(arguments[4]), .window = atoi(arguments[5]), .warm_up = atol(arguments[6])};
    if (job.connections > MOST_CONNECTIONS || job.window > MOST_AT_ONCE || !strchr("gpa", job.what)) {
        fputs("what it is asked for is beyond its bounds\n", stderr);
        exit(2);
    }
    job.body = malloc(job.bytes + 1);
    if (!job.body) die("malloc");
    memset(job.body, 'x', job.bytes + 1);
    return job;
}

int main(int count, char **arguments) {
    if (count != 7) {
        fputs("usage: floor get|put|add CALLS BYTES CONNECTIONS WINDOW WARM_UP\n", stderr);
        return 2;
    }
    struct job job = job_from(arguments);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, size) < 0 || listen(listener, MOST_CONNECTIONS) < 0) die("listen");
    getsockname(listener, (struct sockaddr *)&address, &size);
    pid_t server = fork();
    if (server < 0) die("fork");
    if (server == 0) serve(&job, listener);
    connect_all(&job, address);
    measure(&job, server);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    return 0;
}
