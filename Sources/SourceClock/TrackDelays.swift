// SPDX-License-Identifier: Apache-2.0

internal import Media

/// What is known of the delays (arrival minus stamp) of one track, in nanoseconds.
struct TrackDelays: Sendable {
    /// The delays from a moment on: of the packets that came together, while they are collected; later of a second.
    struct Piece: Sendable {
        let at: Int64
        var least: Int64
        var greatest: Int64
    }

    /// The delays of a while.
    struct Extremes: Sendable {
        var least: Int64
        var greatest: Int64
        /// The least delay of the first ones of packets that came together.
        var bundle: Int64
    }

    /// Packets that are no further apart came together.
    private static let together: Int64 = 5_000_000
    /// How long delays are remembered.
    static let memory: Int64 = 300_000_000_000

    /// When the first packet came.
    let since: Int64
    /// Whether delays are still collected before the track counts, because it came after the source was placed.
    var isJoining: Bool
    /// When the last packet came.
    private(set) var last: Int64
    /// Whether nothing came for too long.
    var isSilent = false
    /// Since when nothing but late packets came; nil while they come in time.
    var lateSince: Int64?
    /// Added to the track's times: tracks without a common epoch are related by their arrivals.
    private(set) var bias: Int64 = 0
    /// The last five minutes.
    private(set) var pieces: [Piece] = []

    /// A track whose first packet came at `since`.
    init(since: Int64, isJoining: Bool) {
        self.since = since
        self.isJoining = isJoining
        last = since
    }

    /// Takes in a packet. Returns whether the track was silent until now.
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

    /// Adds to the track's times, and so takes from its delays.
    mutating func move(by distance: Int64) {
        bias &+= distance
        for index in pieces.indices {
            pieces[index].least &-= distance
            pieces[index].greatest &-= distance
        }
    }

    /// The greatest delay since `moment`; nil if the track was not heard for as long, or not since.
    func greatest(since moment: Int64) -> Int64? {
        guard since <= moment else { return nil }
        return pieces.reversed().prefix { $0.at >= moment }.map(\.greatest).max()
    }

    /// The delays of the packets since `moment`, or of the newest packets if none came since then.
    func extremes(since moment: Int64) -> Extremes {
        let recent = pieces.drop { $0.at < moment }
        let taken = recent.isEmpty ? pieces.suffix(1) : recent
        return Extremes(
            least: taken.map(\.least).min() ?? 0, greatest: taken.map(\.greatest).max() ?? 0,
            bundle: taken.map(\.greatest).min() ?? 0)
    }
}
