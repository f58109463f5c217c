// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Synchronization

/// A source's audio, as the program takes it.
extension SourceFeed {
    /// The audio from sample `start` to `end`, with silence where it is missing. Waits for a source that waits for the
    /// program.
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

    /// Whether more than `tail` samples follow, from sample `end` on. Waits for a source that waits for the program, until
    /// it has said so.
    func hasAudio(beyond end: SampleIndex, moreThan tail: Int64) -> Bool {
        if pacing == .waits {
            waitForNews { state in
                state.audio.end - end.number > tail || state.ended.contains(.audio) || state.starved.contains(.audio)
                    || state.isClosed
            }
        }
        return state.withLock { $0.audio.end - end.number > tail }
    }

    /// Plays along unheard, `count` samples up to `end`; after the video of their frame. Waits for one that is rendered.
    func skipAudio(upTo end: SampleIndex, count: Int64) {
        guard isLive else { return _ = pacedAudio(count: count, at: end.number - count) }
        state.withLock { $0.audio.skip(to: end.number) }
    }
}
