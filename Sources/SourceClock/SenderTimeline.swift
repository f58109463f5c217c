// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Converts the timestamps of a source's tracks to times on one continuous timeline. The sender's sync of audio and
/// video is kept.
///
/// A jump is a discontinuity of the sender's timestamps. Every jump shows as a step between two timestamps; a packet
/// that merely arrives late is not a jump. A backward jump is detected if a decoding time is more than a quarter of a
/// second below the expected one, because decoding times of one sender only grow. A forward jump is detected if a
/// decoding time leaps by more than a quarter of a second *and* the packet's delay is more than 100 ms below the
/// smallest delay to expect. The burst at the start and files have other thresholds; for files there are no delays to
/// check. Late packets without a leap are jitter, however late they are. The timeline closes a jump by shifting the
/// track: the packet then follows directly after the previous one, or after the pause in which no packet arrived. The
/// track that jumps first determines the shift. The other track gets the same shift at its first packet that fits this
/// shift better than the old one.
///
/// A wrong timestamp, or a few, also leap, and are closed like a jump or accepted as they are. When the next packets
/// return to the ``LeftLine``, the track gets its former shift back. ``Course`` shows for each packet whether its time
/// can be relied on. The first timestamp may be wrong as well: the
/// second packet cannot jump by up to 10 s.
struct SenderTimeline: Sendable {
    /// A jump of the sender's timestamps that the timeline closed.
    struct Jump: Sendable, Hashable {
        /// The track whose packet revealed the jump.
        let track: TrackKind
        /// The decoding time of the first packet after the jump minus its expected decoding time.
        let distance: Duration
    }

    /// How a packet's timestamp continues the timestamps of its track.
    enum Course: Sendable, Hashable {
        /// The timestamp continues the earlier ones, or the last leap was so long ago that it was no wrong timestamp.
        case steady
        /// The timestamp leaps: it is wrong, or the timestamps have jumped or have a gap.
        case leaps
        /// The timestamp agrees with an earlier one that leapt. The next ones may still show that both were wrong.
        case undecided
        /// The timestamps return to where they were before the last leap, so those from the leap on were wrong.
        case returns
    }

    /// The position of a packet on the timeline.
    struct Place: Sendable, Hashable {
        /// The packet's decoding time.
        var decode: Timestamp
        /// The packet's presentation time.
        var presentation: Timestamp
        /// The jump that this packet revealed; nil if the packet revealed none.
        var jump: Jump?
        /// Whether a jump changed the track's shift at this packet.
        var isMoved = false
        /// Shows whether the packet's time, and therefore its delay, can be relied on.
        var course = Course.steady
        /// Whether this packet shows that a wrong delay may have been recorded, because an earlier packet was placed by
        /// a wrong timestamp.
        var disproves = false
    }

    private struct Track {
        var stamps: StampTrack
        var shift = Duration.zero
        /// The latest decoding time; nil before the first packet since the start or a restart.
        var last: Timestamp?
        /// The duration of a packet; 0 if unknown.
        var duration = Duration.zero
        /// The arrival of the last packet; distantPast for a source that can wait.
        var arrival = MonotonicInstant.distantPast
        /// The delays of the last packets. If several packets arrived together, only the first of them is counted.
        var delays: [Duration] = []
        /// The last forward leap by more than 250 ms that did not count as a jump, usually because the packet did not
        /// arrive too early. It may be a jump all the same: the first of several packets that arrive together may be
        /// late enough to hide the jump.
        var leap: (distance: Duration, arrival: MonotonicInstant)?
        /// Where the track continues if its last leap was a wrong timestamp.
        var line: LeftLine?
        /// The time of the last packet without a shift; nil before the first packet.
        var raw: Timestamp?
        /// Whether the track lost its shift since its last packet, because the other track returned to its line.
        var isTakenBack = false
        /// Whether only one packet has come since the start or a restart.
        var isSingle = false
        /// Whether the next packet is the first one after ``reconnect()``, so that the track keeps its shift.
        var isResumed = false

        /// The time of a packet that arrives at `arrival` with the usual delay; nil if no delay is known.
        func usualTime(at arrival: MonotonicInstant) -> Timestamp? {
            delays.isEmpty ? nil : arrival.time(delayedBy: delays.sorted()[delays.count / 2])
        }

