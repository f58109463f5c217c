// SPDX-License-Identifier: Apache-2.0

package import Media

/// Tells when each frame and sample of one source is due on our clock.
///
/// The clock sees the stamps and arrivals of both tracks together. The relation of audio to video is the sender's;
/// arrival only places the pair, behind a buffer sized by the track that comes later. The sender's rate is estimated
/// from the earliest arrivals, and the map follows it by at most 1000 ppm.
///
/// A value without a clock or I/O of its own. Moments are readings of one monotonic clock, ours; media times lie on the
/// source's own continuous timeline. One thread uses it, or a lock guards it. Arrivals and ticks must not go back by
/// more than threads take to meet at that lock; what goes back counts as the latest moment seen.
package struct SourceClock: Sendable {
    /// One packet as it was read.
    package struct Stamp: Sendable, Hashable {
        /// Its track.
        package var track: TrackKind
        /// When it is decoded, in ticks of the track's time base, as the sender wrote it.
        package var dts: Int64
        /// When it is shown or heard, likewise.
        package var pts: Int64
        /// How long it lasts, likewise; 0 if that is not known.
        package var duration: Int64

        /// A stamp; `pts` is the same as `dts` unless given.
        package init(_ track: TrackKind, dts: Int64, pts: Int64? = nil, duration: Int64) {
            self.track = track
            self.dts = dts
            self.pts = pts ?? dts
            self.duration = duration
        }
    }

    /// What became of a packet.
    package struct Noted: Sendable, Hashable {
        /// When it is decoded, on the source's timeline.
        package let decodeTime: Timestamp
        /// When it is shown or heard, on the source's timeline.
        package let time: Timestamp
        /// What happened with it, in this order.
        package let events: [SourceClockEvent]
        /// Whether the sender's times jumped here, seen from the packet's own track.
        package let isMoved: Bool
    }

    /// One map onto our clock: both tracks', or one track's.
    struct Map: Sendable {
        var floor: MapFloor
        var offset: SlewedOffset?
        /// The buffer over the floor, in nanoseconds.
        var buffer: Int64 = 0
        /// What the buffer never falls below.
        var leastBuffer: Int64 = 0
    }

    /// What was added to what was seen, wherever that is all there is to go by.
    static let margin: Int64 = 40_000_000

    /// How the source is treated.
    package private(set) var settings: SourceClockSettings
    /// Its part in a buffer that it has in common with others, which copies of the clock share; nil for one of its own.
    let seat: CommonBuffer.Seat?
    /// Numbers for an operator.
    package internal(set) var status = SourceClockStatus()

    /// Whether ``due(_:of:)`` has an answer. It has no answer while delays are collected again after ``restart()``.
    package internal(set) var isPlaced = false

    /// The tracks that are waited for when the source is placed.
    private(set) var expected: Set<TrackKind>
    var timeline: SenderTimeline
    var maps: [Map]
    var delays = PerTrack<TrackDelays>()
    var now: Int64 = .min
    /// When the last packet came.
    var lastArrival: Int64 = 0
    /// How long nothing had come before what comes now, and how many more packets may be of before that: a demuxer holds
    /// back one or two of each track until something follows.
    var silence: (length: Int64, heldBack: Int) = (0, 0)
    /// When the first packet since the start came.
    var started: Int64?
    /// The latest packets that were late.
    var lateArrivals: [Int64] = []
    /// When the buffer was last looked at, to shrink it.
    var lookedAtBuffer: Int64 = 0
    /// When buffer beyond the limit was last given back.
    var lookedAtExcess: Int64 = 0
    var isLost = false
    /// The buffer that it needs, whatever others need, in nanoseconds, and when it was placed.
    var ownBuffer: Int64 = 0
    var placed: Int64 = 0

    /// A clock for a source of these tracks: the time base of each, and the bits of its stamps if they wrap (33 in
    /// MPEG-TS, 32 in RTMP and FLV). One whose tracks are placed together by their
    /// arrivals takes part in a `common` buffer.
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

    /// Adds a track that was found later, or describes a known one again. If it `isExpected`, placing the source waits
    /// for it from now on.
    package mutating func declare(_ track: TrackKind, _ timeBase: TimeBase, bits: Int?, isExpected: Bool = true) {
        if isExpected { expected.insert(track) }
        timeline.declare(track, StampTrack(timeBase: timeBase, bits: bits))
    }

    /// By how much the media must be stretched to last as long as on our clock: 0.0001 is 100 ppm longer. The first
    /// term of the resampler's correction; at most 0.001.
    package func stretch(of track: TrackKind) -> Double { maps[index(of: track)].offset?.rate ?? 0 }

    /// The map of `track` from the source's timeline to our clock; nil while the source is not placed.
    package func line(of track: TrackKind) -> ClockLine? {
        guard isPlaced, let line = maps[index(of: track)].offset?.line else { return nil }
        let bias = delays[track]?.bias ?? 0
        return ClockLine(
            origin: Timestamp(nanoseconds: line.origin.nanoseconds &- bias), image: line.image, rate: line.rate)
    }

    /// When `time` of the source's timeline is due on our clock, as things stand; nil while there is no map. To be
    /// asked again at each tick of the program rather than kept.
    package func due(_ time: Timestamp, of track: TrackKind) -> Timestamp? {
        guard isPlaced, let offset = maps[index(of: track)].offset else { return nil }
        return Timestamp(nanoseconds: offset.due(time.nanoseconds &+ (delays[track]?.bias ?? 0)))
    }

    /// When a packet that is due at `due` is to be decoded: nil for at once. What bursts bring waits undecoded, because
    /// a decoded minute of video is gigabytes.
    package func decoding(of due: Timestamp) -> Timestamp? { settings.decodingLead.map { due - $0 } }

    /// The source was opened again: packets are collected from the start. The timeline continues, and the rate is kept as
    /// a hint. A playlist may have segments of another length by now, which `new` settings take into account.
    package mutating func restart(as new: SourceClockSettings? = nil) {
        let old = settings
        if let new, new.arrivals == old.arrivals, new.sharesMap == old.sharesMap { settings = new }
        // An input that was opened between two keyframes does not say how many frames it reorders.
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
