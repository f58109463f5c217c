// SPDX-License-Identifier: Apache-2.0

/// Packets that did not reach an output or one of its receivers.
public struct DropCounts: Sendable, Equatable {
    /// Packets of both tracks, by cause.
    public var causes: [DropCause: Int] = [:]
    /// Frames among them.
    public var frames = 0

    /// Nothing was dropped.
    public init() {}

    /// Packets of both tracks, whatever the cause.
    public var packets: Int { causes.values.reduce(0, +) }

    /// Adds what was dropped elsewhere.
    public mutating func add(_ other: DropCounts) {
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
