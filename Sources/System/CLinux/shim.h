// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <dlfcn.h>
#include <errno.h>
#include <linux/memfd.h>
#include <linux/videodev2.h>
#include <malloc.h>
#include <netdb.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <sys/types.h>

// Swift's Glibc module does not contain functions that need _GNU_SOURCE. This is the prototype of fallocate(2);
// FALLOC_FL_KEEP_SIZE is 1 (linux/falloc.h).
extern int fallocate(int fd, int mode, off_t offset, off_t len);

/// Reserves space for a part of a file without changing the file's length.
static inline int relay_allocate_keeping_size(int fd, off_t offset, off_t length) {
    return fallocate(fd, 1, offset, length);
}

// renameat2(2) needs _GNU_SOURCE. AT_FDCWD is -100 (linux/fcntl.h); its header is not included, because it would take
// `struct stat` away from Glibc. RENAME_NOREPLACE is 1 (linux/fs.h).
extern int renameat2(int olddirfd, const char *oldpath, int newdirfd, const char *newpath, unsigned int flags);

/// Renames a file in `directory` if the new name is free; fails with EEXIST if it is not.
static inline int relay_rename_no_replace(int directory, const char *name, const char *target) {
    return renameat2(directory, name, directory, target, 1);
}

/// Whether a time server disciplines the system's clock, as it reports to the kernel (adjtimex(2)). If so,
/// `milliseconds` is the time of that clock since 1970.
static inline int relay_clock_is_synchronised(int64_t *milliseconds) {
    struct timex state = {0};
    int answer = adjtimex(&state);
    if (answer < 0 || answer == TIME_ERROR || (state.status & STA_UNSYNC) != 0) return 0;
    int64_t fraction = (int64_t)state.time.tv_usec / ((state.status & STA_NANO) ? 1000000 : 1000);
    *milliseconds = (int64_t)state.time.tv_sec * 1000 + fraction;
    return 1;
}

// O_DIRECT needs _GNU_SOURCE, and its value depends on the architecture: one value on arm, another on all other
// architectures that matter here (asm/fcntl.h).
#if defined(__aarch64__) || defined(__arm__)
static const int relay_o_direct = 0200000;
#else
static const int relay_o_direct = 040000;
#endif

// memfd_create(2). Its flags are in linux/memfd.h.
extern int memfd_create(const char *name, unsigned int flags);

// Enumerators. In Swift they have another type than the fields and arguments for which they are used.
static const uint32_t relay_epollin = EPOLLIN;
static const uint32_t relay_epollout = EPOLLOUT;
static const uint32_t relay_epolloneshot = EPOLLONESHOT;
static const int relay_epoll_cloexec = EPOLL_CLOEXEC;
static const int relay_eventfd_cloexec = EFD_CLOEXEC;

// mallopt(3). Its parameters are macros of a header that Swift's Glibc module does not contain. Returns 0 on failure.
static inline int relay_limit_malloc_arenas(int count) { return mallopt(M_ARENA_MAX, count); }
static inline int relay_map_malloc_from(int bytes) { return mallopt(M_MMAP_THRESHOLD, bytes); }
static inline int relay_trim_malloc_from(int bytes) { return mallopt(M_TRIM_THRESHOLD, bytes); }

// sched_getaffinity(2) and sched_setaffinity(2), with the mask as an array of words. Only tests set a mask.
extern int sched_getaffinity(pid_t process, size_t size, unsigned long *mask);
extern int sched_setaffinity(pid_t process, size_t size, const unsigned long *mask);

/// The number of cores that this process may use, as `taskset` and `cpuset` set it; 1 if it cannot be determined.
static inline int relay_usable_cores(void) {
    unsigned long mask[128] = {0};
    int count = 0;
    if (sched_getaffinity(0, sizeof mask, mask) != 0) return 1;
    for (unsigned int word = 0; word < sizeof mask / sizeof mask[0]; word++) count += __builtin_popcountl(mask[word]);
    return count;
}