        /// Whether the timestamp of a packet continues that of the packet before it; `raw` is its time without a shift.
        func continues(at raw: Timestamp) -> Bool {
            guard let last = self.raw else { return false }
            return (raw - last - duration).magnitude <= SenderTimeline.early / 2
        }

        /// For packets that state no duration: sets the duration to `step`, the difference between the last two
        /// decoding times. With a duration of 0, the timeline would lose one frame's time at each closed jump. One
        /// outlying timestamp can at most double the duration, and the next packet corrects that. Steps of `limit` or
        /// more are ignored.
        mutating func noteStep(_ step: Duration, below limit: Duration) {
            guard step > .zero, step < limit else { return }
            duration = duration > .zero ? min(step, duration * 2) : step
        }
    }

    /// The newest jump. The other track may still have to get the same shift.
    private struct Pending {
        let shift: Duration
        let distance: Duration
        let track: TrackKind
        let arrival: MonotonicInstant
        /// The delay of the packet that jumped, computed with the new shift; nil for a source that can wait, like a
        /// file.
        let delay: Duration?
    }

    static let jump = Duration.milliseconds(250)
    /// The threshold for a forward jump during the burst at the start. In the burst media arrives
    /// faster than in real time, so every packet has a smaller delay than the one before. A gap in the burst therefore
    /// looks like a jump, and the threshold is higher.
    private static let jumpInBurst = Duration.seconds(2)
    private static let jumpOfFile = Duration.seconds(10)
    private static let jumpBackOfFile = Duration.milliseconds(100)
    /// A packet arrives too early if its delay is below the floor (the smallest delay to expect) by more than this.
    private static let early = Duration.milliseconds(100)
    /// How soon after one track's jump the other track must jump, so that both count as the same jump.
    private static let followWithin = Duration.seconds(5)
    private static let followNear = Duration.milliseconds(500)
    /// The maximum difference between the times or the delays of the two tracks of one sender.
    private static let apart = Duration.seconds(2)
    /// Packets that arrive within this time count as having arrived together.
    private static let together = Duration.milliseconds(5)
    /// The number of packets from which the median delay is computed. Two or three of them may have wrong delays,
    /// because a demuxer can hold packets back until the next ones arrive.
    private static let delaysKept = 8

    /// If a jump comes after a silence that is longer than this, the silence is kept as a pause on the
    /// timeline.
    var longestGap: Duration
    private var tracks = PerTrack<Track>()
    private var pending: Pending?
    /// Where the timeline continues after ``restart(resumes:)``: the last decoding time before the restart, and the
    /// arrival of the packet that had it.
    private var resume: (time: Timestamp, arrival: MonotonicInstant)?

    /// Creates a timeline for a source that may send no packets for up to `longestGap`.
    init(longestGap: Duration = Self.jump) { self.longestGap = max(Self.jump, longestGap) }

    /// Adds `track`, or starts it again, with `stamps` to unwrap its timestamps.
    mutating func declare(_ track: TrackKind, _ stamps: StampTrack) { tracks[track] = Track(stamps: stamps) }

    /// Prepares for a sender that restarts, perhaps with unrelated timestamps. With `resumes`, the timeline continues
    /// where it ended, whatever the new timestamps are. Without `resumes`, the tracks keep their shifts: this is for
    /// timestamps that are always readings of the same clock.
    mutating func restart(resumes: Bool = true) {
        if resumes, let newest = tracks.values.filter({ $0.last != nil }).max(by: { $0.arrival < $1.arrival }) {
            resume = (newest.last ?? .zero, newest.arrival)
        }
        pending = nil
        for track in tracks.tracks {
            tracks[track]?.last = nil
            tracks[track]?.isResumed = false
            tracks[track]?.delays = []
            tracks[track]?.line = nil
            tracks[track]?.stamps.forget()
        }
    }

    /// Prepares for a sender that restarts with unrelated timestamps after a short break: its first packet, of the track
    /// `kind`, arrives at `arrival` and gets the usual delay of that track.
    mutating func restart(with kind: TrackKind, at arrival: MonotonicInstant) {
        let usual = tracks[kind].flatMap { $0.usualTime(at: arrival) }
        let last = tracks.values.compactMap(\.last).max()
        restart()
        if let usual, let last { resume = (max(last, usual), arrival) }
    }

