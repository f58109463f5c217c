// SPDX-License-Identifier: Apache-2.0

package import Media

/// Joins the timestamps of a source's tracks into one continuous timeline, which keeps the sender's sync of audio and
/// video.
///
/// A jump is detected by the differences between the sender's timestamps, never by lateness. A jump is backward if a
/// decoding time falls by a quarter of a second, because decoding times can only grow. It is forward if a decoding time
/// leaps *and* the packet arrives earlier than any packet could. Lateness without a leap is jitter, however large. To
/// close a jump, the track is shifted so that the packet follows the previous one, or so that the pause is kept in
/// which nothing arrived. The track that jumps first determines the shift. The other track gets the same shift at its
/// first packet that fits it better.
struct SenderTimeline: Sendable {
    /// A jump that was closed.
    struct Jump: Sendable, Hashable {
        /// The track that jumped first.
        let track: TrackKind
        /// Difference between the packet's timestamp and the expected timestamp, in nanoseconds.
        let distance: Int64
    }

    /// The times of a packet, in nanoseconds of the timeline.
    struct Place: Sendable, Hashable {
        /// Its decoding time.
        var decode: Int64
        /// Its presentation time.
        var presentation: Int64
        /// The jump, if this is the first packet that shows it.
        var jump: Jump?
        /// Whether the track has another shift from this packet on.
        var isMoved = false
    }

    private struct Track {
        var stamps: StampTrack
        var shift: Int64 = 0
        /// The latest decoding time; nil before the first packet.
        var last: Int64?
        var duration: Int64 = 0
        var arrival: Int64 = 0
        /// Delays of the last packets. If several packets arrived together, only the first counts.
        var delays: [Int64] = []
        /// The last leap that the packet's delay did not confirm as a jump: the first of several packets that arrive
        /// together is not early, even if the sender's timestamps leapt.
        var leap: (distance: Int64, arrival: Int64)?

        /// Takes the distance of a packet without a duration from the one before it as the duration: otherwise each
        /// jump that is closed would cost a frame's time. An outlying timestamp at most doubles the duration, which the
        /// next step corrects.
        mutating func noteStep(_ step: Int64) {
            guard step > 0, step < SenderTimeline.jump else { return }
            duration = duration > 0 ? min(step, 2 * duration) : step
        }
    }

    /// The shift of the newest jump, which the other track may get as well.
    private struct Pending {
        let shift: Int64
        let distance: Int64
        let track: TrackKind
        let arrival: Int64
        /// The delay of the packet that jumped, after the shift; nil if the source can wait, as a file can.
        let delay: Int64?
    }

    static let jump: Int64 = 250_000_000
    /// During the burst at the start, each packet arrives earlier than the one before, relative to its timestamp. A gap
    /// in the burst therefore looks like a leap.
    private static let jumpInBurst: Int64 = 2_000_000_000
    private static let jumpOfFile: Int64 = 10_000_000_000
    private static let jumpBackOfFile: Int64 = 100_000_000
    /// A packet whose delay is below the floor by more than this arrives too early.
    private static let early: Int64 = 100_000_000
    /// How soon the other track must follow a jump; also the limit for the difference between the two tracks' leaps.
    private static let followWithin: Int64 = 5_000_000_000
    private static let followNear: Int64 = 500_000_000
    /// The maximum distance between the times of two tracks of one sender.
    private static let apart: Int64 = 2_000_000_000
    /// Packets that arrive within this interval count as having arrived together.
    private static let together: Int64 = 5_000_000
    /// Number of packets from which the median delay is computed: a demuxer may keep two or three packets back until
    /// the next ones arrive.
    private static let delaysKept = 8

    /// A silence of all tracks that is longer than this, in nanoseconds, is a pause.
    var longestGap: Int64
    private var tracks = PerTrack<Track>()
    private var pending: Pending?
    /// The point at which the timeline continues after ``restart(resumes:)``: its last moment, and the arrival of that
    /// moment.
    private var resume: (time: Int64, arrival: Int64)?

    /// A timeline for a source that may be silent for up to `longestGap` nanoseconds.
    init(longestGap: Int64 = Self.jump) { self.longestGap = max(Self.jump, longestGap) }

    /// Sets the timestamp format of `track`.
    mutating func declare(_ track: TrackKind, _ stamps: StampTrack) { tracks[track] = Track(stamps: stamps) }

