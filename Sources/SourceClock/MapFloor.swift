// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The floor of a map: of the tracks that it serves one leads, and its earliest packets alone say how the sender's clock runs.
///
/// Tracks have floors that differ, and not by the same all the time: libavformat's muxer sends audio a bundle at a time, and how
/// early the last one of a bundle is changes with their sizes. By the least of both a stream of ffmpeg's had no rate for
/// minutes, and lay up to 26 ms off. Video leads, of which each packet is a frame that is sent by itself, unless it shows no
/// rate where audio does, or is gone. With another track in the lead the floor stays where it is.
struct MapFloor: Sendable {
    /// A track that is silent for so long does not lead another, in nanoseconds.
    private static let longestSilence: Int64 = 60_000_000_000
    /// Buckets after which a floor is near what it will be.
    private static let usual = 5

    private var floors: PerTrack<ArrivalFloor>
    private var lasts = PerTrack<Int64>()
    private var lead = TrackKind.video
    /// Whether video led and does not any more.
    private var isVideoUnfit = false
    /// By how much the floor lies over that of the track that leads.
    private var shift: Int64 = 0
    /// With so many earliest packets, and a rate, a track leads another that has shown none by then.
    private let patience: Int

    /// A floor whose tracks have buckets of `bucketLength` nanoseconds.
    init(bucketLength: Int64, bucketsForRate: Int, pathStep: Int64) {
        floors = PerTrack()
        patience = 2 * bucketsForRate
        for track in TrackKind.timed {
            floors[track] = ArrivalFloor(
                bucketLength: bucketLength, bucketsForRate: bucketsForRate, pathStep: pathStep)
        }
    }

    private var leading: ArrivalFloor? { floors[lead] }

    /// How many buckets there are.
    var count: Int { leading?.count ?? 0 }
    /// How fast delays grow: see ``ArrivalFloor/rate``.
    var rate: Double { leading?.rate ?? 0 }
    /// Whether the rate was found.
    var isRateKnown: Bool { leading?.isRateKnown ?? false }

    /// The least delay to be expected at `arrival`; nil before the first packet.
    func delay(at arrival: Int64) -> Int64? { leading?.delay(at: arrival).map { $0 &+ shift } }

    /// Takes in a packet of `track`. Arrivals must not go back. Returns whether the path turned out to have changed.
    mutating func note(_ track: TrackKind, delay: Int64, arrival: Int64) -> Bool {
        let isChanged = floors[track]?.note(delay: delay, arrival: arrival) ?? false
        lasts[track] = arrival
        chooseLead(track, at: arrival)
        return isChanged && track == lead
    }

    /// Lets `track`, of which a packet came, lead if the other one does not do.
    private mutating func chooseLead(_ track: TrackKind, at arrival: Int64) {
        guard track != lead, let own = floors[track], let leading else { return }
        let isUnfit = !leading.isRateKnown && own.isRateKnown && own.count > patience
        let isGone = lasts[lead].map { arrival &- $0 > Self.longestSilence } ?? true
        // Video that comes later has to show its floor first.
        let isBetter = track == .video && !isVideoUnfit && (leading.count <= 1 || own.count > Self.usual)
        guard isUnfit || isGone || isBetter, let next = own.delay(at: arrival) else { return }
        if lead == .video, lasts[.video] != nil { isVideoUnfit = true }
        shift = leading.count <= 1 ? 0 : delay(at: arrival).map { $0 &- next } ?? 0
        lead = track
    }

    /// Forgets all delays and keeps the rate, until another is found.
    mutating func restart() {
        for track in TrackKind.timed { floors[track]?.restart() }
        (lasts, shift, lead, isVideoUnfit) = (PerTrack(), 0, .video, false)
    }

    /// Adds to all delays: the tracks' stamps were moved.
    mutating func move(by step: Int64) {
        for track in TrackKind.timed { floors[track]?.move(by: step) }
    }
}
