/*
 * A fork copies every descriptor: as long as the child lives, a connection that is closed here would not end, and a listener that
 * is closed here would still accept. The child has none of the threads, and closes their descriptors. So the list of
 * these is right at any moment at which another thread may fork.
 */
#include "shard_fork.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BITS = 64, FIRST_WORDS = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t *ours; /* a bit for each descriptor of this process */
static size_t words;

static void shard_fork_before(void) {
    pthread_mutex_lock(&lock);
}

static void shard_fork_in_parent(void) {
    pthread_mutex_unlock(&lock);
}

static void shard_fork_in_child(void) {
    for (size_t i = 0; i < words * BITS; i++) {
        if (ours[i / BITS] >> i % BITS & 1) close((int)i);
    }
    memset(ours, 0, words * sizeof *ours);
    pthread_mutex_unlock(&lock);
}

static void shard_fork_heed_forks(void) {
    pthread_atfork(shard_fork_before, shard_fork_in_parent, shard_fork_in_child);
}

/* Where there is no memory to remember it in, it is closed: then errno is ENOMEM. */
static int shard_fork_remember(int descriptor) {
    size_t word = (size_t)descriptor / BITS;
    if (word >= words) {
        size_t room = word * 2 < FIRST_WORDS ? FIRST_WORDS : word * 2;
        uint64_t *larger = realloc(ours, room * sizeof *ours);
        if (!larger) {
            close(descriptor);
            errno = ENOMEM;
            return -1;
        }
        memset(larger + words, 0, (room - words) * sizeof *ours);
        ours = larger;
        words = room;
    }
    ours[word] |= UINT64_C(1) << descriptor % BITS;
    return descriptor;
}

int shard_take(int descriptor) {
    if (descriptor == -1) return -1;
    pthread_once(&once, shard_fork_heed_forks);
    pthread_mutex_lock(&lock);
    descriptor = shard_fork_remember(descriptor);
    pthread_mutex_unlock(&lock);
    return descriptor;
}

int shard_take_client(int listener) {
    pthread_mutex_lock(&lock);
    int socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket != -1) socket = shard_fork_remember(socket);
    pthread_mutex_unlock(&lock);
    return socket;
}

int shard_take_socket(int family) {
    pthread_mutex_lock(&lock);
    int made = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (made != -1) made = shard_fork_remember(made);
    pthread_mutex_unlock(&lock);
    return made;
}

void shard_close(int descriptor) {
    if (descriptor == -1) return;
    pthread_mutex_lock(&lock);
    ours[descriptor / BITS] &= ~(UINT64_C(1) << descriptor % BITS);
    close(descriptor);
    pthread_mutex_unlock(&lock);
}
