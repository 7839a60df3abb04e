/* Files that answers consist of: as the system's own means have them, else by plain calls. */
#ifndef PLAIT_SERVER_FILE_H
#define PLAIT_SERVER_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Sends of a file what the peer takes without a wait. Returns the bytes, 0 at the end of the file, or -1 with errno. */
ssize_t server_file_send(int to, int from, off_t offset, size_t count);

/* Whether that of a file, by samples, is read without a wait for the disk. */
bool server_file_is_present(int file, off_t offset, off_t count);

/* Its descriptor; -1: it is no file, can't be opened, or that may take a wait for the disk, or the system can't tell. */
int server_file_open_known(const char *path);

#endif
