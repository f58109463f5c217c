// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into one process, it makes the disk slow on which the directory NETWORK_DISK is: each write to a file there
// takes its length divided by the bytes a second that the file NETWORK_DISK_RATE holds (a 64-bit number, read at every
// write; 0 is as fast as the disk is). The second number in that file counts the writes that were slowed down.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *rate;  // and the writes that were slowed down
static const char *directory;

__attribute__((constructor)) static void open_rate(void) {
    const char *path = getenv("NETWORK_DISK_RATE");
    directory = getenv("NETWORK_DISK");
    int file = path && directory ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *memory = file < 0 ? MAP_FAILED : mmap(NULL, 2 * sizeof *rate, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (memory == MAP_FAILED) abort();
    rate = memory;
}

static int is_there(int file) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strncmp(path, directory, strlen(directory)) == 0;
}

// In pieces, because the disk may be made fast meanwhile.
ssize_t write(int file, const void *bytes, size_t count) {
    if (rate && *rate > 0 && is_there(file)) {
        __atomic_add_fetch(&rate[1], 1, __ATOMIC_RELAXED);
        struct timespec piece = {0, 10 * 1000 * 1000};
        for (int64_t rest = (int64_t)count; rest > 0 && *rate > 0; rest -= *rate / 100) nanosleep(&piece, NULL);
    }
    return syscall(SYS_write, file, bytes, count);
}
