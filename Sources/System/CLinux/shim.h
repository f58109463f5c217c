// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <linux/memfd.h>
#include <malloc.h>
#include <netdb.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/types.h>

// Swift's Glibc module leaves out what needs _GNU_SOURCE. The prototype is that of fallocate(2); FALLOC_FL_KEEP_SIZE is
// 1 (linux/falloc.h).
extern int fallocate(int fd, int mode, off_t offset, off_t len);

/// Reserves space for a part of a file without changing the file's length.
static inline int relay_allocate_keeping_size(int fd, off_t offset, off_t length) {
    return fallocate(fd, 1, offset, length);
}

// renameat2(2) needs _GNU_SOURCE, AT_FDCWD a header that would take `struct stat` away from Glibc (-100, linux/fcntl.h);
// RENAME_NOREPLACE is 1 (linux/fs.h).
extern int renameat2(int olddirfd, const char *oldpath, int newdirfd, const char *newpath, unsigned int flags);

/// Gives a file another name if nothing has that; fails with EEXIST if something does.
static inline int relay_rename_no_replace(const char *path, const char *target) {
    return renameat2(-100, path, -100, target, 1);
}

// O_DIRECT needs _GNU_SOURCE, and differs from machine to machine (asm/fcntl.h of arm and of all others that matter).
#if defined(__aarch64__) || defined(__arm__)
static const int relay_o_direct = 0200000;
#else
static const int relay_o_direct = 040000;
#endif

// memfd_create(2); its flags are in linux/memfd.h.
extern int memfd_create(const char *name, unsigned int flags);

// Enumerators, whose type Swift does not take for that of the fields and arguments.
static const uint32_t relay_epollin = EPOLLIN;
static const uint32_t relay_epollout = EPOLLOUT;
static const uint32_t relay_epolloneshot = EPOLLONESHOT;
static const int relay_epoll_cloexec = EPOLL_CLOEXEC;
static const int relay_eventfd_cloexec = EFD_CLOEXEC;

// mallopt(3); its parameters are macros of a header that Swift's Glibc module leaves out. Returns 0 on failure.
static inline int relay_limit_malloc_arenas(int count) { return mallopt(M_ARENA_MAX, count); }

// sched_getaffinity(2), with the mask as bytes.
extern int sched_getaffinity(pid_t process, size_t size, unsigned long *mask);

/// How many cores this process may use (as `taskset` and `cpuset` set it); 1 if that cannot be found out.
static inline int relay_usable_cores(void) {
    unsigned long mask[128] = {0};
    int count = 0;
    if (sched_getaffinity(0, sizeof mask, mask) != 0) return 1;
    for (unsigned int word = 0; word < sizeof mask / sizeof mask[0]; word++) count += __builtin_popcountl(mask[word]);
    return count;
}
