// SPDX-License-Identifier: Apache-2.0

internal import CLinux

/// Settings of the C library's allocator.
enum Allocator {
    /// glibc gives each new thread its own arena, up to eight per core, and an arena hardly ever returns memory. Each
    /// connection attempt of an RTMP output is a new thread, and frames are large, so each additional arena costs
    /// megabytes. Four arenas are enough for the threads that allocate all the time.
    static let arenaLimit: Int32 = 4

    /// Limits the number of arenas. Must be called before there are other threads. The environment variable
    /// `MALLOC_ARENA_MAX` cannot raise the limit.
    static func limit() { _ = relay_limit_malloc_arenas(arenaLimit) }
}