// The ioctl requests of V4L2. Their numbers are macros, which Swift does not import (linux/videodev2.h).
static const unsigned long relay_v4l2_querycap = VIDIOC_QUERYCAP;
static const unsigned long relay_v4l2_enum_fmt = VIDIOC_ENUM_FMT;
static const unsigned long relay_v4l2_enum_framesizes = VIDIOC_ENUM_FRAMESIZES;
static const unsigned long relay_v4l2_enum_frameintervals = VIDIOC_ENUM_FRAMEINTERVALS;

// ioctl(2) is variadic, and Swift does not import variadic functions. Its header would take `struct winsize` away from
// Glibc.
extern int ioctl(int descriptor, unsigned long request, ...);
static inline int relay_ioctl(int descriptor, unsigned long request, void *argument) {
    return ioctl(descriptor, request, argument);
}

/// The capabilities of an ALSA capture device. Each range has a minimum and a maximum.
typedef struct relay_alsa_capabilities {
    unsigned int rates[2];
    unsigned int channels[2];
    /// Whether the device has samples of 16, 24 and 32 bits.
    int has_16, has_24, has_32;
} relay_alsa_capabilities;

static inline void relay_alsa_silent(const char *file, int line, const char *function, int error, const char *text, ...) {
    (void)file, (void)line, (void)function, (void)error, (void)text;
}

// Reads the capabilities of the ALSA device `name`; does not wait if the device is in use. Returns 0, or a negated
// errno: ELIBACC without libasound. The library is loaded when it is first needed. Its prototypes come from alsa/pcm.h
// (1.2), and so do the numbers: SND_PCM_STREAM_CAPTURE 1, SND_PCM_NONBLOCK 1, SND_PCM_FORMAT_S16_LE 2, _S24_LE 6,
// _S32_LE 10, _S24_3LE 32.
static inline int relay_alsa_ask(const char *name, relay_alsa_capabilities *found) {
    void *library = dlopen("libasound.so.2", RTLD_NOW);
    if (!library) return -ELIBACC;
#define RELAY_ALSA(result, function, ...) \
    result (*function)(__VA_ARGS__) = (result (*)(__VA_ARGS__))dlsym(library, "snd_" #function); \
    if (!function) return -ELIBACC
    RELAY_ALSA(int, lib_error_set_handler, void (*)(const char *, int, const char *, int, const char *, ...));
    RELAY_ALSA(int, pcm_open, void **, const char *, int, int);
    RELAY_ALSA(int, pcm_close, void *);
    RELAY_ALSA(int, pcm_hw_params_malloc, void **);
    RELAY_ALSA(void, pcm_hw_params_free, void *);
    RELAY_ALSA(int, pcm_hw_params_any, void *, void *);
    RELAY_ALSA(int, pcm_hw_params_get_rate_min, const void *, unsigned int *, int *);
    RELAY_ALSA(int, pcm_hw_params_get_rate_max, const void *, unsigned int *, int *);
    RELAY_ALSA(int, pcm_hw_params_get_channels_min, const void *, unsigned int *);
    RELAY_ALSA(int, pcm_hw_params_get_channels_max, const void *, unsigned int *);
    RELAY_ALSA(int, pcm_hw_params_test_format, void *, void *, int);
#undef RELAY_ALSA
    // Otherwise the library would write to standard error.
    lib_error_set_handler(relay_alsa_silent);
    void *device = NULL, *values = NULL;
    int result = pcm_open(&device, name, 1, 1);
    if (result < 0) return result;
    result = pcm_hw_params_malloc(&values);
    if (result >= 0) result = pcm_hw_params_any(device, values);
    if (result >= 0) {
        int direction = 0;
        pcm_hw_params_get_rate_min(values, &found->rates[0], &direction);
        pcm_hw_params_get_rate_max(values, &found->rates[1], &direction);
        pcm_hw_params_get_channels_min(values, &found->channels[0]);
        pcm_hw_params_get_channels_max(values, &found->channels[1]);
        found->has_16 = pcm_hw_params_test_format(device, values, 2) == 0;
        found->has_24 = pcm_hw_params_test_format(device, values, 6) == 0
            || pcm_hw_params_test_format(device, values, 32) == 0;
        found->has_32 = pcm_hw_params_test_format(device, values, 10) == 0;
    }
    if (values) pcm_hw_params_free(values);
    pcm_close(device);
    return result < 0 ? result : 0;
}
