// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Synchronization

/// Takes audio ahead of time, so that it can be played earlier than it arrives.
extension SourceFeed {
    /// Returns the audio after the last taken sample, up to `ahead` samples after `range`, and the number of samples by
    /// which it is really taken ahead. That number differs from `wanted` while it cannot be changed fast enough.
    func audio(_ range: Range<SampleIndex>, ahead wanted: Int64) -> (audio: AudioBuffer, ahead: Int64) {
        let count = range.upperBound - range.lowerBound
        let (old, new) = state.withLock { state in
            // Some audio of a live source may have been skipped in the meantime.
            if isLive { state.audioAhead = max(0, state.audio.consumed - range.lowerBound.number) }
            let old = state.audioAhead
            let next = lead(state, of: wanted, count)
            if next > old, canLead(state, by: next, count) { state.audioAhead = next }
            // The audio for a cross-fade from the previous shift is always taken. From a source that is stopped, no
            // audio is taken.
            if next < old, isLive || isPlaying(state) {
                state.audioAhead = max(next, min(old, old - count + AudioShift.fade))
            }
            return (old, state.audioAhead)
        }
        let (start, end) = (range.lowerBound.number + old, range.upperBound.number + new)
        return (audio(from: SampleIndex(start), upTo: SampleIndex(end)), new)
    }

    /// The maximum number of samples by which audio can be taken ahead now.
    var mostAhead: Int64 {
        guard isLive else { return audioRoom / 2 }
        return state.withLock { state in (state.audio.end - state.audio.consumed + state.audioAhead) / 2 }
    }

    /// Returns by how many samples audio will be taken ahead if `wanted` is requested. If a live source no longer
    /// delivers audio as early as it is taken, this is half of the buffered audio; otherwise the source's audio would
    /// always be too late.
    private func lead(_ state: borrowing State, of wanted: Int64, _ count: Int64) -> Int64 {
        let held = held(state, count)
        return isLive && held < state.audioAhead ? min(wanted, max(0, held / 2)) : wanted
    }

    /// Returns how many samples are buffered beyond the next `count` samples of the program.
    private func held(_ state: borrowing State, _ count: Int64) -> Int64 {
        state.audio.end - state.audio.consumed + state.audioAhead - count
    }

    /// Whether audio can be taken ahead by `samples`. For a live source, half of the buffer must remain, so that jitter
    /// is inaudible.
    private func canLead(_ state: borrowing State, by samples: Int64, _ count: Int64) -> Bool {
        let held = held(state, count)
        if isLive { return held >= 2 * samples }
        return pacing == .paced && isPlaying(state) && held >= samples
    }

    /// Whether the audio of a paced source continues in the current frame.
    private func isPlaying(_ state: borrowing State) -> Bool {
        (state.origin != nil || !hasVideo) && !state.isStalled
    }
}
