// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The floor of a mapping that serves several tracks: one track leads, and only its earliest packets determine the
/// sender's clock.
///
/// The floors of the tracks differ, and the difference varies. libavformat's muxer sends audio in bundles, and the
/// sizes of its packets determine how much too early the last packet of a bundle is sent. With the minimum over both
/// tracks, a stream of ffmpeg had no rate for minutes, and was up to 26 ms off. Video leads, because each of its
/// packets is a frame that is sent on its own. Audio leads if video yields no rate and audio does, or if the video has
/// ended. A change of the leading track does not move the floor.
struct MapFloor: Sendable {
    /// A track that is silent for longer than this, in nanoseconds, cannot lead.
    private static let longestSilence: Int64 = 60_000_000_000
    /// Number of buckets after which a floor has almost reached its final value.
    private static let usual = 5

    private var floors: PerTrack<ArrivalFloor>
    private var lasts = PerTrack<Int64>()
    private var lead = TrackKind.video
    /// Whether audio has taken the lead from video.
    private var isVideoUnfit = false
    /// The distance from the leading track's own floor up to the common floor.
    private var shift: Int64 = 0
    /// A track with this many buckets and a known rate takes the lead from a track without a rate.
    private let patience: Int

    /// A floor whose tracks have buckets of `bucketLength` nanoseconds.
    init(bucketLength: Int64, bucketsForRate: Int, pathStep: Int64) {
        floors = PerTrack()
        patience = 2 * bucketsForRate
        for track in TrackKind.timed {
            floors[track] = ArrivalFloor(bucketLength: bucketLength, bucketsForRate: bucketsForRate, pathStep: pathStep)
        }
    }

    private var leading: ArrivalFloor? { floors[lead] }

    /// Number of buckets.
    var count: Int { leading?.count ?? 0 }
    /// The slope of the delays, see ``ArrivalFloor/rate``.
    var rate: Double { leading?.rate ?? 0 }
    /// Whether the rate is known.
    var isRateKnown: Bool { leading?.isRateKnown ?? false }

    /// The minimum delay of a packet that arrives at `arrival`; nil before the first packet.
    func delay(at arrival: Int64) -> Int64? { leading?.delay(at: arrival).map { $0 &+ shift } }

    /// Records a packet of `track`. Arrivals must not decrease. Returns whether the packet shows that the path has
    /// changed.
    mutating func note(_ track: TrackKind, delay: Int64, arrival: Int64) -> Bool {
        let isChanged = floors[track]?.note(delay: delay, arrival: arrival) ?? false
        lasts[track] = arrival
        chooseLead(track, at: arrival)
        return isChanged && track == lead
    }

    /// Lets `track`, which just received a packet, lead if the other track no longer can, or if `track` is more
    /// suitable.
    private mutating func chooseLead(_ track: TrackKind, at arrival: Int64) {
        guard track != lead, let own = floors[track], let leading else { return }
        let isUnfit = !leading.isRateKnown && own.isRateKnown && own.count > patience
        let isGone = lasts[lead].map { arrival &- $0 > Self.longestSilence } ?? true
        // Video that starts later must first determine its own floor.
        let isBetter = track == .video && !isVideoUnfit && (leading.count <= 1 || own.count > Self.usual)
        guard isUnfit || isGone || isBetter, let next = own.delay(at: arrival) else { return }
        if lead == .video, lasts[.video] != nil { isVideoUnfit = true }
        shift = leading.count <= 1 ? 0 : delay(at: arrival).map { $0 &- next } ?? 0
        lead = track
    }

    /// Discards all delays, but keeps the rate until another is found.
    mutating func restart() {
        for track in TrackKind.timed { floors[track]?.restart() }
        (lasts, shift, lead, isVideoUnfit) = (PerTrack(), 0, .video, false)
    }

    /// Adds `step` to all delays, because the tracks' timestamps were moved.
    mutating func move(by step: Int64) {
        for track in TrackKind.timed { floors[track]?.move(by: step) }
    }
}
