// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Synchronization

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
    private func isPlaying(_ state: borrowing State) -> Bool {
        (state.origin != nil || !hasVideo) && !state.isStalled
    }
}
