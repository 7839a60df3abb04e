/* Files that answers consist of, see server_file.h. */
#include "server_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#ifdef HAVE_SENDFILE
#include <sys/sendfile.h>
#endif

#ifdef HAVE_LINUX_OPENAT2_H
#include <linux/openat2.h>
#include <sys/syscall.h>
#endif

#include "server_system.h"

/* ---- sending ---- */

#ifdef HAVE_SENDFILE
ssize_t server_file_send(int to, int from, off_t offset, size_t count) {
    return sendfile(to, from, &offset, count);
}
#else
/* Bytes read at once: they lie on the stack, which may be a fiber's. */
enum { PIECE = 16 * 1024 };

ssize_t server_file_send(int to, int from, off_t offset, size_t count) {
    char piece[PIECE];
    size_t done = 0;
    while (done < count) {
        size_t wanted = count - done < PIECE ? count - done : PIECE;
        ssize_t size = pread(from, piece, wanted, offset + (off_t)done);
        ssize_t sent = size > 0 ? send(to, piece, (size_t)size, MSG_DONTWAIT | SERVER_NO_SIGNAL) : size;
        if (sent <= 0) return done > 0 ? (ssize_t)done : sent;

        done += (size_t)sent;
        if (sent < size) break;
    }
    return (ssize_t)done;
}
#endif

/* ---- what is in memory ---- */

/* Bytes of a file between two looks whether they are there: about as much as the kernel reads ahead. Pages seen to at once. */
enum { STRIDE = 64 * 1024, PAGES = 512 };

/* By the pages of a mapping; Linux says of files which this user neither owns nor may write that all is there. */
static bool server_file_is_mapped_present(int file, off_t offset, size_t count) {
    unsigned char pages[PAGES] = {0};
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (size_t)offset % page, size = before + count;
    size_t used = (size + page - 1) / page;
    if (used > PAGES) return false;

    void *at = mmap(NULL, size, PROT_READ, MAP_SHARED, file, offset - (off_t)before);
    bool known = at != MAP_FAILED && mincore(at, size, (void *)pages) == 0; /* elsewhere it takes a char * */
    if (at != MAP_FAILED) munmap(at, size);
    for (size_t i = 0; known && i < used; i++) if (!(pages[i] & 1)) return false;
    return known;
}

/* By reading a byte, where that may not wait. Overlayfs and file systems over a network don't know how (EOPNOTSUPP). */
static bool server_file_is_byte_present(int file, off_t offset, bool *answered) {
#if defined(HAVE_PREADV2) && defined(RWF_NOWAIT)
    char byte;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    bool present = preadv2(file, &part, 1, offset, RWF_NOWAIT) >= 0;
    *answered = present || errno != EOPNOTSUPP;
    return present;
#else
    (void)file;
    (void)offset;
    return *answered = false;
#endif
}

bool server_file_is_present(int file, off_t offset, off_t count) {
    off_t at = offset, end = at + count;
    bool present = true, answered = true;
    for (; present && at < end; at += STRIDE) present = server_file_is_byte_present(file, at, &answered);
    if (!answered) return server_file_is_mapped_present(file, offset, (size_t)count);
    if (present && end > offset) present = server_file_is_byte_present(file, end - 1, &answered);
    return present;
}

/* ---- opening ---- */

#ifdef SYS_openat2
#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

/* Waits neither for a disk (EAGAIN), nor at another process's file lock (F_SETLEASE). Linux before 5.12 does not know it. */
static int server_file_open_cached(const char *path, uint64_t flags) {
    struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = RESOLVE_CACHED};
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

/* To open a pipe would be noticed by the process that writes to it, so its kind is looked at before. */
static bool server_file_is_known(const char *path) {
    struct statx status = {.stx_mask = 0};
    int place = server_file_open_cached(path, O_PATH);
    if (place == -1) return false;

    int result = statx(place, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status);
    close(place);
    return result == 0 && S_ISREG(status.stx_mode);
}

int server_file_open_known(const char *path) {
    return server_file_is_known(path) ? server_file_open_cached(path, O_RDONLY | O_NONBLOCK) : -1;
}
#else
int server_file_open_known(const char *path) {
    (void)path;
    return -1;
}
#endif
