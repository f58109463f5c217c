// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The known delays (arrival minus timestamp) of one track, in nanoseconds.
struct TrackDelays: Sendable {
    /// The delays from one moment on. While delays are collected, a piece contains packets that arrived together;
    /// later, it contains the packets of a second.
    struct Piece: Sendable {
        let at: Int64
        var least: Int64
        var greatest: Int64
    }

    /// The extreme delays of a period.
    struct Extremes: Sendable {
        var least: Int64
        var greatest: Int64
        /// The smallest delay that the first packet of a bundle had.
        var bundle: Int64
    }

    /// Packets that arrive within this interval count as having arrived together.
    private static let together: Int64 = 5_000_000
    /// How long delays are kept.
    static let memory: Int64 = 300_000_000_000

    /// Arrival of the first packet.
    let since: Int64
    /// Whether the track began after the source was placed, and its delays are still being collected.
    var isJoining: Bool
    /// Arrival of the last packet.
    private(set) var last: Int64
    /// Whether the track is silent for too long.
    var isSilent = false
    /// The arrival since which all packets have been late; nil while they are on time.
    var lateSince: Int64?
    /// Added to the track's times, if two tracks without a common epoch were aligned by their arrivals.
    private(set) var bias: Int64 = 0
    /// The delays of the last five minutes.
    private(set) var pieces: [Piece] = []

    /// A track whose first packet arrived at `since`.
    init(since: Int64, isJoining: Bool) {
        self.since = since
        self.isJoining = isJoining
        last = since
    }

    /// Records a packet. Returns whether the track was silent until now.
    mutating func note(_ delay: Int64, at arrival: Int64, isCollecting: Bool) -> Bool {
        let wasSilent = isSilent
        let pause = arrival &- last
        (isSilent, last) = (false, arrival)
        if let newest = pieces.indices.last {
            let belongs =
                isCollecting || isJoining ? pause <= Self.together : arrival &- pieces[newest].at < 1_000_000_000
            if belongs {
                pieces[newest].least = min(pieces[newest].least, delay)
                pieces[newest].greatest = max(pieces[newest].greatest, delay)
                return wasSilent
            }
        }
        pieces.append(Piece(at: arrival, least: delay, greatest: delay))
        let old = pieces.prefix { arrival &- $0.at > Self.memory }.count
        if old > 0 { pieces.removeFirst(old) }
        return wasSilent
    }

    /// Adds `distance` to the track's times, and subtracts it from its delays.
    mutating func move(by distance: Int64) {
        bias &+= distance
        for index in pieces.indices {
            pieces[index].least &-= distance
            pieces[index].greatest &-= distance
        }
    }

    /// The maximum delay since `moment`; nil if the track has not existed for that long, or was silent since.
    func greatest(since moment: Int64) -> Int64? {
        guard since <= moment else { return nil }
        return pieces.reversed().prefix { $0.at >= moment }.map(\.greatest).max()
    }

    /// The delays of the packets since `moment`, or of the newest packets if no packet arrived since then.
    func extremes(since moment: Int64) -> Extremes {
        let recent = pieces.drop { $0.at < moment }
        let taken = recent.isEmpty ? pieces.suffix(1) : recent
        return Extremes(
            least: taken.map(\.least).min() ?? 0, greatest: taken.map(\.greatest).max() ?? 0,
            bundle: taken.map(\.greatest).min() ?? 0)
    }
}
