// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Publisher

/// What all channels of a process share.
struct HostResources: Sendable {
    /// The threads that write all RTMP outputs' media.
    let writers = RTMPWriterPool()
    /// The clock that programs, outputs and recordings run by.
    let clock: any MonotonicClock

    /// Resources that run by `clock`.
    init(clock: any MonotonicClock = SystemClock()) { self.clock = clock }
}
