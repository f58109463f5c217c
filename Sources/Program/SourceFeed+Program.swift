// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// The methods by which the program takes a source's frames.
extension SourceFeed {
    /// Returns the source's frame for program frame `index`; nil if the source has no frame yet, or has ended and its
    /// last frame was already shown. Waits for the source if the pacing is ``Pacing/waits`` or ``Pacing/rendered``.
    func frame(for index: FrameIndex) -> LiveFrames.Choice? {
        if isLive { return liveFrame(for: index) }
        if pacing != .waits { return pacedFrame(for: index) }
        waitForData { state in
            state.frames.canChoose(for: index) || state.ended.contains(.video) || state.starved.contains(.video)
                || state.isClosed
        }
        return state.withLock { state in
            let isOver = state.ended.contains(.video) || state.isClosed
            if isOver, !state.frames.hasVideo(from: index) { return nil }
            defer { wakeProducer(&state) }
            return state.frames.choose(for: index).map { LiveFrames.Choice(frame: $0, newlyDue: nil) }
        }
    }

    private func liveFrame(for index: FrameIndex) -> LiveFrames.Choice? {
        guard let line = programTime.line else { return nil }
        return state.withLock { state in
            let choice = state.live.choose(for: index, on: line, at: now)
            let isOver = state.isClosed || (state.ended.contains(.video) && !state.live.isWaiting)
            return isOver && choice?.newlyDue == nil ? nil : choice
        }
    }

    /// Advances the source's video to the end of program frame `index` without showing a frame. Waits for the source if
    /// the pacing is ``Pacing/rendered``.
    func skipVideo(_ index: FrameIndex) {
        guard isLive else { return _ = pacedFrame(for: index) }
        guard let line = programTime.line else { return }
        state.withLock { $0.live.skip(index, on: line, at: now) }
    }

    /// When the source last had video, as far as this is known at `now`; nil before its first frame. A source that can
    /// wait has video at `now` if a frame is ready, if its last frame is repeated because its audio continues, or if it
    /// is an image.
    package func newestVideo(at now: MonotonicInstant) -> MonotonicInstant? {
        state.withLock { state in
            if isLive { return state.live.newestVideo(at: now) }
            // The present moment is stored as the newest one with video. Otherwise a source whose last frame was
            // repeated for a long time would count as lost as soon as its audio stops, too.
            if state.frames.count > 0 || stands(state) || isImage(state) { state.newest = now }
            return state.newest
        }
    }

    /// The source's newest frame that the program has reached, whether it was shown or not. Before the first frame of a
    /// source that can wait is shown, this is its first waiting frame. Nil if there is no such frame.
    package var newestFrame: VideoFrame? {
        state.withLock { state in isLive ? state.live.shown : state.frames.shown ?? state.frames.upcoming }
    }

    /// Returns the source's last frame again, after the source has ended; nil if it has no last frame.
    func lastFrame(for index: FrameIndex) -> VideoFrame? {
        guard isLive else {
            return state.withLock { state in
                // Before a paced source begins to play, it has no last frame, and none of its frames may be taken out
                // of the store.
                if let origin = state.origin, index < origin { return nil }
                return state.frames.choose(for: index)
            }
        }
        guard let line = programTime.line else { return nil }
        return state.withLock { $0.live.current(for: index, on: line)?.frame }
    }
}

/// The methods by which the program takes a source's audio.
extension SourceFeed {
    /// Returns the source's audio for the program's samples from `start` to `end`, with silence in place of missing
    /// samples. Waits for the source if the pacing is ``Pacing/waits`` or ``Pacing/rendered``.
    func audio(from start: SampleIndex, upTo end: SampleIndex) -> AudioBuffer {
        if pacing == .paced || pacing == .rendered { return pacedAudio(count: end - start, at: start.number) }
        if pacing == .waits {
            waitForData { state in
                state.audio.end >= end.number || state.ended.contains(.audio) || state.starved.contains(.audio)
                    || state.isClosed
            }
        }
        return state.withLock { state in
            state.audio.skip(to: start.number)
            let (audio, silence) = state.audio.take(upTo: end.number)
            state.status.silentSamples += silence
            wakeProducer(&state)
            return audio
        }
    }

