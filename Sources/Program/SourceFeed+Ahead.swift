// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Synchronization

/// Audio that is taken before its time, so that it can be heard earlier than it comes.
extension SourceFeed {
    /// The audio that follows what was taken before, up to `ahead` samples behind `range`, and how many samples that is
    /// ahead: more or less, as long as what is wanted cannot be taken or given back.
    func audio(_ range: Range<SampleIndex>, ahead wanted: Int64) -> (audio: AudioBuffer, ahead: Int64) {
        let count = range.upperBound - range.lowerBound
        let (old, new) = state.withLock { state in
            // What comes at its own pace may have been skipped meanwhile.
            if isLive { state.audioAhead = max(0, state.audio.consumed - range.lowerBound.number) }
            let old = state.audioAhead
            let next = lead(state, of: wanted, count)
            if next > old, canLead(state, by: next, count) { state.audioAhead = next }
            // The audio for a fade from the previous shift is taken in any case; nothing is taken of a source that is
            // stopped.
            if next < old, isLive || isPlaying(state) {
                state.audioAhead = max(next, min(old, old - count + AudioShift.fade))
            }
            return (old, state.audioAhead)
        }
        let (start, end) = (range.lowerBound.number + old, range.upperBound.number + new)
        return (audio(from: SampleIndex(start), upTo: SampleIndex(end)), new)
    }

    /// By how many samples audio may be taken ahead now.
    var mostAhead: Int64 {
        guard isLive else { return audioRoom / 2 }
        return state.withLock { state in (state.audio.end - state.audio.consumed + state.audioAhead) / 2 }
    }

    /// The lead to continue with if `wanted` is requested: half of what is buffered if a live source no longer comes as
    /// early as it is taken, because its audio would otherwise always be too late.
    private func lead(_ state: borrowing State, of wanted: Int64, _ count: Int64) -> Int64 {
        let held = held(state, count)
        return isLive && held < state.audioAhead ? min(wanted, max(0, held / 2)) : wanted
    }

    /// How many samples are buffered behind the `count` that the program comes to next.
    private func held(_ state: borrowing State, _ count: Int64) -> Int64 {
        state.audio.end - state.audio.consumed + state.audioAhead - count
    }

    /// Whether audio can be taken `samples` ahead. Half of what is buffered of a live source stays, so that jitter is
    /// inaudible.
    private func canLead(_ state: borrowing State, by samples: Int64, _ count: Int64) -> Bool {
        let held = held(state, count)
        if isLive { return held >= 2 * samples }
        return pacing == .paced && isPlaying(state) && held >= samples
    }

    /// Whether a paced source's audio continues with the frame under way.
    private func isPlaying(_ state: borrowing State) -> Bool {
        (state.origin != nil || !hasVideo) && !state.isStalled
    }
}
