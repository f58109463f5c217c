// SPDX-License-Identifier: Apache-2.0

/// Counts of packets that did not reach an output or one of its receivers.
package struct DropCounts: Sendable, Equatable {
    /// Dropped packets of both tracks, by cause.
    package var causes: [DropCause: Int] = [:]
    /// Number of video frames among the dropped packets.
    package var frames = 0

    package init() {}

    /// Dropped packets of both tracks, for all causes.
    package var packets: Int { causes.values.reduce(0, +) }

    /// Adds the counts of `other`.
    package mutating func add(_ other: DropCounts) {
        causes.merge(other.causes, uniquingKeysWith: +)
        frames += other.frames
    }

    /// Counts one packet.
    mutating func count(_ cause: DropCause, isFrame: Bool) {
        causes[cause, default: 0] += 1
        if isFrame { frames += 1 }
    }

    /// Counts the packets of `count` frames.
    package mutating func add(_ cause: DropCause, frames count: Int) {
        guard count > 0 else { return }
        causes[cause, default: 0] += count
        frames += count
    }
}