    /// The last decoding time of a track; nil before its first packet.
    func last(of track: TrackKind) -> Timestamp? { tracks[track]?.last }

    /// Prepares for a sender that continues its timestamps on another connection. The sender may repeat packets, so the
    /// first timestamp of each track may be smaller than the last one before.
    mutating func reconnect() {
        pending = nil
        for track in tracks.tracks where tracks[track]?.last != nil {
            tracks[track]?.isResumed = true
            tracks[track]?.last = nil
            tracks[track]?.line = nil
            tracks[track]?.leap = nil
        }
    }

    /// The decoding time of `stamp` on the timeline, assuming that the timestamps do not jump. Nil if the track has had
    /// no packet since the start or a restart, or if the timestamp is impossible. Changes no state.
    func peek(_ stamp: SourceClock.Stamp) -> Timestamp? {
        guard var track = tracks[stamp.track], track.last != nil else { return nil }
        return track.stamps.unwrap(stamp.dts).map { $0 + track.shift }
    }

    /// Whether `stamp` follows the last timestamp of its track without a jump: to within 250 ms. Changes no state.
    func continues(_ stamp: SourceClock.Stamp) -> Bool {
        guard let track = tracks[stamp.track], let last = track.last, let time = peek(stamp) else { return false }
        return (time - last - track.duration).magnitude < Self.jump
    }

    /// Whether `stamp` is a timestamp that its track may have had before: at most `length` before the last one. Changes
    /// no state.
    func repeats(_ stamp: SourceClock.Stamp, within length: Duration) -> Bool {
        guard let last = tracks[stamp.track]?.last, let time = peek(stamp) else { return false }
        return (.zero...length).contains(last - time)
    }

    /// Finds the position of a packet on the timeline; nil if the packet's timestamps are impossible, or if its track
    /// was not declared. `floor` is the smallest delay to expect; nil if unknown. `arrival` is nil for a source that
    /// can wait, like a file. `isCollecting` is true while the source may still send its burst at the start.
    mutating func place(
        _ stamp: SourceClock.Stamp, arrival: MonotonicInstant?, floor: Duration?, isCollecting: Bool
    ) -> Place? {
        let kind = stamp.track
        guard var track = tracks[kind] else { return nil }
        let isFirst = track.last == nil
        if isFirst, !track.isResumed { join(&track, kind) }
        track.isResumed = false
        guard let raw = track.stamps.unwrap(stamp.dts),
            let shown = stamp.pts == stamp.dts ? raw : track.stamps.beside(stamp.pts)
        else { return nil }
        if isFirst, let resume {
            track.shift = resume.time + max(.zero, (arrival ?? resume.arrival) - resume.arrival) - raw
            self.resume = nil
        }
        let length = track.stamps.length(stamp.duration)
        var place = Place(decode: raw + track.shift, presentation: .zero)
        if let last = track.last {
            chooseShift(&place, raw: raw, &track, kind, expected: last + track.duration, arrival, floor, isCollecting)
            place.decode = raw + track.shift
        }
        if track.isTakenBack { (track.isTakenBack, place.course) = (false, .returns) }
        // If one of the first two timestamps is wrong, so is the step between them.
        let limit = track.isSingle ? Self.early : Self.jump
        track.isSingle = isFirst
        place.presentation = place.decode + max(.zero - Self.jumpOfFile, min(Self.jumpOfFile, shown - raw))
        if length > .zero {
            track.duration = length
        } else if let last = track.last {
            track.noteStep(place.decode - last, below: limit)
        }
        track.last = max(track.last ?? place.decode, place.decode)
        track.raw = raw
        if let arrival {
            if track.delays.isEmpty || arrival - track.arrival > Self.together {
                track.delays = track.delays.suffix(Self.delaysKept - 1) + [arrival.delay(of: place.decode)]
            }
            track.arrival = arrival
        }
        tracks[kind] = track
        return place
    }