    /// Prepares for a sender that restarts with unrelated timestamps. With `resumes` the timeline continues where it
    /// ended. Without it, the timestamps are used as before, because they are always readings of the same clock.
    mutating func restart(resumes: Bool = true) {
        if resumes, let newest = tracks.values.filter({ $0.last != nil }).max(by: { $0.arrival < $1.arrival }) {
            resume = (newest.last ?? 0, newest.arrival)
        }
        pending = nil
        for track in tracks.tracks {
            tracks[track]?.last = nil
            tracks[track]?.delays = []
            tracks[track]?.stamps.forget()
        }
    }

    /// The position of `stamp` on the timeline if there is no jump; nil if it is unknown. Changes nothing.
    func peek(_ stamp: SourceClock.Stamp) -> Int64? {
        guard var track = tracks[stamp.track], track.last != nil else { return nil }
        return track.stamps.unwrap(stamp.dts).map { $0 &+ track.shift }
    }

    /// Whether `stamp` follows directly after the last timestamp of its track. Changes nothing.
    func continues(_ stamp: SourceClock.Stamp) -> Bool {
        guard let track = tracks[stamp.track], let last = track.last, let time = peek(stamp) else { return false }
        return (time &- last &- track.duration).magnitude < UInt64(Self.jump)
    }

    /// Finds the position of a packet on the timeline; nil if its timestamps are impossible, or its track was not
    /// declared. `floor` is the minimum delay to expect, nil if unknown. Without an `arrival`, the source can wait, as
    /// a file can.
    mutating func place(_ stamp: SourceClock.Stamp, arrival: Int64?, floor: Int64?, isCollecting: Bool) -> Place? {
        let kind = stamp.track
        guard var track = tracks[kind] else { return nil }
        let isFirst = track.last == nil
        if isFirst { join(&track, kind) }
        guard let raw = track.stamps.unwrap(stamp.dts),
            let shown = stamp.pts == stamp.dts ? raw : track.stamps.beside(stamp.pts)
        else { return nil }
        if isFirst, let resume {
            track.shift = resume.time &+ max(0, (arrival ?? resume.arrival) &- resume.arrival) &- raw
            self.resume = nil
        }
        let length = track.stamps.length(stamp.duration)
        var place = Place(decode: raw &+ track.shift, presentation: 0)
        if let last = track.last {
            let expected = last &+ track.duration
            let jumps = isJump(place.decode, kind, track, expected, arrival, floor, isCollecting)
            if let shift = shiftToFollow(track, kind, raw: raw, expected: expected, at: arrival, floor: floor)
                ?? (jumps ? shiftOfJumpTogether(kind, raw: raw, at: arrival) : nil)
            {
                // The track may continue at a time before its previous end.
                (track.shift, track.last, pending, track.leap) = (shift, nil, nil, nil)
                place.isMoved = true
            } else if jumps {
                place.jump = Jump(track: kind, distance: place.decode &- expected)
                close(place.decode, &track, kind, expected, arrival)
                place.isMoved = true
            } else if place.decode &- expected > Self.jump {
                track.leap = (place.decode &- expected, arrival ?? 0)
            }
            place.decode = raw &+ track.shift
        }
        place.presentation = place.decode &+ max(-Self.jumpOfFile, min(Self.jumpOfFile, shown &- raw))
        if length > 0 {
            track.duration = length
        } else if let last = track.last {
            track.noteStep(place.decode &- last)
        }
        track.last = max(track.last ?? place.decode, place.decode)
        if let arrival {
            if track.delays.isEmpty || arrival &- track.arrival > Self.together {
                track.delays = track.delays.suffix(Self.delaysKept - 1) + [arrival &- place.decode]
            }
            track.arrival = arrival
        }
        tracks[kind] = track
        return place
    }

    /// Gives a track that begins the epoch of the other track.
    private mutating func join(_ track: inout Track, _ kind: TrackKind) {
        guard let other = tracks[kind.other], let last = other.last else { return }
        track.shift = other.shift
        track.stamps.join(at: last &- other.shift)
    }

    /// Returns the track that jumped, once, if the other track did not follow in time; nil while the other track may
    /// still follow.
    mutating func takeLoneJump(at now: Int64) -> TrackKind? {
        guard let pending, now &- pending.arrival > Self.followWithin, let other = tracks[pending.track.other],
            other.last != nil, other.arrival > pending.arrival
        else { return nil }
        self.pending = nil
        return other.shift == pending.shift ? nil : pending.track
    }

