// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The measured delays of one track. The delay of a packet is its arrival minus its timestamp. The
/// delays of video include ``SourceClockSettings/decoding``.
struct TrackDelays: Sendable {
    /// The smallest and the largest delay of some consecutive packets. While the clock collects delays to create or
    /// extend a mapping, a piece covers packets that arrived together. Later, a piece covers the packets of one second.
    struct Piece: Sendable {
        let at: MonotonicInstant
        var least: Duration
        var greatest: Duration
    }

    /// The smallest and the largest delay of the packets that arrived in a period.
    struct Extremes: Sendable {
        var least: Duration
        var greatest: Duration
        /// The smallest delay that the first packet of a bundle had. A bundle is a group of packets that arrived
        /// together.
        var bundle: Duration
    }

    /// The decoding time of a packet on the source's timeline, and its arrival.
    struct Packet: Sendable {
        let time: Timestamp
        let arrival: MonotonicInstant
    }

    /// Packets that arrive within this time count as having arrived together.
    private static let together = Duration.milliseconds(5)
    /// How long delays are kept.
    static let memory = Duration.seconds(300)

    /// The arrival of the track's first packet.
    let since: MonotonicInstant
    /// Whether the track began after the source's mapping was created, and the clock still collects its delays.
    var isJoining: Bool
    /// The arrival of the track's last packet.
    private(set) var last: MonotonicInstant
    /// Whether no packet of the track has arrived for longer than ``SourceClockSettings/patience``.
    var isSilent = false
    /// The arrival of the first late packet if all later packets were late, too; nil if the last packet was on time, or
    /// if no packet has been late since the last step of the mapping.
    var lateSince: MonotonicInstant?
    /// The correction that is added to the track's times. It is not 0 if the tracks had no common epoch
    /// and were aligned by their arrivals.
    private(set) var bias = Duration.zero
    /// The delays of the last five minutes, oldest first.
    private(set) var pieces: [Piece] = []
    /// The arrival of the last packet whose delay is in `pieces`.
    private var measured: MonotonicInstant
    /// The newest packets, if their timestamps have leapt and it is not certain yet whether they are right.
    private var doubtful: [Packet] = []

    /// Creates the delays of a track whose first packet arrived at `since`.
    init(since: MonotonicInstant, isJoining: Bool) {
        self.since = since
        self.isJoining = isJoining
        (last, measured) = (since, since)
    }

    /// Records that a packet arrived. Returns whether the track counted as silent until this packet.
    mutating func arrive(at arrival: MonotonicInstant) -> Bool {
        let wasSilent = isSilent
        (isSilent, last) = (false, arrival)
        return wasSilent
    }

    /// Returns the packets whose delays are certain now that `packet` has come, oldest first. If a timestamp leaps, the
    /// delays of its packet and of those that agree with it wait until a later packet shows whether these timestamps
    /// are right. The delays of wrong timestamps are never returned. Otherwise one frame whose timestamp is 240 ms
    /// ahead would lower the floor by as much. All later frames would then seem to need a larger buffer, and the buffer
    /// would keep this length for five minutes.
    mutating func release(_ packet: Packet, _ course: SenderTimeline.Course) -> [Packet] {
        // The first delay is needed at once: without it there is nothing from which to create a mapping.
        if pieces.isEmpty { return [packet] }
        let before = doubtful
        switch course {
        case .steady:
            doubtful = []
            return before + [packet]
        case .leaps:
            doubtful = [packet]
            return before
        case .undecided:
            doubtful.append(packet)
            return []
        case .returns:
            doubtful = []
            return [packet]
        }
    }

    /// Records the delay `delay` of a packet.
    mutating func note(_ delay: Duration, at arrival: MonotonicInstant, isCollecting: Bool) {
        let pause = arrival - measured
        measured = arrival
        if let newest = pieces.indices.last {
            let belongs =
                isCollecting || isJoining ? pause <= Self.together : arrival - pieces[newest].at < .seconds(1)
            if belongs {
                pieces[newest].least = min(pieces[newest].least, delay)
                pieces[newest].greatest = max(pieces[newest].greatest, delay)
                return
            }
        }
        pieces.append(Piece(at: arrival, least: delay, greatest: delay))
        let old = pieces.prefix { arrival - $0.at > Self.memory }.count
        if old > 0 { pieces.removeFirst(old) }
    }

    /// Shifts the track's times by `distance`. The recorded delays become smaller by `distance`.
    mutating func move(by distance: Duration) {
        bias += distance
        for index in pieces.indices {
            pieces[index].least -= distance
            pieces[index].greatest -= distance
        }
    }

    /// The largest delay of the packets that arrived since `moment`; nil if the track began later, or if no packet
    /// arrived since `moment`.
    func greatest(since moment: MonotonicInstant) -> Duration? {
        guard since <= moment else { return nil }
        return pieces.reversed().prefix { $0.at >= moment }.map(\.greatest).max()
    }

    /// The smallest and the largest delay of the packets that arrived since `moment`; if no packet arrived since
    /// `moment`, those of the newest packets.
    func extremes(since moment: MonotonicInstant) -> Extremes {
        let recent = pieces.drop { $0.at < moment }
        let taken = recent.isEmpty ? pieces.suffix(1) : recent
        return Extremes(
            least: taken.map(\.least).min() ?? .zero, greatest: taken.map(\.greatest).max() ?? .zero,
            bundle: taken.map(\.greatest).min() ?? .zero)
    }
}

extension MonotonicInstant {
    /// The delay of media of the time `time` that arrives at this moment.
    func delay(of time: Timestamp) -> Duration { self - MonotonicInstant(nanoseconds: time.nanoseconds) }

    /// The time of the media that arrives at this moment with the delay `delay`.
    func time(delayedBy delay: Duration) -> Timestamp { Timestamp(nanoseconds: nanoseconds) - delay }
}
