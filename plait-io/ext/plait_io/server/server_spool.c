/*
 * Bodies on their way to their files, see server.h: by threads of the engine's own, since a disk may be slow. What is to be
 * written belongs to its job until it is done, whatever becomes of the connection, and of the server, meanwhile.
 */
#include "server.h"

#include "server_spool.h"
#include "server_system.h"
#include "server_table.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef HAVE_LINUX_MAGIC_H
#include <linux/magic.h>
#include <sys/vfs.h>
#endif

/* Threads at most: all files are on one disk. Mostly one is enough, and takes what has come meanwhile without being called. */
enum { THREADS = 4 };

/* Seconds that the first job may have waited before one more thread is called. */
static const double PATIENCE = 0.005;

/* Bytes of what is kept at most, each. */
enum { SPARE = 512 * 1024 };

/* Seconds without a job after which a thread ends. */
enum { IDLE = 5 };

/* ---- writing ---- */

static int server_spool_open_file(const char *folder) {
    int file = server_system_nameless_file(folder);
    if (file != -1 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return file;

    char path[4096];
    if (snprintf(path, sizeof path, "%s/plait-XXXXXX", folder) >= (int)sizeof path) return -1;
    file = mkostemp(path, O_CLOEXEC);
    if (file != -1) unlink(path);
    return file;
}

static int server_spool_write_all(int file, const char *data, size_t size) {
    while (size > 0) {
        ssize_t written = write(file, data, size);
        if (written == -1 && errno == EINTR) continue;
        if (written <= 0) return errno;
        data += written;
        size -= (size_t)written;
    }
    return 0;
}

static void server_spool_write_body(struct server_body *body, const char *folder) {
    if (body->file == -1) body->file = server_spool_open_file(folder);
    body->error = body->file == -1 ? errno : server_spool_write_all(body->file, body->data, body->kept);
    body->kept = 0;
}

/* To ask the system for it each time costs as much as to write it; above all where another thread gives it back. */
void server_spare(struct server *server, struct server_body *body) {
    struct server_body spare = {.data = body->data, .capacity = body->capacity, .file = -1};
    if (server->spare == SERVER_SPARES || body->capacity > SPARE) free(body->data);
    else if (body->data) server->spares[server->spare++] = spare;
    body->data = NULL;
    body->capacity = 0;
}

void server_free_spare(struct server *server) {
    if (server->spare > 0) server_free_body(&server->spares[--server->spare]);
}

void server_spool(const struct server *server, struct server_connection *connection) {
    server_spool_write_body(&connection->intake->body, server->settings.folder);
}

/* ---- jobs ---- */

struct job {
    struct job *next;
    struct server_body body;
    double since;
    int number; /* with generation: the connection's */
    uint32_t generation;
};

struct server_spooler {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct job *first, *last; /* not started yet */
    struct job *done;
    unsigned threads, idle;
    int wakeup;     /* a copy of the server's: it is written without the lock, which the woken thread takes */
    pid_t process;
    bool in_memory; /* there is no disk below the folder */
    bool closed;  /* the server is gone: the last thread frees this */
    char folder[];
};

static void server_spool_free_jobs(struct job *job) {
    while (job) {
        struct job *next = job->next;
        server_free_body(&job->body);
        free(job);
        job = next;
    }
}

static void server_spool_free_spooler(struct server_spooler *spooler) {
    close(spooler->wakeup);
    pthread_cond_destroy(&spooler->arrived);
    pthread_mutex_destroy(&spooler->lock);
    free(spooler);
}

static bool server_spool_is_in_memory(const char *folder) {
#ifdef HAVE_LINUX_MAGIC_H
    struct statfs system;
    return statfs(folder, &system) == 0 && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
#else
    (void)folder;
    return false;
#endif
}

/* By which clock a condition counts. Without a choice it is the time of day: set back, idle threads end later. */
#ifdef HAVE_PTHREAD_CONDATTR_SETCLOCK
static const clockid_t CLOCK = CLOCK_MONOTONIC;

static void server_spool_init_condition(pthread_cond_t *condition) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}
#else
static const clockid_t CLOCK = CLOCK_REALTIME;

static void server_spool_init_condition(pthread_cond_t *condition) {
    pthread_cond_init(condition, NULL);
}
#endif

static struct server_spooler *server_spool_open_spooler(const char *folder, int wakeup) {
    size_t size = strlen(folder) + 1;
    struct server_spooler *spooler = calloc(1, sizeof *spooler + size);
    if (!spooler) return NULL;

    spooler->wakeup = fcntl(wakeup, F_DUPFD_CLOEXEC, 3);
    if (spooler->wakeup == -1) {
        free(spooler);
        return NULL;
    }
    server_spool_init_condition(&spooler->arrived);
    pthread_mutex_init(&spooler->lock, NULL);
    spooler->process = getpid();
    spooler->in_memory = server_spool_is_in_memory(folder);
    memcpy(spooler->folder, folder, size);
    return spooler;
}

static void server_spool_put_last(struct server_spooler *spooler, struct job *job) {
    job->next = NULL;
    if (spooler->first) spooler->last->next = job;
    else spooler->first = job;
    spooler->last = job;
}

static struct job *server_spool_take_first(struct server_spooler *spooler) {
    struct job *job = spooler->first;
    if (job) spooler->first = job->next;
    return job;
}

/* ---- threads ---- */