    private func isJump(
        _ time: Int64, _ kind: TrackKind, _ track: Track, _ expected: Int64, _ arrival: Int64?, _ floor: Int64?,
        _ isCollecting: Bool
    ) -> Bool {
        let leap = time &- expected
        guard let arrival else {
            if leap > Self.jumpOfFile { return !isBeside(time, kind, track) }
            return leap < -Self.jumpBackOfFile
        }
        if leap < -Self.jump { return true }
        guard leap > (isCollecting ? Self.jumpInBurst : Self.jump), let floor else { return false }
        return arrival &- time < floor &- Self.early
    }

    /// Whether the other track has reached `time` without a jump: if it has, this track only paused.
    private func isBeside(_ time: Int64, _ kind: TrackKind, _ track: Track) -> Bool {
        guard let other = tracks[kind.other], let last = other.last, other.shift == track.shift else { return false }
        return (time &- last).magnitude < UInt64(Self.apart)
    }

    /// The shift of the other track, if it fits this packet better than the track's own shift; otherwise nil.
    private func shiftToFollow(
        _ track: Track, _ kind: TrackKind, raw: Int64, expected: Int64, at arrival: Int64?, floor: Int64?
    ) -> Int64? {
        guard let pending, pending.track != kind, pending.shift != track.shift else { return nil }
        let (old, new) = (raw &+ track.shift &- expected, raw &+ pending.shift &- expected)
        guard let arrival else { return new.magnitude < old.magnitude ? pending.shift : nil }
        if let leap = track.leap, pending.arrival &- leap.arrival < Self.followWithin,
            (leap.distance &- pending.distance).magnitude < UInt64(Self.early)
        {
            return pending.shift
        }
        let silence = arrival &- track.arrival
        if silence > max(1_000_000_000, longestGap), let floor {
            // The track has been silent since before the jump: the packet's delay shows whether it was sent before or
            // after the jump.
            let (old, new) = (arrival &- (raw &+ track.shift), arrival &- (raw &+ pending.shift))
            return (new &- floor).magnitude < (old &- floor).magnitude ? pending.shift : nil
        }
        if let floor {
            // If packets were lost when the tracks jumped, only one of the two shifts gives a possible delay.
            let earliest = floor &- Self.early
            let possible = earliest..<max(earliest, floor &+ 2_000_000_000)
            let (old, new) = (arrival &- (raw &+ track.shift), arrival &- (raw &+ pending.shift))
            if possible.contains(new), !possible.contains(old) { return pending.shift }
        }
        let isNear = new.magnitude < UInt64(Self.followNear) && old.magnitude > UInt64(Self.early)
        return isNear && new.magnitude < old.magnitude ? pending.shift : nil
    }

    /// The shift of the other track, for a packet that jumps too, if the packet is then about as late as the other
    /// track's packet. In that case the sender has restarted, and its sync of the tracks is kept.
    private func shiftOfJumpTogether(_ kind: TrackKind, raw: Int64, at arrival: Int64?) -> Int64? {
        guard let pending, pending.track != kind, let arrival, let delay = pending.delay,
            arrival &- pending.arrival <= Self.followWithin,
            (arrival &- (raw &+ pending.shift) &- delay).magnitude < UInt64(Self.apart)
        else { return nil }
        return pending.shift
    }

    /// Shifts `track` so that the packet follows the previous one; after a pause, so that the packet is as late as the
    /// track's packets usually are.
    private mutating func close(
        _ time: Int64, _ track: inout Track, _ kind: TrackKind, _ expected: Int64, _ arrival: Int64?
    ) {
        var goal = expected
        let delays = track.delays.sorted()
        if let arrival, !delays.isEmpty, case let usual = arrival &- delays[delays.count / 2],
            usual &- expected > longestGap
        {
            goal = usual
        }
        track.shift = track.shift &+ goal &- time
        (track.leap, track.delays) = (nil, [])
        if let pending, pending.track != kind, (arrival ?? 0) &- pending.arrival <= Self.followWithin {
            // Both tracks jumped, but by different distances, as between playlist items: neither has to follow the
            // other.
            self.pending = nil
        } else {
            pending = Pending(
                shift: track.shift, distance: time &- expected, track: kind, arrival: arrival ?? 0,
                delay: arrival.map { $0 &- goal })
        }
    }
}

extension TrackKind {
    /// The other track of a source.
    package var other: TrackKind { self == .video ? .audio : .video }
}