    /// Finds the shift of a packet that is not its track's first. `raw` is its decoding time without a shift.
    private mutating func chooseShift(
        _ place: inout Place, raw: Timestamp, _ track: inout Track, _ kind: TrackKind, expected: Timestamp,
        _ arrival: MonotonicInstant?, _ floor: Duration?, _ isCollecting: Bool
    ) {
        let leap = place.decode - expected
        if let line = track.line, line.fits(raw, leap: leap) {
            return takeBack(to: line, &place, &track, kind)
        }
        let agrees = track.line != nil && track.continues(at: raw)
        track.line = track.line?.passed
        place.course = track.line == nil ? .steady : .undecided
        let (former, duration) = (track.shift, track.duration)
        var next = expected
        let jumps = isJump(place.decode, kind, track, expected, arrival, floor, isCollecting)
        if let shift = shiftToFollow(track, kind, raw: raw, expected: expected, at: arrival, floor: floor)
            ?? (jumps ? shiftOfJumpTogether(kind, raw: raw, at: arrival) : nil)
        {
            // With the other track's shift, the track may continue at a time before its own previous end, so its last
            // decoding time is forgotten.
            (track.shift, track.last, pending, track.leap) = (shift, nil, nil, nil)
            place.isMoved = true
        } else if track.isSingle, jumps || leap < .zero - Self.early, leap.magnitude <= Self.jumpOfFile {
            // One of the two timestamps is wrong, and the next packet shows which one.
            track.last = nil
            place.disproves = leap < .zero
        } else if jumps {
            place.jump = Jump(track: kind, distance: leap)
            close(place.decode, &track, kind, expected, arrival)
            place.isMoved = true
            next = raw + track.shift
        } else if leap > Self.jump {
            track.leap = (leap, arrival ?? .distantPast)
        }
        if agrees, !jumps, !place.isMoved {
            // Timestamps that fell by less than a jump are below the track's last decoding time for several packets.
            // They leapt only once. If they are right after all, the track continues from them.
            if track.line == nil { track.last = nil }
        } else if jumps || place.isMoved || leap.magnitude > Self.early / 2 {
            track.line = LeftLine(shift: former, expected: next, duration: duration)
            place.course = .leaps
        }
    }

    /// Gives `track` the shift of `line` back, because its last leap was a wrong timestamp; also gives it to the other
    /// track if that one has taken over the wrong shift.
    private mutating func takeBack(to line: LeftLine, _ place: inout Place, _ track: inout Track, _ kind: TrackKind) {
        let distance = line.shift - track.shift
        place.course = .returns
        place.isMoved = distance != .zero
        place.disproves = distance == .zero
        if pending?.track == kind { pending = nil }
        if distance != .zero, let other = tracks[kind.other], other.last != nil, other.shift == track.shift {
            place.disproves = true
            tracks[kind.other]?.shift = line.shift
            tracks[kind.other]?.last = other.last.map { $0 + distance }
            tracks[kind.other]?.delays = []
            tracks[kind.other]?.line = nil
            tracks[kind.other]?.isTakenBack = true
        }
        (track.shift, track.last, track.leap, track.line) = (line.shift, nil, nil, nil)
    }

    /// Gives `track`, at its first packet, the shift and the timestamp wraps of the other track, so that both tracks
    /// have the same epoch.
    private mutating func join(_ track: inout Track, _ kind: TrackKind) {
        guard let other = tracks[kind.other], let last = other.last else { return }
        track.shift = other.shift
        track.stamps.join(at: last - other.shift)
    }

    /// Returns a track that jumped alone: it jumped, and the other track did not get the same shift in time. Returns
    /// nil if no track did so, or while the other track may still follow. Each jump is returned only once.
    mutating func takeLoneJump(at now: MonotonicInstant) -> TrackKind? {
        guard let pending, now - pending.arrival > Self.followWithin, let other = tracks[pending.track.other],
            other.last != nil, other.arrival > pending.arrival
        else { return nil }
        self.pending = nil
        return other.shift == pending.shift ? nil : pending.track
    }

