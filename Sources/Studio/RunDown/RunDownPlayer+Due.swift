// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Status

extension RunDownPlayer {
    /// How long to wait before the next attempt if no file could be opened.
    private static let retry = Duration.seconds(1)

    /// The frame at which the next segment is due, if that is not later than `frame`; otherwise nil.
    func due(by frame: FrameIndex) -> FrameIndex? {
        guard let place, !isDue else { return frame }
        guard let end = end(of: place), end <= frame else { return nil }
        // A segment that lasts until the end of its file is followed at `frame`, even if the file's end is noticed
        // late. The lost time is not recovered.
        return runDown.segments[place.segment].length == .end ? frame : end
    }

    /// The frame at which a segment ends; nil while that is not known.
    func end(of place: RunDownPlace) -> FrameIndex? {
        let length = runDown.segments[place.segment].length
        if case .end = length {
            return place.clip.flatMap { clips[$0]?.end }.map { max($0, place.start(at: rate) + 1) }
        }
        return place.end(after: length, at: rate)
    }

    /// Begins the next segment, which is due at `due`. Returns true if a segment has begun or was skipped, so that the
    /// call must be repeated. Returns false if the segment's file is not ready yet, if there is no next segment, or if
    /// all segments were skipped.
    mutating func begin(_ due: FrameIndex, at frame: FrameIndex) -> Bool {
        if let rest, upcoming == nil, rest.until <= frame {
            upcoming = prepared(rest.segment, rest.pass)
            self.rest = nil
        }
        guard let next = upcoming else {
            if rest == nil { finish() } else if place != nil { lateFrames += 1 }
            return false
        }
        if let reason = barred[next.segment] { return skip(next, reason, at: frame) }
        switch next.clip.map({ clips[$0]?.opening ?? .opening }) ?? .ready {
        case .opening:
            if place != nil { lateFrames += 1 }
            isWaiting = true
            return false
        case .failed(let reason): return skip(next, reason, at: frame)
        case .ready: break
        }
        skipped = 0
        var start: (anchor: FrameIndex, offset: Duration) = (frame, .zero)
        if let place, !isDue, !isWaiting {
            start = place.following(runDown.segments[place.segment].length, end: due, at: rate)
        }
        place = RunDownPlace(
            segment: next.segment, pass: next.pass, anchor: start.anchor, offset: start.offset, clip: next.clip,
            seen: seenView(of: runDown.segments[next.segment]))
        if let resumed = next.resumed {
            place?.anchor = resumed.place.anchor + (frame - resumed.heldAt)
            place?.offset = resumed.place.offset
            place?.seen = resumed.place.seen
        }
        (isDue, isWaiting) = (false, false)
        if let clip = next.clip {
            clips[clip]?.started = frame
            actions.append(.start(clip, at: frame))
        }
        upcoming = following(next.segment, next.pass)
        if state == .running, let place {
            show(place, at: frame, by: next.resumed == nil ? nil : .cut)
            if holdsNext { (holdsNext, state, held) = (false, .held, Held(place: place, frame: frame)) }
        }
        return true
    }

    private mutating func skip(_ next: Upcoming, _ reason: String, at frame: FrameIndex) -> Bool {
        failure = "\(runDown.segments[next.segment].name): \(reason)"
        actions.append(.skip(segment: next.segment, reason: reason))
        skipped += 1
        guard skipped >= runDown.segments.count else {
            upcoming = following(next.segment, next.pass)
            return true
        }
        guard runDown.loops else {
            finish()
            return false
        }
        // The files can be on a disk that is missing now and is mounted again later. Therefore the scene on air does
        // not change, and the segments are tried again, one after the other.
        let isLast = next.segment + 1 == runDown.segments.count
        rest = Rest(
            segment: isLast ? 0 : next.segment + 1, pass: next.pass + (isLast ? 1 : 0),
            until: frame + max(1, rate.timeBase.ticks(Self.retry)))
        (upcoming, isWaiting) = (nil, true)
        return false
    }

    private mutating func finish() {
        isOver = true
        (isDue, isWaiting, holdsNext, upcoming, rest) = (false, false, false, nil, nil)
        if state == .running { (state, place) = (.over, nil) }
    }

    /// Returns the segment after `segment`, and prepares its file; nil at the end of the run-down.
    mutating func following(_ segment: Int, _ pass: Int64) -> Upcoming? {
        let next = segment + 1
        guard next < runDown.segments.count else { return runDown.loops ? prepared(0, pass + 1) : nil }
        return prepared(next, pass)
    }

    mutating func prepared(_ segment: Int, _ pass: Int64) -> Upcoming {
        let clip = barred[segment] == nil ? runDown.segments[segment].clip : nil
        return Upcoming(segment: segment, pass: pass, clip: clip.map { prepare($0) })
    }

    mutating func prepare(_ clip: RunDown.Clip) -> ClipID {
        clipCount += 1
        let id = ClipID(number: clipCount)
        clips[id] = ClipState(start: clip.start)
        actions.append(.prepare(id, clip))
        return id
    }

    /// Releases the files that are not needed any more.
    mutating func collect(_ frame: FrameIndex) {
        fading.removeAll { $0.until <= frame }
        let needed = [place?.clip, upcoming?.clip, held?.place.clip, held?.again, aired] + fading.map { $0.clip }
        for clip in clips.keys.sorted() where !needed.contains(clip) {
            clips[clip] = nil
            actions.append(.release(clip))
        }
    }
}
