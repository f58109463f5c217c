// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <librtmp/amf.h>
#include <librtmp/log.h>
#include <librtmp/rtmp.h>
#include <linux/memfd.h>
#include <sys/syscall.h>
#include <unistd.h>

// The Glibc module lacks memfd_create, which needs _GNU_SOURCE, and a variadic syscall cannot be called from Swift.
static inline int relay_memfd_create(const char *name, unsigned flags) {
    return (int)syscall(SYS_memfd_create, name, flags);
}