    /// Whether the source has more than `tail` samples of audio after sample `end`. If the pacing is ``Pacing/waits``,
    /// waits until this is known.
    func hasAudio(beyond end: SampleIndex, moreThan tail: Int64) -> Bool {
        if pacing == .waits {
            waitForData { state in
                state.audio.end - end.number > tail || state.ended.contains(.audio) || state.starved.contains(.audio)
                    || state.isClosed
            }
        }
        return state.withLock { $0.audio.end - end.number > tail }
    }

    /// Advances the source's audio by `count` samples up to `end` without playing it. Must be called after the video of
    /// the same program frame was advanced. Waits for the source if the pacing is ``Pacing/rendered``.
    func skipAudio(upTo end: SampleIndex, count: Int64) {
        guard isLive else { return _ = pacedAudio(count: count, at: end.number - count) }
        state.withLock { $0.audio.skip(to: end.number) }
    }
}

/// Takes audio ahead of time, so that an operator can play a source's audio earlier than it arrives.
extension SourceFeed {
    /// Returns the source's next audio, which ends some samples after `range`. The second result, `ahead`, is this
    /// number of samples. It differs from `wanted` if the source does not have enough audio, and while it is being
    /// reduced, because one call reduces it by less than a frame.
    func audio(_ range: Range<SampleIndex>, ahead wanted: Int64) -> (audio: AudioBuffer, ahead: Int64) {
        let count = range.upperBound - range.lowerBound
        let (old, new) = state.withLock { state in
            // `audioAhead` is measured again, because some audio of a live source may have been skipped since the last
            // call.
            if isLive { state.audioAhead = max(0, state.audio.consumed - range.lowerBound.number) }
            let old = state.audioAhead
            let next = lead(state, of: wanted, count)
            if next > old, canLead(state, by: next, count) { state.audioAhead = next }
            // To reduce `audioAhead`, less audio is taken than the frame lasts, but always enough for a cross-fade from
            // the previous shift. A source that is stopped gives no audio, so its `audioAhead` stays.
            if next < old, isLive || isPlaying(state) {
                state.audioAhead = max(next, min(old, old - count + AudioShift.fade))
            }
            return (old, state.audioAhead)
        }
        let (start, end) = (range.lowerBound.number + old, range.upperBound.number + new)
        return (audio(from: SampleIndex(start), upTo: SampleIndex(end)), new)
    }

    /// The largest number of samples by which the audio can be taken ahead now.
    var mostAhead: Int64 {
        guard isLive else { return audioRoom / 2 }
        return state.withLock { state in (state.audio.end - state.audio.consumed + state.audioAhead) / 2 }
    }

    /// Returns by how many samples audio should be taken ahead if `wanted` is requested. This is `wanted`, unless a
    /// live source has less audio buffered than is now taken ahead: then it is at most half of the buffered audio.
    /// Without this limit, the source's audio would always come too late.
    private func lead(_ state: borrowing State, of wanted: Int64, _ count: Int64) -> Int64 {
        let held = held(state, count)
        return isLive && held < state.audioAhead ? min(wanted, max(0, held / 2)) : wanted
    }

    /// Returns how many samples are buffered after the next `count` samples that the program plays.
    private func held(_ state: borrowing State, _ count: Int64) -> Int64 {
        state.audio.end - state.audio.consumed + state.audioAhead - count
    }

    /// Whether audio can be taken ahead by `samples` now. For a live source, half of the buffer must remain, so that
    /// jitter does not become audible.
    private func canLead(_ state: borrowing State, by samples: Int64, _ count: Int64) -> Bool {
        let held = held(state, count)
        if isLive { return held >= 2 * samples }
        return pacing == .paced && isPlaying(state) && held >= samples
    }

    /// Whether a paced source plays audio in the current program frame.
    private func isPlaying(_ state: borrowing State) -> Bool { (state.origin != nil || !hasVideo) && !state.isStalled }
}
