// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The floor (smallest delay, see ``ArrivalFloor``) of a mapping that serves both tracks of a source. Only one of the
/// tracks, the leading track, determines the floor and the rate of the sender's clock.
///
/// The two tracks have different floors, and the difference varies. The reason is that libavformat's muxer sends audio
/// packets in bundles: the sizes of the packets determine when a bundle is sent, and therefore the delay of its last
/// packet, which has the smallest delay. In a trial that used the minimum over both tracks, no rate was found for
/// ffmpeg's stream for minutes, and its floor was off by up to 26 ms. Normally video leads, because each video packet
/// is one frame and is sent separately. Audio leads if a rate can be measured from audio but not from video, or if the
/// video has not begun or has ended. When the leading track changes, the floor does not make a step, unless the former
/// leading track has at most one bucket.
struct MapFloor: Sendable {
    /// A track without packets for longer than this stops being the leading track.
    private static let longestSilence = Duration.seconds(60)
    /// The number of buckets after which a track's floor is close to its final value.
    private static let usual = 5

    private var floors: PerTrack<ArrivalFloor>
    private var lasts = PerTrack<MonotonicInstant>()
    private var lead = TrackKind.video
    /// Whether audio became the leading track although there had been video. Video then does not get the lead back
    /// merely because it is video.
    private var isVideoUnfit = false
    /// The floor of the mapping minus the leading track's own floor.
    private var shift = Duration.zero
    /// A track with a known rate and more buckets than this takes the lead from a track whose rate is not known.
    private let patience: Int

    /// Creates a floor whose tracks use buckets of the length `bucketLength`.
    init(bucketLength: Duration, bucketsForRate: Int, pathStep: Duration) {
        floors = PerTrack()
        patience = 2 * bucketsForRate
        for track in TrackKind.timed {
            floors[track] = ArrivalFloor(bucketLength: bucketLength, bucketsForRate: bucketsForRate, pathStep: pathStep)
        }
    }

    private var leading: ArrivalFloor? { floors[lead] }

    /// The number of buckets of the leading track.
    var count: Int { leading?.count ?? 0 }
    /// By how much the delays grow per unit of time, see ``ArrivalFloor/rate``.
    var rate: Double { leading?.rate ?? 0 }
    /// Whether the rate of the leading track has been measured.
    var isRateKnown: Bool { leading?.isRateKnown ?? false }

    /// The floor at the moment `arrival`: the smallest delay to expect of a packet that arrives then; nil while no
    /// packet is recorded.
    func delay(at arrival: MonotonicInstant) -> Duration? { leading?.delay(at: arrival).map { $0 + shift } }

    /// Records a packet of `track`. Arrivals must not decrease. Returns true if `track` is the leading track and shows
    /// that the delay of the network path has changed by a step.
    mutating func note(_ track: TrackKind, delay: Duration, arrival: MonotonicInstant) -> Bool {
        let isChanged = floors[track]?.note(delay: delay, arrival: arrival) ?? false
        lasts[track] = arrival
        chooseLead(track, at: arrival)
        return isChanged && track == lead
    }

    /// Makes `track`, from which a packet has just arrived, the leading track if the present one has ended or has not
    /// begun, or if `track` is more suitable.
    private mutating func chooseLead(_ track: TrackKind, at arrival: MonotonicInstant) {
        guard track != lead, let own = floors[track], let leading else { return }
        let isUnfit = !leading.isRateKnown && own.isRateKnown && own.count > patience
        let isGone = lasts[lead].map { arrival - $0 > Self.longestSilence } ?? true
        // If audio has more than one bucket, a video track that starts later may lead only when its own floor is close
        // to its final value.
        let isBetter = track == .video && !isVideoUnfit && (leading.count <= 1 || own.count > Self.usual)
        guard isUnfit || isGone || isBetter, let next = own.delay(at: arrival) else { return }
        if lead == .video, lasts[.video] != nil { isVideoUnfit = true }
        shift = leading.count <= 1 ? .zero : delay(at: arrival).map { $0 - next } ?? .zero
        lead = track
    }

    /// Discards the recorded delays of both tracks, and makes video the leading track again. Each track keeps its rate
    /// until a new one has been measured.
    mutating func restart() {
        for track in TrackKind.timed { floors[track]?.restart() }
        (lasts, shift, lead, isVideoUnfit) = (PerTrack(), .zero, .video, false)
    }

    /// Adds `step` to all recorded delays, because the tracks' timestamps were shifted.
    mutating func move(by step: Duration) {
        for track in TrackKind.timed { floors[track]?.move(by: step) }
    }
}
