// SPDX-License-Identifier: Apache-2.0

package import Media

/// An event that a ``SourceClock`` reports to its caller, once for each occurrence.
package enum SourceClockEvent: Sendable, Hashable {
    /// The mapping from the source's times to our clock was created. `buffer` is the time between the arrival of the
    /// packets with the smallest delay and the moment at which these packets are due.
    case placed(buffer: Duration)
    /// The mapping made a step: media of both tracks that has not been shown yet is shown later by this duration, or
    /// earlier if it is negative. The ``AudioServo`` must make the same step.
    case stepped(Duration)
    /// The sender's timestamps of this track jumped by this duration. On the source's timeline the jump was closed.
    case jumped(TrackKind, by: Duration)
    /// The sender's timestamps of this track jumped, and the other track did not jump within 5 s. On the source's
    /// timeline both tracks continue without a change of their sync.
    case jumpedAlone(TrackKind)
    /// A track began after the mapping had been created.
    case joined(TrackKind)
    /// The timestamps of two tracks have no common epoch, so the tracks were aligned by their arrivals.
    case unrelated
    /// The mapping made a step by this duration, because the common buffer of several sources is longer.
    case followed(by: Duration)
    /// The delay of the network path changed by a step and stays so. The measured rate of the sender's clock is kept.
    case pathChanged
    /// A packet of this track arrived too late to be shown on time, by this duration.
    case late(TrackKind, by: Duration)
    /// No packet of this track arrived for longer than ``SourceClockSettings/patience``, or the mapping was created
    /// before the first packet of this expected track.
    case silent(TrackKind)
    /// Packets of this track arrive again after ``silent(_:)``.
    case resumed(TrackKind)
    /// No packet of any track arrived for 10 s, or for twice ``SourceClockSettings/patience`` if that is longer.
    case lost
}

/// The state of a source's clock, as an operator sees it.
package struct SourceClockStatus: Sendable, Hashable, Codable {
    /// How much faster the sender's clock is than ours, in ppm; 0 until there is an estimate.
    package var ratePPM: Double = 0
    /// The time between the arrival of the packets with the smallest delay and the moment at which they are due, in
    /// milliseconds.
    package var bufferMilliseconds: Double = 0
    /// How much later audio arrives than video with the same timestamp, in milliseconds; negative if audio arrives
    /// earlier.
    package var audioBehindVideoMilliseconds: Double = 0
    /// The number of packets that arrived too late to be shown on time.
    package var latePackets = 0
    /// How often the mapping to our clock made a step because packets needed more buffer or the buffer was far too
    /// long.
    package var steps = 0
    /// How often the sender's timestamps jumped.
    package var jumps = 0
    /// How often the timestamps of only one track jumped.
    package var loneJumps = 0
    /// How often the delay of the network path changed by a step and stayed so.
    package var pathChanges = 0

    package init() {}
}
