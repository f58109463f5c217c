// SPDX-License-Identifier: Apache-2.0

package import Media

/// Computes for one source when each frame and each audio sample is due on our clock.
///
/// The source clock sees the timestamps and arrivals of both tracks. The sender's timestamps alone determine the sync
/// of audio and video. The arrivals determine how long both tracks are delayed together: the buffer must be long enough
/// for the track that arrives later. The rate of the sender's clock is estimated from the packets with the smallest
/// delays. The conversion from the source's times to our clock is called the mapping. The mapping follows the sender's
/// rate, but stretches the media by at most 1000 ppm. A source is placed when its mapping has been created.
///
/// This type reads no clock and does no I/O: callers pass in every moment. Moments are readings of our monotonic clock.
/// Media times are times on the source's own continuous timeline. A source clock must be used by one thread only or be
/// protected by a lock. Moments should not decrease. While threads wait for that lock, moments may come slightly out of
/// order: a moment that is earlier than the latest one is treated as the latest one.
///
/// ```swift
/// var clock = SourceClock(.rtmp, tracks: [.video: (.milliseconds, 32), .audio: (.milliseconds, 32)])
/// let noted = clock.note(SourceClock.Stamp(.video, dts: 0, duration: 40), arrival: now)
/// if let noted, let due = clock.due(noted.time, of: .video) { show(frame, at: due) }
/// ```
package struct SourceClock: Sendable {
    /// The timestamps of one packet.
    package struct Stamp: Sendable, Hashable {
        /// The packet's track.
        package var track: TrackKind
        /// The decoding time as the sender wrote it, in ticks of the track's time base.
        package var dts: Int64
        /// The presentation time, in the same ticks.
        package var pts: Int64
        /// The duration, in the same ticks; 0 if unknown.
        package var duration: Int64

        /// Creates the timestamps of a packet. If `pts` is nil, the presentation time equals `dts`.
        package init(_ track: TrackKind, dts: Int64, pts: Int64? = nil, duration: Int64) {
            self.track = track
            self.dts = dts
            self.pts = pts ?? dts
            self.duration = duration
        }
    }

    /// What the clock found out about a packet that it recorded.
    package struct Noted: Sendable, Hashable {
        /// The packet's decoding time on the source's timeline.
        package let decodeTime: Timestamp
        /// The packet's presentation time on the source's timeline.
        package let time: Timestamp
        /// The events that the packet caused, in the order in which they happened.
        package let events: [SourceClockEvent]
        /// Whether the sender's timestamps jumped between the track's previous packet and this one.
        package let isMoved: Bool
    }

    /// A mapping from the source's timeline to our clock, for both tracks or for one of them.
    struct Map: Sendable {
        var floor: MapFloor
        var offset: SlewedOffset?
        /// The buffer: the target of `offset` minus the floor (smallest delay).
        var buffer = Duration.zero
        /// The buffer is never shortened below this.
        var leastBuffer = Duration.zero
    }

    /// A reserve that is added to measured delays, because later packets may have larger delays.
    static let margin = Duration.milliseconds(40)

    /// The source's settings.
    package private(set) var settings: SourceClockSettings
    /// The source's membership in the common buffer of several sources. Copies of this clock share one membership. Nil
    /// for a source with a buffer of its own.
    let seat: CommonBuffer.Seat?
    /// The clock's state as operators see it.
    package internal(set) var status = SourceClockStatus()

    /// Whether the mapping from the source's timeline to our clock exists. ``due(_:of:)`` returns nil without this
    /// mapping. After ``restart(as:)`` this is false until enough delays have been measured again.
    package internal(set) var isPlaced = false

    /// The tracks for whose first packets the clock waits, for a limited time, before it creates the mapping.
    private(set) var expected: Set<TrackKind>
    var timeline: SenderTimeline
    var maps: [Map]
    var delays = PerTrack<TrackDelays>()
    var now = MonotonicInstant.distantPast
    /// The arrival of the last packet of any track.
    var lastArrival = MonotonicInstant.distantPast
    /// The length of the last long silence, and how many of the next packets may still have been sent
    /// before this silence. A demuxer holds one or two packets of each track back until others follow.
    var silence: (length: Duration, heldBack: Int) = (.zero, 0)
    /// The arrival of the first packet since the start or the last restart; nil before that packet.
    var started: MonotonicInstant?
    /// The arrivals of the packets that were late in the last 10 s; emptied by each step of the mapping.
    var lateArrivals: [MonotonicInstant] = []
    /// When the clock last checked whether the buffer can be shortened slowly.
    var lookedAtBuffer = MonotonicInstant.distantPast
    /// When the clock last shortened the buffer in one step because it was far too long.
    var lookedAtExcess = MonotonicInstant.distantPast
    var isLost = false
    /// The buffer that this source alone needs; and the moment at which its mapping was created.
    var ownBuffer = Duration.zero
    var placed = MonotonicInstant.distantPast
    /// By how much the buffers were enlarged for packets that arrived with little time left, since the last step.
    var reserved = Duration.zero
    /// The time after a reconnection in which packets are not judged like others; nil outside of that time.
    var trial: ReconnectionTrial?
    /// For each track, the decoding time up to which the packets of the present connection may repeat those of the
    /// connection before. Repeated packets are late, and move nothing.
    var repeated = PerTrack<Timestamp>()

    /// Creates a clock for a source with these tracks. `tracks` has the time base of each track and, if its timestamps
    /// wrap, the number of their bits (33 in MPEG-TS, 32 in RTMP and FLV). The source takes part in the common buffer
    /// `common` only if its settings say ``SourceClockSettings/Arrivals/jitter`` and both tracks share one mapping.
    package init(
        _ settings: SourceClockSettings, tracks: [TrackKind: (timeBase: TimeBase, bits: Int?)],
        common: CommonBuffer? = nil
    ) {
        self.settings = settings
        seat = settings.arrivals == .jitter && settings.sharesMap ? common?.takeSeat() : nil
        expected = Set(tracks.keys)
        timeline = SenderTimeline(longestGap: Self.longestGap(settings))
        let map = Map(floor: Self.floor(settings))
        maps = settings.sharesMap ? [map] : [map, map]
        for (track, description) in tracks { declare(track, description.timeBase, bits: description.bits) }
    }

    private static func longestGap(_ settings: SourceClockSettings) -> Duration {
        settings.arrivals == .bursts ? settings.patience : SenderTimeline.jump
    }

    private static func floor(_ settings: SourceClockSettings) -> MapFloor {
        MapFloor(
            bucketLength: settings.bucket, bucketsForRate: settings.bucketsForRate,
            pathStep: settings.pathStep)
    }

    /// Adds a track that was found later, or changes the timestamp format of a known track. If `isExpected` is true,
    /// the clock waits for packets of this track before it creates the mapping.
    package mutating func declare(_ track: TrackKind, _ timeBase: TimeBase, bits: Int?, isExpected: Bool = true) {
        if isExpected { expected.insert(track) }
        timeline.declare(track, StampTrack(timeBase: timeBase, bits: bits))
    }

    /// By what fraction media of `track` must be stretched so that it plays at the sender's rate on our clock. 0.0001
    /// means 100 ppm longer. The fraction is between -0.001 and 0.001, and 0 before the first mapping. The audio
    /// resampler's correction starts from this value.
    package func stretch(of track: TrackKind) -> Double { maps[index(of: track)].offset?.rate ?? 0 }

    /// The present mapping of `track` from the source's timeline to our clock, as a line; nil while there is no
    /// mapping.
    package func line(of track: TrackKind) -> SourceClockLine? {
        guard isPlaced, let line = maps[index(of: track)].offset?.line else { return nil }
        let bias = delays[track]?.bias ?? .zero
        return SourceClockLine(origin: line.origin - bias, image: line.image, rate: line.rate)
    }

    /// The moment on our clock at which media of `track` with the source time `time` is due, by the present mapping;
    /// nil while there is no mapping. The mapping changes, so do not store the result: call this method again at each
    /// tick of the program.
    package func due(_ time: Timestamp, of track: TrackKind) -> MonotonicInstant? {
        guard isPlaced, let offset = maps[index(of: track)].offset else { return nil }
        return offset.due(time + (delays[track]?.bias ?? .zero))
    }

    /// The moment at which to decode a packet that is due at `due`; nil means at once. Media that arrives long before
    /// it is due waits undecoded, because a minute of decoded video takes gigabytes.
    package func decoding(of due: MonotonicInstant) -> MonotonicInstant? { settings.decodingLead.map { due - $0 } }

    /// Starts again after the source was reopened, or after another sender began. The clock collects delays from the
    /// beginning and then creates a new mapping. The timeline continues. The measured rate is kept until a new one is
    /// known, unless the length of a bucket changes. `new` is for a playlist whose segments now have another length.
    package mutating func restart(as new: SourceClockSettings? = nil) {
        let old = settings
        if let new, new.arrivals == old.arrivals, new.sharesMap == old.sharesMap { settings = new }
        // If the input was opened between two keyframes, it does not know how many frames the decoder reorders. So the
        // decoding time is never reduced here.
        settings.decoding = max(settings.decoding, old.decoding)
        timeline.restart(resumes: settings.arrivals != .captureTime)
        timeline.longestGap = Self.longestGap(settings)
        for index in maps.indices {
            if settings.bucket == old.bucket {
                maps[index].floor.restart()
            } else {
                maps[index].floor = Self.floor(settings)
            }
        }
        delays = PerTrack()
        started = nil
        lateArrivals = []
        isPlaced = false
        trial = nil
        repeated = PerTrack()
        seat?.need(nil)
    }

    func index(of track: TrackKind) -> Int { maps.count == 2 && track == .audio ? 1 : 0 }
}

// MARK: The common buffer

extension SourceClock {
    /// How long after its creation a mapping may make a step to the common buffer. Little of the
    /// source has been shown by then, so viewers hardly notice the step.
    static let timeOfStart = Duration.seconds(2)

    /// Tells the common buffer, if there is one, how much buffer this source alone needs.
    mutating func share(_ need: Duration) {
        ownBuffer = need
        seat?.need(need)
    }

    /// Sets the source's buffer to the length of the common buffer, if there is one. The mapping then follows slowly. A
    /// new mapping that needs more buffer makes a step at once.
    mutating func followOthers(at moment: MonotonicInstant, _ events: inout [SourceClockEvent]) {
        guard let seat else { return }
        let more = seat.buffer(for: ownBuffer) - maps[0].buffer
        guard more != .zero else { return }
        let isNew = more > .zero && moment - placed < Self.timeOfStart
        for index in maps.indices {
            maps[index].buffer += more
            if isNew { maps[index].offset?.step(by: more) }
        }
        status.bufferMilliseconds = maps[0].buffer.milliseconds
        if isNew { events.append(.followed(by: more)) }
    }
}
