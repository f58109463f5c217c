// SPDX-License-Identifier: Apache-2.0

package import Media

/// The stamps of a source's tracks as one continuous timeline, with the sender's relation of audio to video.
///
/// A jump is seen in the sender's own steps, never in lateness: back, if a decoding time falls by a quarter of a
/// second, because it can only grow; forward, if it leaps *and* the packet comes earlier than any could. What is late
/// without a leap is jitter, however late. A jump is closed by a shift that lets the packet follow its last one, or
/// leaves the pause in which nothing came. The track that jumps first finds the shift, and the other takes the same one
/// with the first packet that it suits better.
struct SenderTimeline: Sendable {
    /// A jump that was closed.
    struct Jump: Sendable, Hashable {
        /// The track that showed it.
        let track: TrackKind
        /// How far its stamps leapt from where they were expected, in nanoseconds.
        let distance: Int64
    }

    /// Where a packet lies, in nanoseconds of the timeline.
    struct Place: Sendable, Hashable {
        /// Its decoding time.
        var decode: Int64
        /// Its presentation time.
        var presentation: Int64
        /// The jump that it showed first.
        var jump: Jump?
        /// Whether its track continues with another shift from here on.
        var isMoved = false
    }

    private struct Track {
        var stamps: StampTrack
        var shift: Int64 = 0
        /// The latest decoding time, nil before the first packet.
        var last: Int64?
        var duration: Int64 = 0
        var arrival: Int64 = 0
        /// How late the last packets came that came alone, or first of many.
        var delays: [Int64] = []
        /// The last leap that was no jump, as far as its delay could tell: the first of many packets that come at once
        /// is not early even if the sender leapt.
        var leap: (distance: Int64, arrival: Int64)?
    }

    /// The newest jump's shift, for the other track to take.
    private struct Pending {
        let shift: Int64
        let distance: Int64
        let track: TrackKind
        let arrival: Int64
        /// How late the packet is that showed the jump, where it was put; nil if the source waits to be read.
        let delay: Int64?
    }

    static let jump: Int64 = 250_000_000
    /// While a start burst is handed over packets come ever earlier, so a hole in it looks like a leap.
    private static let jumpInBurst: Int64 = 2_000_000_000
    private static let jumpOfFile: Int64 = 10_000_000_000
    private static let jumpBackOfFile: Int64 = 100_000_000
    /// How far under the floor a packet that comes too early lies.
    private static let early: Int64 = 100_000_000
    /// How long the other track may take to follow, and how far its own shift may be from the first one's.
    private static let followWithin: Int64 = 5_000_000_000
    private static let followNear: Int64 = 500_000_000
    /// How far two tracks of one sender may be apart in the multiplex.
    private static let apart: Int64 = 2_000_000_000
    /// Packets that are no further apart came together.
    private static let together: Int64 = 5_000_000
    /// Of how many packets the usual delay is the median: a demuxer may hold back two or three until the next ones come.
    private static let delaysKept = 8

    /// How long nothing may come of any track before it is a pause, in nanoseconds.
    var longestGap: Int64
    private var tracks = PerTrack<Track>()
    private var pending: Pending?
    /// Where the timeline continues after ``restart()``: its last moment and the arrival of that moment.
    private var resume: (time: Int64, arrival: Int64)?

    /// A timeline of a source of which nothing comes for up to `longestGap` nanoseconds at a time.
    init(longestGap: Int64 = Self.jump) { self.longestGap = max(Self.jump, longestGap) }

    /// Says how `track` is stamped.
    mutating func declare(_ track: TrackKind, _ stamps: StampTrack) { tracks[track] = Track(stamps: stamps) }

    /// Prepares for a sender that begins again, with stamps that have nothing to do with the old ones. The timeline
    /// continues where it was. Without `resumes` it does not, because stamps are readings of one clock throughout.
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

    /// Where `stamp` would lie if nothing jumped; nil if that cannot be said. Changes nothing.
    func peek(_ stamp: SourceClock.Stamp) -> Int64? {
        guard var track = tracks[stamp.track], track.last != nil else { return nil }
        return track.stamps.unwrap(stamp.dts).map { $0 &+ track.shift }
    }

    /// Whether `stamp` is right behind what its track had last. Changes nothing.
    func continues(_ stamp: SourceClock.Stamp) -> Bool {
        guard let track = tracks[stamp.track], let last = track.last, let time = peek(stamp) else { return false }
        return (time &- last &- track.duration).magnitude < UInt64(Self.jump)
    }

    /// Places a packet, or returns nil if its stamps cannot be meant, or its track was not declared. `floor` is the
    /// least delay to be expected, nil if none is known. Without an `arrival` the source waits to be read.
    mutating func place(
        _ stamp: SourceClock.Stamp, arrival: Int64?, floor: Int64?, isCollecting: Bool
    ) -> Place? {
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
                // The place where the track continues may be before its end.
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
        track.last = max(track.last ?? place.decode, place.decode)
        if length > 0 || track.duration == 0 { track.duration = length }
        if let arrival {
            if track.delays.isEmpty || arrival &- track.arrival > Self.together {
                track.delays = track.delays.suffix(Self.delaysKept - 1) + [arrival &- place.decode]
            }
            track.arrival = arrival
        }
        tracks[kind] = track
        return place
    }

    /// A track that begins takes the epoch of the one that is there.
    private mutating func join(_ track: inout Track, _ kind: TrackKind) {
        guard let other = tracks[kind.other], let last = other.last else { return }
        track.shift = other.shift
        track.stamps.join(at: last &- other.shift)
    }

    /// The track that jumped and was not followed in time, once; nil while the other one may still follow.
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

    /// Whether the other track has come to `time` without a jump: then this one was only away.
    private func isBeside(_ time: Int64, _ kind: TrackKind, _ track: Track) -> Bool {
        guard let other = tracks[kind.other], let last = other.last, other.shift == track.shift else { return false }
        return (time &- last).magnitude < UInt64(Self.apart)
    }

    /// The other track's new shift, if it suits this packet better than the track's own.
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
            // Silent since before the jump: the delay says on which side of it this is.
            let (old, new) = (arrival &- (raw &+ track.shift), arrival &- (raw &+ pending.shift))
            return (new &- floor).magnitude < (old &- floor).magnitude ? pending.shift : nil
        }
        if let floor {
            // Packets may be lost where the tracks jump: then only one of the shifts gives a delay that can be.
            let earliest = floor &- Self.early
            let possible = earliest..<max(earliest, floor &+ 2_000_000_000)
            let (old, new) = (arrival &- (raw &+ track.shift), arrival &- (raw &+ pending.shift))
            if possible.contains(new), !possible.contains(old) { return pending.shift }
        }
        let isNear = new.magnitude < UInt64(Self.followNear) && old.magnitude > UInt64(Self.early)
        return isNear && new.magnitude < old.magnitude ? pending.shift : nil
    }

    /// The other track's new shift for a packet that jumps, too, if it is then about as late as the other track's:
    /// the sender began again, and the relation of its tracks is kept as the sender gives it.
    private func shiftOfJumpTogether(_ kind: TrackKind, raw: Int64, at arrival: Int64?) -> Int64? {
        guard let pending, pending.track != kind, let arrival, let delay = pending.delay,
            arrival &- pending.arrival <= Self.followWithin,
            (arrival &- (raw &+ pending.shift) &- delay).magnitude < UInt64(Self.apart)
        else { return nil }
        return pending.shift
    }

    /// Shifts `track` so that its packet follows its last one; after a pause, so that it is as late as packets were.
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
            // Both jumped, each by a distance of its own, as at a seam of a playlist: neither has to follow.
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