/* NULL: there was none for long, or there will be none. */
static struct job *server_spool_await_job(struct server_spooler *spooler) {
    struct timespec until;
    clock_gettime(CLOCK, &until);
    until.tv_sec += IDLE;
    int error = 0;
    spooler->idle++;
    while (!spooler->first && !spooler->closed && error != ETIMEDOUT) {
        error = pthread_cond_timedwait(&spooler->arrived, &spooler->lock, &until);
    }
    spooler->idle--;
    return server_spool_take_first(spooler);
}

/* The receiver takes all jobs at once: the first one alone signals the wakeup. */
static bool server_spool_hand_in(struct server_spooler *spooler, struct job *job) {
    bool first = !spooler->done;
    job->next = spooler->done;
    spooler->done = job;
    return first;
}

static void server_spool_signal(const struct server_spooler *spooler) {
    uint64_t one = 1;
    ssize_t unused = write(spooler->wakeup, &one, sizeof one);
    (void)unused;
}

/* With the lock, which it gives up meanwhile. */
static void server_spool_perform(struct server_spooler *spooler, struct job *job) {
    pthread_mutex_unlock(&spooler->lock);
    server_spool_write_body(&job->body, spooler->folder);
    pthread_mutex_lock(&spooler->lock);
    if (!server_spool_hand_in(spooler, job)) return;

    pthread_mutex_unlock(&spooler->lock);
    server_spool_signal(spooler);
    pthread_mutex_lock(&spooler->lock);
}

static void *server_spool_work(void *argument) {
    struct server_spooler *spooler = argument;
    struct job *job;
    pthread_mutex_lock(&spooler->lock);
    while ((job = server_spool_await_job(spooler))) server_spool_perform(spooler, job);
    bool last = --spooler->threads == 0 && spooler->closed;
    struct job *left = last ? spooler->done : NULL;
    pthread_mutex_unlock(&spooler->lock);
    server_spool_free_jobs(left);
    if (last) server_spool_free_spooler(spooler);
    return NULL;
}

/* Signals are for the threads of Ruby. */
static int server_spool_start_thread(struct server_spooler *spooler) {
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, server_spool_work, spooler);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0) pthread_detach(thread);
    return error;
}

static double server_spool_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Where the system gives no further thread, the existing threads do the work. */
static int server_spool_see_to_threads(struct server_spooler *spooler, bool late) {
    bool enough = spooler->idle > 0 || spooler->threads == THREADS || !late;
    if (enough && spooler->threads > 0) return 0;

    int error = server_spool_start_thread(spooler);
    if (error == 0) spooler->threads++;
    return spooler->threads > 0 ? 0 : error;
}

/* Returns whether a thread has to be called: threads at work come by themselves. */
static bool server_spool_put(struct server_spooler *spooler, struct job *job, int *error) {
    bool late = spooler->first && spooler->first->since + PATIENCE < job->since;
    *error = server_spool_see_to_threads(spooler, late);
    if (*error == 0) server_spool_put_last(spooler, job);
    return *error == 0 && (late || spooler->idle == spooler->threads);
}

/* ---- for the server ---- */

/* No thread comes along to a fork. */
static bool server_spool_is_usable(struct server *server) {
    if (!server->spooler) server->spooler = server_spool_open_spooler(server->settings.folder, server->kernel.wakeup);
    return server->spooler && !server->spooler->in_memory && server->spooler->process == getpid();
}

int server_spool_offload(struct server *server, struct server_connection *connection) {
    struct job *job = server_spool_is_usable(server) ? malloc(sizeof *job) : NULL;
    if (!job) return ENOMEM;

    struct server_spooler *spooler = server->spooler;
    struct server_body *body = &connection->intake->body;
    *job = (struct job){
        .body = *body, .since = server_spool_seconds(), .number = connection->number, .generation = connection->generation};
    int error;
    pthread_mutex_lock(&spooler->lock);
    bool call = server_spool_put(spooler, job, &error);
    pthread_mutex_unlock(&spooler->lock);
    if (call) pthread_cond_signal(&spooler->arrived);
    if (error == 0) *body = (struct server_body){.file = -1};
    else free(job);
    return error;
}

void server_give_back(struct server *server, struct server_connection *connection) {
    if (connection->intake->body.kept == 0) server_spare(server, &connection->intake->body);
    connection->busy = false;
    server_make_ready(server, connection);
}

static void server_spool_come_back(struct server *server, struct job *job) {
    struct server_connection *connection = server_find(server, job->number, job->generation);
    if (!connection) return server_spare(server, &job->body);

    connection->intake->body = job->body;
    job->body = (struct server_body){.file = -1};
    server_give_back(server, connection);
}

void server_take_spooled(struct server *server) {
    struct server_spooler *spooler = server->spooler;
    if (!spooler) return;

    pthread_mutex_lock(&spooler->lock);
    struct job *done = spooler->done;
    spooler->done = NULL;
    pthread_mutex_unlock(&spooler->lock);
    for (struct job *job = done; job; job = job->next) server_spool_come_back(server, job);
    server_spool_free_jobs(done);
}

/* In a fork a thread that did not come along may hold the lock without an end. */
void server_close_spooler(struct server *server) {
    struct server_spooler *spooler = server->spooler;
    server->spooler = NULL;
    if (!spooler || spooler->process != getpid()) return;

    pthread_mutex_lock(&spooler->lock);
    struct job *waiting = spooler->first, *done = spooler->done;
    spooler->first = spooler->done = NULL;
    spooler->closed = true;
    bool last = spooler->threads == 0;
    pthread_cond_broadcast(&spooler->arrived);
    pthread_mutex_unlock(&spooler->lock);
    server_spool_free_jobs(waiting);
    server_spool_free_jobs(done);
    if (last) server_spool_free_spooler(spooler);
}
