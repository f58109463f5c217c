// SPDX-License-Identifier: Apache-2.0

/// Packets that did not reach an output or one of its receivers.
package struct DropCounts: Sendable, Equatable {
    /// Packets of both tracks, by cause.
    package var causes: [DropCause: Int] = [:]
    /// Frames among them.
    package var frames = 0

    /// Nothing was dropped.
    package init() {}

    /// Packets of both tracks, whatever the cause.
    package var packets: Int { causes.values.reduce(0, +) }

    /// Adds what was dropped elsewhere.
    package mutating func add(_ other: DropCounts) {
        causes.merge(other.causes, uniquingKeysWith: +)
        frames += other.frames
    }

    /// Counts one packet.
    mutating func count(_ cause: DropCause, isFrame: Bool) {
        causes[cause, default: 0] += 1
        if isFrame { frames += 1 }
    }

    /// Counts the packets of so many frames.
    package mutating func add(_ cause: DropCause, frames count: Int) {
        guard count > 0 else { return }
        causes[cause, default: 0] += count
        frames += count
    }
}