    private func isJump(
        _ time: Timestamp, _ kind: TrackKind, _ track: Track, _ expected: Timestamp, _ arrival: MonotonicInstant?,
        _ floor: Duration?, _ isCollecting: Bool
    ) -> Bool {
        let leap = time - expected
        guard let arrival else {
            if leap > Self.jumpOfFile { return !isBeside(time, kind, track) }
            return leap < .zero - Self.jumpBackOfFile
        }
        if leap < .zero - Self.jump { return true }
        guard leap > (isCollecting ? Self.jumpInBurst : Self.jump), let floor else { return false }
        return arrival.delay(of: time) < floor - Self.early
    }

    /// Whether the other track is near `time` and has the same shift. If so, `track` only paused and did not jump.
    private func isBeside(_ time: Timestamp, _ kind: TrackKind, _ track: Track) -> Bool {
        guard let other = tracks[kind.other], let last = other.last, other.shift == track.shift else { return false }
        return (time - last).magnitude < Self.apart
    }

    /// If the other track has jumped and got a new shift, returns this shift if the packet fits it better than the
    /// present shift of its own track; otherwise returns nil.
    private func shiftToFollow(
        _ track: Track, _ kind: TrackKind, raw: Timestamp, expected: Timestamp, at arrival: MonotonicInstant?,
        floor: Duration?
    ) -> Duration? {
        guard let pending, pending.track != kind, pending.shift != track.shift else { return nil }
        let (old, new) = (raw + track.shift - expected, raw + pending.shift - expected)
        guard let arrival else { return new.magnitude < old.magnitude ? pending.shift : nil }
        if let leap = track.leap, pending.arrival - leap.arrival < Self.followWithin,
            (leap.distance - pending.distance).magnitude < Self.early
        {
            return pending.shift
        }
        let silence = arrival - track.arrival
        if silence > max(.seconds(1), longestGap), let floor {
            // The track had no packets since before the jump. The delay shows whether this packet was sent before or
            // after the jump.
            let (old, new) = (arrival.delay(of: raw + track.shift), arrival.delay(of: raw + pending.shift))
            return (new - floor).magnitude < (old - floor).magnitude ? pending.shift : nil
        }
        if let floor {
            // If packets were lost when the sender's timestamps jumped, the expected time does not show which shift is
            // right. The new shift is right if it gives the packet a possible delay and the old shift does not.
            let earliest = floor - Self.early
            let possible = earliest..<max(earliest, floor + .seconds(2))
            let (old, new) = (arrival.delay(of: raw + track.shift), arrival.delay(of: raw + pending.shift))
            if possible.contains(new), !possible.contains(old) { return pending.shift }
        }
        let isNear = new.magnitude < Self.followNear && old.magnitude > Self.early
        return isNear && new.magnitude < old.magnitude ? pending.shift : nil
    }

    /// The shift of the other track, for a packet that jumps as well; nil if the shift does not fit. The shift fits if
    /// it gives the packet about the same delay as the other track's packet. Then the sender has restarted, and one
    /// shift for both tracks keeps its sync of audio and video.
    private func shiftOfJumpTogether(_ kind: TrackKind, raw: Timestamp, at arrival: MonotonicInstant?) -> Duration? {
        guard let pending, pending.track != kind, let arrival, let delay = pending.delay,
            arrival - pending.arrival <= Self.followWithin,
            (arrival.delay(of: raw + pending.shift) - delay).magnitude < Self.apart
        else { return nil }
        return pending.shift
    }

    /// Closes a jump: shifts `track` so that the packet follows directly after the previous one. After a pause of more
    /// than ``longestGap``, it shifts the track so that the packet has the usual delay of the track's packets.
    private mutating func close(
        _ time: Timestamp, _ track: inout Track, _ kind: TrackKind, _ expected: Timestamp, _ arrival: MonotonicInstant?
    ) {
        var goal = expected
        if let usual = arrival.flatMap({ track.usualTime(at: $0) }), usual - expected > longestGap { goal = usual }
        track.shift += goal - time
        (track.leap, track.delays) = (nil, [])
        if let pending, pending.track != kind, (arrival ?? .distantPast) - pending.arrival <= Self.followWithin {
            // Both tracks jumped, but by different distances, as between the items of a playlist. Neither track gets
            // the shift of the other one.
            self.pending = nil
        } else {
            pending = Pending(
                shift: track.shift, distance: time - expected, track: kind, arrival: arrival ?? .distantPast,
                delay: arrival.map { $0.delay(of: goal) })
        }
    }
}
