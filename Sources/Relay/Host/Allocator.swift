// SPDX-License-Identifier: Apache-2.0

internal import CLinux

/// What is set of the C library's allocator.
enum Allocator {
    /// glibc gives a new thread an arena of its own, up to eight for each core, and an arena hardly ever gives memory back.
    /// Each attempt of an RTMP output is a new thread, and frames are large: an arena more is megabytes more. Four are
    /// enough for the threads that allocate all the time.
    static let arenaLimit: Int32 = 4

    /// Limits the arenas. To be called before there are other threads. The environment variable `MALLOC_ARENA_MAX` cannot
    /// raise the limit.
    static func limit() { _ = relay_limit_malloc_arenas(arenaLimit) }
}
