// SPDX-License-Identifier: Apache-2.0

package import Media

/// An event of a ``SourceClock``, reported once each time it happens.
package enum SourceClockEvent: Sendable, Hashable {
    /// The source has a mapping from here on. `buffer` is that of the later track, above its earliest packets.
    case placed(buffer: Duration)
    /// The mapping stepped, for both tracks: media not shown yet is shown later by this much (earlier if negative). The
    /// audio servo takes the same step.
    case stepped(Duration)
    /// The sender's timestamps of this track jumped by this much and were made continuous.
    case jumped(TrackKind, by: Duration)
    /// This track jumped and the other one did not follow within 5 s: their sync is unchanged.
    case jumpedAlone(TrackKind)
    /// A track began that did not exist when the source was placed.
    case joined(TrackKind)
    /// The timestamps of two tracks have no common epoch; their arrivals related them.
    case unrelated
    /// The mapping stepped to the common buffer of several sources.
    case followed(by: Duration)
    /// The path became longer or shorter. The sender's rate is kept.
    case pathChanged
    /// A packet arrived late by this much.
    case late(TrackKind, by: Duration)
    /// No packet of this track arrived for longer than the settings allow.
    case silent(TrackKind)
    /// A silent track is back.
    case resumed(TrackKind)
    /// No packet of any track arrived for 10 s.
    case lost
}

/// What an operator sees of a source's clock.
package struct SourceClockStatus: Sendable, Hashable, Codable {
    /// How much faster the sender's clock is than ours, in ppm; 0 until it is known.
    package var ratePPM: Double = 0
    /// The buffer above the earliest packets, in milliseconds.
    package var bufferMilliseconds: Double = 0
    /// How much later audio arrives than video of the same time, in milliseconds; negative if earlier.
    package var audioBehindVideoMilliseconds: Double = 0
    /// Number of late packets.
    package var latePackets = 0
    /// Number of steps of the mapping.
    package var steps = 0
    /// Number of jumps of the sender's timestamps.
    package var jumps = 0
    /// Number of jumps of only one track.
    package var loneJumps = 0
    /// Number of lasting changes of the path's delay.
    package var pathChanges = 0

    package init() {}
}
