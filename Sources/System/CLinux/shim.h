// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <linux/memfd.h>
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

// memfd_create(2); its flags are in linux/memfd.h.
extern int memfd_create(const char *name, unsigned int flags);

// Enumerators, whose type Swift does not take for that of the fields and arguments.
static const uint32_t relay_epollin = EPOLLIN;
static const uint32_t relay_epollout = EPOLLOUT;
static const uint32_t relay_epolloneshot = EPOLLONESHOT;
static const int relay_epoll_cloexec = EPOLL_CLOEXEC;
static const int relay_eventfd_cloexec = EFD_CLOEXEC;
