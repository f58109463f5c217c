// SPDX-License-Identifier: Apache-2.0

package import Media

/// Computes when each frame and sample of one source is due on our clock.
///
/// The clock sees the timestamps and arrivals of both tracks together. The sender's timestamps determine the sync of
/// audio and video. Arrivals determine only when the pair is shown: after a buffer that is large enough for the track
/// that arrives later. The sender's rate is estimated from the earliest arrivals, and the mapping to our clock follows
/// it by at most 1000 ppm. To place a source means to create this mapping.
///
/// A value without its own clock or I/O. Moments are readings of one monotonic clock, ours; media times are on the
/// source's own continuous timeline. It is used by one thread, or guarded by a lock. Arrivals and ticks must not
/// decrease, except that they may come out of order by the time for which threads wait for that lock: a moment that is
/// earlier than the latest one counts as the latest one.
///
/// ```swift
/// var clock = SourceClock(.rtmp, tracks: [.video: (.milliseconds, 32), .audio: (.milliseconds, 32)])
/// let noted = clock.note(SourceClock.Stamp(.video, dts: 0, duration: 40), arrival: now)
/// if let noted, let due = clock.due(noted.time, of: .video) { show(frame, at: due) }
/// ```
package struct SourceClock: Sendable {
    /// The timestamps of one packet.
    package struct Stamp: Sendable, Hashable {
        /// Its track.
        package var track: TrackKind
        /// Decoding time, in ticks of the track's time base, as the sender wrote it.
        package var dts: Int64
        /// Presentation time, in the same ticks.
        package var pts: Int64
        /// Duration, in the same ticks; 0 if unknown.
        package var duration: Int64

        /// The timestamps of a packet; without `pts`, the presentation time equals `dts`.
        package init(_ track: TrackKind, dts: Int64, pts: Int64? = nil, duration: Int64) {
            self.track = track
            self.dts = dts
            self.pts = pts ?? dts
            self.duration = duration
        }
    }

    /// The result of recording a packet.
    package struct Noted: Sendable, Hashable {
        /// Decoding time on the source's timeline.
        package let decodeTime: Timestamp
        /// Presentation time on the source's timeline.
        package let time: Timestamp
        /// The events that the packet caused, in order.
        package let events: [SourceClockEvent]
        /// Whether the sender's times jump at this packet of its track.
        package let isMoved: Bool
    }

    /// One mapping to our clock, for both tracks or for one.
    struct Map: Sendable {
        var floor: MapFloor
        var offset: SlewedOffset?
        /// The distance between the floor and the mapping, in nanoseconds.
        var buffer: Int64 = 0
        /// The minimum of the buffer.
        var leastBuffer: Int64 = 0
    }

    /// The reserve that is added to measured delays if nothing else is known.
    static let margin: Int64 = 40_000_000

    /// The source's settings.
    package private(set) var settings: SourceClockSettings
    /// The source's membership in a buffer that several sources share. Copies of the clock share it too. Nil for a
    /// source with its own buffer.
    let seat: CommonBuffer.Seat?
    /// The clock's state for operators.
    package internal(set) var status = SourceClockStatus()

    /// Whether the source's time stamps are mapped to the program's time; only then does ``due(_:of:)`` return a
    /// moment. After ``restart(as:)`` this is false until enough delays have been measured again.
    package internal(set) var isPlaced = false

    /// The tracks for which the clock waits before it creates the mapping.
    private(set) var expected: Set<TrackKind>
    var timeline: SenderTimeline
    var maps: [Map]
    var delays = PerTrack<TrackDelays>()
    var now: Int64 = .min
    /// Arrival of the last packet.
    var lastArrival: Int64 = 0
    /// The length of the silence before the present packets, and how many of the next packets may be from before it: a
    /// demuxer keeps one or two packets of each track back until others follow.
    var silence: (length: Int64, heldBack: Int) = (0, 0)
    /// Arrival of the first packet since the start or restart.
    var started: Int64?
    /// Arrivals of the latest late packets.
    var lateArrivals: [Int64] = []
    /// When the clock last checked whether the buffer can be reduced.
    var lookedAtBuffer: Int64 = 0
    /// When the clock last shortened a buffer that was too large.
    var lookedAtExcess: Int64 = 0
    var isLost = false
    /// The buffer that the source itself needs, in nanoseconds, and the moment at which the source was placed.
    var ownBuffer: Int64 = 0
    var placed: Int64 = 0

    /// A clock for a source with these tracks. For each track it gets the time base and, if the timestamps wrap, the
    /// number of their bits (33 in MPEG-TS, 32 in RTMP and FLV). A source with one mapping for its tracks, made from
    /// their arrivals, can share the buffer `common`.
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

    private static func longestGap(_ settings: SourceClockSettings) -> Int64 {
        settings.arrivals == .bursts ? settings.patience.inNanoseconds : SenderTimeline.jump
    }

    private static func floor(_ settings: SourceClockSettings) -> MapFloor {
        MapFloor(
            bucketLength: settings.bucket.inNanoseconds, bucketsForRate: settings.bucketsForRate,
            pathStep: settings.pathStep.inNanoseconds)
    }

    /// Adds a track that was found later, or changes a known one. If `isExpected`, the clock does not place the source
    /// before this track has arrived.
    package mutating func declare(_ track: TrackKind, _ timeBase: TimeBase, bits: Int?, isExpected: Bool = true) {
        if isExpected { expected.insert(track) }
        timeline.declare(track, StampTrack(timeBase: timeBase, bits: bits))
    }

    /// How much longer the media must become to have its length on our clock: 0.0001 means 100 ppm. This is the first
    /// term of the resampler's correction; at most 0.001.
    package func stretch(of track: TrackKind) -> Double { maps[index(of: track)].offset?.rate ?? 0 }

    /// The mapping of `track` from the source's timeline to our clock; nil while the source is not placed.
    package func line(of track: TrackKind) -> ClockLine? {
        guard isPlaced, let line = maps[index(of: track)].offset?.line else { return nil }
        let bias = delays[track]?.bias ?? 0
        return ClockLine(
            origin: Timestamp(nanoseconds: line.origin.nanoseconds &- bias), image: line.image, rate: line.rate)
    }

    /// The moment at which `time` of the source's timeline is due on our clock, by the present mapping; nil while there
    /// is no mapping. Do not store the result: call this again at each tick of the program.
    package func due(_ time: Timestamp, of track: TrackKind) -> Timestamp? {
        guard isPlaced, let offset = maps[index(of: track)].offset else { return nil }
        return Timestamp(nanoseconds: offset.due(time.nanoseconds &+ (delays[track]?.bias ?? 0)))
    }

    /// When to decode a packet that is due at `due`; nil means at once. The media of a burst waits undecoded, because a
    /// minute of decoded video takes gigabytes.
    package func decoding(of due: Timestamp) -> Timestamp? { settings.decodingLead.map { due - $0 } }

    /// Starts again after the source was reopened: delays are collected from the beginning. The timeline continues, and
    /// the rate is kept as a first estimate. `new` are settings for a playlist whose segments now have another length.
    package mutating func restart(as new: SourceClockSettings? = nil) {
        let old = settings
        if let new, new.arrivals == old.arrivals, new.sharesMap == old.sharesMap { settings = new }
        // An input that was opened between two keyframes does not know its number of reordered frames.
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
        seat?.need(nil)
    }

    func index(of track: TrackKind) -> Int { maps.count == 2 && track == .audio ? 1 : 0 }
}

// MARK: The common buffer

extension SourceClock {
    /// How long a new mapping may make a step: during this time, little of the source has been shown.
    static let timeOfStart: Int64 = 2_000_000_000

    /// Reports the buffer that this source itself needs, in nanoseconds.
    mutating func share(_ need: Int64) {
        ownBuffer = need
        seat?.need(need)
    }

    /// Adopts the common buffer: the mapping changes slowly, or at once while it is new.
    mutating func followOthers(at moment: Int64, _ events: inout [SourceClockEvent]) {
        guard let seat else { return }
        let more = seat.buffer(for: ownBuffer) &- maps[0].buffer
        guard more != 0 else { return }
        let isNew = more > 0 && moment &- placed < Self.timeOfStart
        for index in maps.indices {
            maps[index].buffer &+= more
            if isNew { maps[index].offset?.step(by: more) }
        }
        status.bufferMilliseconds = Double(maps[0].buffer) / 1e6
        if isNew { events.append(.followed(by: .nanoseconds(more))) }
    }
}
