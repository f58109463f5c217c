// SPDX-License-Identifier: Apache-2.0

package import Media

/// What a ``SourceClock`` tells its caller, once each time it happens.
package enum SourceClockEvent: Sendable, Hashable {
    /// The source has a map from here on. `buffer` is what the track that comes later has over its earliest packets.
    case placed(buffer: Duration)
    /// The map moved at once, for both tracks: everything not yet shown is shown so much later (earlier if negative).
    /// The audio servo takes the same step.
    case stepped(Duration)
    /// The sender's stamps of this track jumped by so much and were made continuous.
    case jumped(TrackKind, by: Duration)
    /// This track jumped and the other one did not follow within 5 s: their relation is what it was before.
    case jumpedAlone(TrackKind)
    /// A track came that was not there when the source was placed.
    case joined(TrackKind)
    /// Two tracks' stamps have nothing to do with each other, and they were related by their arrivals.
    case unrelated
    /// The map was moved at once, to the buffer that the source has in common with others.
    case followed(by: Duration)
    /// The path became longer or shorter. The sender's rate is kept.
    case pathChanged
    /// A packet came after its time, by so much.
    case late(TrackKind, by: Duration)
    /// Nothing came of this track for longer than the settings allow.
    case silent(TrackKind)
    /// A silent track is back.
    case resumed(TrackKind)
    /// Nothing came of any track for 10 s.
    case lost
}

/// What an operator sees of a source's clock.
package struct SourceClockStatus: Sendable, Hashable, Codable {
    /// By how much the sender's clock runs faster than ours, in ppm; 0 until it is known.
    package var ratePPM: Double = 0
    /// The buffer over the earliest packets, in milliseconds.
    package var bufferMilliseconds: Double = 0
    /// How much later than video audio comes in the multiplex, in milliseconds; negative if earlier.
    package var audioBehindVideoMilliseconds: Double = 0
    /// Packets that came after their time.
    package var latePackets = 0
    /// Times the map moved at once.
    package var steps = 0
    /// Times the sender's stamps jumped.
    package var jumps = 0
    /// Jumps that only one track made.
    package var loneJumps = 0
    /// Times the path's delay changed for good.
    package var pathChanges = 0

    /// Nothing seen yet.
    package init() {}
}
