// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Synchronization

/// How the program takes a source's audio.
extension SourceFeed {
    /// Returns the audio from sample `start` to `end`, with silence in place of missing samples. Waits if the pacing is
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

    /// Whether more than `tail` samples of audio follow sample `end`. If the pacing is ``Pacing/waits``, waits until
    /// that is known.
    func hasAudio(beyond end: SampleIndex, moreThan tail: Int64) -> Bool {
        if pacing == .waits {
            waitForNews { state in
                state.audio.end - end.number > tail || state.ended.contains(.audio) || state.starved.contains(.audio)
                    || state.isClosed
            }
        }
        return state.withLock { $0.audio.end - end.number > tail }
    }

    /// Advances the audio by `count` samples up to `end` without playing it. Call it after the video of the same frame
    /// was advanced. Waits if the pacing is ``Pacing/rendered``.
    func skipAudio(upTo end: SampleIndex, count: Int64) {
        guard isLive else { return _ = pacedAudio(count: count, at: end.number - count) }
        state.withLock { $0.audio.skip(to: end.number) }
    }
}
