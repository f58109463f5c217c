// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Status

// The operator's commands. `frame` is the frame that the next call of ``tick(_:)`` will get.
extension RunDownPlayer {
    /// Starts the run-down with the segment `segment`.
    package mutating func start(at segment: Int = 0) throws(Refusal) {
        guard runDown.segments.indices.contains(segment) else { throw .noSegment(segment, of: runDown.segments.count) }
        (place, held, rest, isOver, isDue, isWaiting) = (nil, nil, nil, false, false, false)
        (skipped, failure, lateFrames, holdsNext, shown) = (0, nil, 0, false, nil)
        state = .running
        unbar(segment)
        upcoming = prepared(segment, 0)
    }

    /// Starts the run-down with the segment `segment`, which is held from its first frame on. If `isCutAway` is set,
    /// the segment is not visible, as if another scene had replaced it at `frame`.
    package mutating func start(held segment: Int, isCutAway: Bool, at frame: FrameIndex) throws(Refusal) {
        try start(at: segment)
        guard isCutAway else { return holdsNext = true }
        state = .held
        held = Held(
            place: RunDownPlace(segment: segment, anchor: frame), frame: frame, isCutAway: true,
            again: runDown.segments[segment].clip.map { prepare($0) })
    }

    /// Ends the run-down. The scene on air does not change.
    package mutating func stop() {
        (place, held, upcoming, rest, state) = (nil, nil, nil, nil, .idle)
        (isDue, isWaiting, holdsNext) = (false, false, false)
    }

    /// Continues with the next segment at once, and ends a hold. If the next segment is late because its file is not
    /// ready, continues with the segment after it.
    package mutating func next() throws(Refusal) {
        switch state {
        case .idle, .over: throw .notRunning
        case .running:
            // The segment whose file is not ready is skipped, because the operator wants to continue without it.
            if isWaiting, let late = upcoming { upcoming = following(late.segment, late.pass) }
        case .held:
            if let held { follow(up: held.place) }
        }
        (held, state, isOver, isWaiting, holdsNext) = (nil, .running, false, false, false)
        isDue = true
    }

    /// Prevents the next change until another command continues the run-down. The scene on air does not change.
    package mutating func hold(at frame: FrameIndex) throws(Refusal) {
        guard state == .running else { throw .notRunning }
        (state, holdsNext) = (.held, false)
        held = place.map { Held(place: $0, frame: frame) } ?? heldAgain()
    }

    /// Records that another scene goes on air at `frame`, by a transition of `fade` frames. From that frame on, the
    /// scenes of the run-down are not shown.
    package mutating func cut(at frame: FrameIndex, fade: Int64) {
        cuts.append((frame, fade))
        cuts.sort { $0.frame < $1.frame }
    }

    /// Cancels the change that is scheduled for `frame`.
    package mutating func withdraw(at frame: FrameIndex) { cuts.removeAll { $0.frame == frame } }

    mutating func cutAway(at frame: FrameIndex, fade: Int64) {
        leave(aired, at: frame, fade: fade)
        aired = nil
        if state == .running {
            // `place` is the segment on air, because changes that were due earlier have been carried out.
            held = place.map { Held(place: $0, frame: frame) } ?? heldAgain()
            (state, holdsNext) = (.held, false)
        }
        guard state == .held, let kept = held, !kept.isCutAway else { return }
        held?.isCutAway = true
        if let clip = kept.place.clip.flatMap({ clips[$0] }), let started = clip.started,
            var file = runDown.segments[kept.place.segment].clip
        {
            // The file of the held segment continues to play. Therefore the file is opened once more, at the frame that
            // was visible last. This is the last frame of the file if the file had ended before the hold.
            let seen = max(0, min(frame, clip.end.map { FrameIndex($0.number - 1) } ?? frame) - started)
            file.start = clip.start + rate.timeBase.duration(seen)
            let again = prepare(file)
            held?.again = again
        }
    }

    /// Returns the earlier hold, if the run-down was about to resume from it but the file is still being opened. That
    /// file now begins without being visible, and the file is opened once more for a later resume.
    private mutating func heldAgain() -> Held? {
        guard let upcoming, let (place, frame) = upcoming.resumed else { return nil }
        var again: ClipID?
        if var file = runDown.segments[place.segment].clip, let start = upcoming.clip.flatMap({ clips[$0]?.start }) {
            file.start = start
            again = prepare(file)
        }
        return Held(place: place, frame: frame, isCutAway: true, again: again)
    }

    /// Prepares the segment after `place` if the run-down has reached another segment during the hold. Otherwise the
    /// segment after `place` is already prepared.
    private mutating func follow(up place: RunDownPlace) {
        if self.place?.segment == place.segment, self.place?.pass == place.pass, !isOver { return }
        upcoming = following(place.segment, place.pass)
    }

    /// Continues at the position of the hold. The segment lasts for the rest of its length.
    package mutating func resume(at frame: FrameIndex) throws(Refusal) {
        // If the next segment was to be held as soon as it becomes visible, it now runs without a hold.
        if holdsNext { return holdsNext = false }
        guard state == .held else { throw .notHeld }
        state = .running
        guard var kept = held else {
            // The run-down was held before its first segment had begun. If the segment has begun since, it was not
            // visible, and is put on air now.
            if let place { show(place, at: frame, by: .cut) }
            return
        }
        (held, isWaiting) = (nil, false)
        if kept.isCutAway {
            isOver = false
            place = nil
            upcoming = Upcoming(
                segment: kept.place.segment, pass: kept.place.pass, clip: kept.again, resumed: (kept.place, kept.frame))
            return
        }
        kept.place.anchor = kept.place.anchor + (frame - kept.frame)
        follow(up: kept.place)
        (place, isOver) = (kept.place, false)
    }

    /// Continues at the position that the run-down would have reached by now without the hold.
    package mutating func follow(at frame: FrameIndex) throws(Refusal) {
        if holdsNext { return holdsNext = false }
        guard state == .held else { throw .notHeld }
        let kept = held
        (held, state) = (nil, .running)
        if isOver {
            (state, place) = (.over, nil)
            return
        }
        guard let place else { return }
        let isSame = kept?.isCutAway == false && kept?.place.segment == place.segment && kept?.place.pass == place.pass
        if !isSame { show(place, at: frame, by: .cut) }
    }
}
