// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into one process, it moves that process's wall clock by the seconds that the file CHAOS_CLOCK holds (a
// 64-bit number, read at every look at the clock), and notes behind it the least and the greatest move that it told of.
// Semaphores are waited for by the moved clock, as the kernel does it: a step back makes a wait that has begun so much
// longer. libdispatch's timed waits are of this kind.
//
// Not libfaketime: its constructor changes the environment, by which Swift's runtime finds a program's arguments, and
// its clock_nanosleep() returns at once for deadlines of the monotonic clock.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *offset;  // and the least and the greatest that somebody was told
static int (*wait_really)(sem_t *, const struct timespec *);

__attribute__((constructor)) static void open_clock(void) {
    const char *path = getenv("CHAOS_CLOCK");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *memory = file < 0 ? MAP_FAILED : mmap(NULL, 3 * sizeof *offset, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (memory == MAP_FAILED) abort();
    wait_really = (int (*)(sem_t *, const struct timespec *))dlsym(RTLD_NEXT, "sem_timedwait");
    offset = memory;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t moved = offset[0];
        now->tv_sec += moved;
        if (moved < offset[1]) offset[1] = moved;
        if (moved > offset[2]) offset[2] = moved;
    }
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec time;
    int result = clock_gettime(CLOCK_REALTIME, &time);
    now->tv_sec = time.tv_sec;
    now->tv_usec = time.tv_nsec / 1000;
    return result;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}

int timespec_get(struct timespec *now, int base) {
    return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, now) == 0 ? base : 0;
}

static int is_before(const struct timespec *one, const struct timespec *other) {
    return one->tv_sec < other->tv_sec || (one->tv_sec == other->tv_sec && one->tv_nsec < other->tv_nsec);
}

// In pieces of 50 ms at most, because the clock may be moved meanwhile.
int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict deadline) {
    for (;;) {
        struct timespec now, piece, end = *deadline;
        syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
        end.tv_sec -= *offset;
        piece = now;
        piece.tv_nsec += 50 * 1000 * 1000;
        if (piece.tv_nsec >= 1000 * 1000 * 1000) {
            piece.tv_sec += 1;
            piece.tv_nsec -= 1000 * 1000 * 1000;
        }
        int result = wait_really(semaphore, is_before(&end, &piece) ? &end : &piece);
        if (result == 0 || errno != ETIMEDOUT || !is_before(&now, &end)) return result;
    }
}
