// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// How the program takes a source's frames.
extension SourceFeed {
    /// Returns the frame for program frame `index`; nil when the source has ended and its last frame was shown. Waits
    /// if the pacing is ``Pacing/waits``.
    func frame(for index: FrameIndex) -> LiveFrames.Choice? {
        if isLive { return liveFrame(for: index) }
        if pacing != .waits { return pacedFrame(for: index) }
        waitForNews { state in
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

    /// Advances the video to the end of program frame `index` without showing it. Waits if the pacing is
    /// ``Pacing/rendered``.
    func skipVideo(_ index: FrameIndex) {
        guard isLive else { return _ = pacedFrame(for: index) }
        guard let line = programTime.line else { return }
        state.withLock { $0.live.skip(index, on: line, at: now) }
    }

    /// When the source last had video. A paced source with a frame ready has it now, and so has one whose frame is
    /// rightly held while its audio continues. Nil before its first frame.
    package func newestVideo(at now: Timestamp) -> Timestamp? {
        state.withLock { state in
            if isLive { return state.live.newestVideo(at: now) }
            // The time is stored, because otherwise a source whose frame was held for long would count as lost as soon
            // as it stalls.
            if state.frames.count > 0 || stands(state) { state.newest = now }
            return state.newest
        }
    }

    /// The last frame that the program reached, shown or not; nil before the first.
    package var newestFrame: VideoFrame? {
        state.withLock { state in isLive ? state.live.shown : state.frames.shown ?? state.frames.upcoming }
    }

    /// Returns the last frame once more, after the source has ended.
    func lastFrame(for index: FrameIndex) -> VideoFrame? {
        guard isLive else {
            return state.withLock { state in
                // Before its first frame it has no last one, and no frame may be used up.
                if let origin = state.origin, index < origin { return nil }
                return state.frames.choose(for: index)
            }
        }
        guard let line = programTime.line else { return nil }
        return state.withLock { $0.live.current(for: index, on: line)?.frame }
    }
}

/// How the program takes a source's audio.
extension SourceFeed {
    /// Returns the audio from sample `start` to `end`, with silence for missing samples. Waits if the pacing is
    /// ``Pacing/waits``.
    func audio(from start: SampleIndex, upTo end: SampleIndex) -> AudioBuffer {
        if pacing == .paced || pacing == .rendered { return pacedAudio(count: end - start, at: start.number) }
        if pacing == .waits {
            waitForNews { state in
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

    /// Whether more than `tail` samples follow sample `end`. If the pacing is ``Pacing/waits``, waits until that is
    /// known.
    func hasAudio(beyond end: SampleIndex, moreThan tail: Int64) -> Bool {
        if pacing == .waits {
            waitForNews { state in
                state.audio.end - end.number > tail || state.ended.contains(.audio) || state.starved.contains(.audio)
                    || state.isClosed
            }
        }
        return state.withLock { $0.audio.end - end.number > tail }
    }

    /// Advances the audio by `count` samples up to `end` without playing it, after the video of the same frame. Waits
    /// if the pacing is ``Pacing/rendered``.
    func skipAudio(upTo end: SampleIndex, count: Int64) {
        guard isLive else { return _ = pacedAudio(count: count, at: end.number - count) }
        state.withLock { $0.audio.skip(to: end.number) }
    }
}

/// Takes audio ahead of its time, so that it can be played earlier than it comes.
extension SourceFeed {
    /// Returns the audio after the last taken sample, up to `ahead` samples after `range`, and the actual lead in
    /// samples. The lead differs from `wanted` while samples cannot be taken or given back fast enough.
    func audio(_ range: Range<SampleIndex>, ahead wanted: Int64) -> (audio: AudioBuffer, ahead: Int64) {
        let count = range.upperBound - range.lowerBound
        let (old, new) = state.withLock { state in
            // Audio of a live source may have been skipped in the meantime.
            if isLive { state.audioAhead = max(0, state.audio.consumed - range.lowerBound.number) }
            let old = state.audioAhead
            let next = lead(state, of: wanted, count)
            if next > old, canLead(state, by: next, count) { state.audioAhead = next }
            // The audio for a cross-fade from the previous shift is taken in any case; nothing is taken from a source
            // that is stopped.
            if next < old, isLive || isPlaying(state) {
                state.audioAhead = max(next, min(old, old - count + AudioShift.fade))
            }
            return (old, state.audioAhead)
        }
        let (start, end) = (range.lowerBound.number + old, range.upperBound.number + new)
        return (audio(from: SampleIndex(start), upTo: SampleIndex(end)), new)
    }

    /// By how many samples audio can be taken ahead now.
    var mostAhead: Int64 {
        guard isLive else { return audioRoom / 2 }
        return state.withLock { state in (state.audio.end - state.audio.consumed + state.audioAhead) / 2 }
    }

    /// Returns the new lead if `wanted` is requested. If a live source no longer delivers as early as its audio is
    /// taken, that is half of what is buffered; otherwise its audio would always be too late.
    private func lead(_ state: borrowing State, of wanted: Int64, _ count: Int64) -> Int64 {
        let held = held(state, count)
        return isLive && held < state.audioAhead ? min(wanted, max(0, held / 2)) : wanted
    }

    /// Returns how many samples are buffered after the next `count` samples of the program.
    private func held(_ state: borrowing State, _ count: Int64) -> Int64 {
        state.audio.end - state.audio.consumed + state.audioAhead - count
    }

    /// Whether audio can be taken `samples` ahead. For a live source half of the buffer stays, so that jitter is
    /// inaudible.
    private func canLead(_ state: borrowing State, by samples: Int64, _ count: Int64) -> Bool {
        let held = held(state, count)
        if isLive { return held >= 2 * samples }
        return pacing == .paced && isPlaying(state) && held >= samples
    }

    /// Whether a paced source's audio continues with the current frame.
    private func isPlaying(_ state: borrowing State) -> Bool { (state.origin != nil || !hasVideo) && !state.isStalled }
}
