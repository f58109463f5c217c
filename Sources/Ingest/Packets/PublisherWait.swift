// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides whether enough is known about a publisher to put its stream on air.
///
/// This is a value without a clock of its own. Each new track restarts the time limits.
struct PublisherWait {
    /// What to do now.
    enum Decision: Equatable {
        /// The publisher's tracks are known: no further track is expected.
        case known
        /// Decide again when more is known of the tracks or the publisher is gone, and at the given time, if there is
        /// one.
        case wait(until: MonotonicInstant?)
        /// The publisher lacks the needed track. Decide again when more is known of the tracks or the publisher is
        /// gone: this publisher can still send the track, or another publisher can come. Returned once for each
        /// publisher.
        case useless
    }

    /// The time limit for a track that the sender did not announce, and for the measurement of the frame rate.
    private static let usualPatience = Duration.seconds(1)
    /// The time limit for a track that the sender announced: the packets of such a track come many times a second.
    private static let announcedPatience = Duration.seconds(2)
    /// The time limit for a keyframe while other frames come: the longest usual GOP, and a margin.
    private static let keyframePatience = Duration.seconds(12)

    private let needed: TrackKind?
    private var since: MonotonicInstant?
    private var knownTracks = 0
    /// Whether the present publisher was found to lack the needed track.
    private(set) var isUseless = false

    /// Creates a wait for a publisher that has at least a track of this kind; nil means that any track will do.
    init(for needed: TrackKind?) { self.needed = needed }

    /// Resets the state, because another publisher has begun, or the present publisher is gone.
    mutating func restart() { self = PublisherWait(for: needed) }

    /// Whether `stream` has a track of the needed kind; true if no kind is needed.
    func isSatisfied(by stream: StreamDescription) -> Bool {
        guard let needed else { return true }
        return stream.tracks.contains { $0.kind == needed }
    }

    /// Decides at `now` about the publisher whose messages `reader` has read.
    mutating func decide(on reader: RTMPPacketReader, at now: MonotonicInstant) -> Decision {
        let tracks = reader.stream.tracks.count
        guard tracks > 0 else { return .wait(until: nil) }
        let start = tracks == knownTracks ? since ?? now : now
        (since, knownTracks) = (start, tracks)
        let isSatisfied = isSatisfied(by: reader.stream)
        if isSatisfied, !reader.isMissingTrack, !reader.isMeasuringRate { return .known }
        let limit = start + Self.patience(with: reader)
        if now < limit { return .wait(until: limit) }
        if isSatisfied { return .known }
        defer { isUseless = true }
        return isUseless ? .wait(until: nil) : .useless
    }

    private static func patience(with reader: RTMPPacketReader) -> Duration {
        if reader.awaitsKeyframe { return keyframePatience }
        return reader.announcesMissingTrack ? announcedPatience : usualPatience
    }
}
