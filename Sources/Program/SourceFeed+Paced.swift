// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// Plays a paced source: its first frame is assigned to a program frame. The times of the later frames, relative to the
/// first one, determine their program frames.
extension SourceFeed {
    /// If a source's audio is longer than its video by less than this, the difference is padding of the container and
    /// is not played.
    static let padding = Duration.milliseconds(100)

    /// Returns the source's frame for program frame `index`; nil before the source begins to play or has a frame, and
    /// after its end.
    func pacedFrame(for index: FrameIndex) -> LiveFrames.Choice? {
        if pacing == .rendered { waitForVideo(of: index) }
        return state.withLock { state in
            // The number of program frames since the last call of this method. It is more than 1 if the program skipped
            // frames.
            let passed = state.asked.map { index - $0 } ?? 1
            state.asked = index
            if let origin = state.origin, index < origin {
                state.isStalled = true
                return nil
            }
            if state.frames.isEmpty { return nil }
            var origin = state.origin ?? index
            state.isStalled = state.frames.count == 0 && !state.ended.contains(.video) && !isAudioAlone(state)
            if state.isStalled {
                origin = origin + passed
                state.status.framesLate += 1
            }
            state.origin = origin
            let own = FrameIndex(index - origin)
            let isOver = state.isClosed || (state.ended.contains(.video) && !state.frames.hasVideo(from: own))
            if isOver { return nil }
            defer { wakeProducer(&state) }
            return state.frames.choose(for: own).map { LiveFrames.Choice(frame: $0, newlyDue: nil) }
        }
    }

    /// Whether the source has audio but no video for the next program frame, although it was read as far ahead as
    /// permitted. The previous frame is then repeated while the audio is played. What comes after this audio is unknown
    /// until more of the source is read. If that takes too long, video and audio both stop. Both also stop if neither
    /// has any media.
    private func isAudioAlone(_ state: borrowing State) -> Bool {
        state.starved == [.video] && state.audioAlone - state.audio.consumed >= frameSamples
    }

    /// The number of audio samples in a program frame, rounded up.
    var frameSamples: Int64 { frameRate.timeBase.rescale(1, to: audioFormat.timeBase, rounding: .up) }

    /// Whether the source's last frame is being repeated while its audio continues, because no further frame comes for
    /// now.
    func stands(_ state: borrowing State) -> Bool {
        if state.frames.isEmpty { return false }
        return state.ended.contains(.video) ? state.audio.end > state.audio.consumed : isAudioAlone(state)
    }

    /// Keeps a paced source from being played until ``begin(at:)`` is called.
    package func park() { state.withLock { $0.origin = FrameIndex(.max) } }

    /// Begins to play a paced source: its first frame is shown as program frame `index`.
    package func begin(at index: FrameIndex) { state.withLock { $0.origin = index } }

    /// Whether a source that waits for ``begin(at:)`` has buffered enough to be played without a gap.
    package var isPrimed: Bool {
        state.withLock { state in
            let isAllThere = state.ended.contains(.video) || isAudioAlone(state)
            let hasVideo = isAllThere ? !state.frames.isEmpty : state.frames.count >= Self.frameRoom
            let hasAudio = state.audio.end >= audioRoom / 5
            return hasVideo && (hasAudio || !state.ended.union(state.starved).isDisjoint(with: [.audio]))
        }
    }

    /// Pauses a paced source for the next `frames` program frames.
    func stand(for frames: Int64) {
        state.withLock { state in
            state.isStalled = true
            state.asked = state.asked.map { $0 + frames }
            if let origin = state.origin, origin.number < .max { state.origin = origin + frames }
        }
    }

    /// The present frame of a source that can wait: the frame that was shown last, or the next frame if none was shown
    /// yet. Nil before the source has delivered a frame.
    package var presentFrame: VideoFrame? { state.withLock { $0.frames.shown ?? $0.frames.upcoming } }

    /// The first program frame after a paced source has ended: after its last frame, or after its audio if that is
    /// longer. Nil while this is unknown. If the source has no frames, this is the program frame at which it was to
    /// begin.
    package var end: FrameIndex? {
        state.withLock { state in
            guard state.ended.contains(.video), let origin = state.origin, origin.number < .max else { return nil }
            if state.frames.isEmpty { return origin }
            guard state.ended.contains(.audio) else { return nil }
            let (video, audio) = (frameRate.timeBase, audioFormat.timeBase)
            let last = state.frames.last.number
            return origin + (isLonger(state) ? audio.rescale(state.audioEnd, to: video, rounding: .up) : last)
        }
    }

    /// Whether the source, which has ended, has audio after its last frame that is played.
    private func isLonger(_ state: borrowing State) -> Bool {
        let audio = audioFormat.timeBase
        let last = frameRate.timeBase.rescale(state.frames.last.number, to: audio)
        return state.audioEnd - last > audio.ticks(Self.padding)
    }

    /// Whether the source is an image that was delivered completely, and that has no longer audio.
    func isImage(_ state: borrowing State) -> Bool {
        state.isImage && state.ended.isSuperset(of: [.video, .audio]) && !isLonger(state)
    }

    /// Whether the source has ended and has not delivered any frame.
    package var isBarren: Bool { state.withLock { $0.ended.contains(.video) && $0.frames.isEmpty } }

    private func waitForVideo(of index: FrameIndex) {
        waitForData { state in
            let origin = state.origin ?? index
            return index < origin || state.frames.canChoose(for: FrameIndex(index - origin))
                || state.ended.contains(.video) || isAudioAlone(state) || state.starved == [.video, .audio]
                || state.isClosed
        }
    }

    /// Returns the next `count` samples of a paced source, to be played at position `start` of the program. Missing
    /// samples are replaced by silence.
    func pacedAudio(count: Int64, at start: Int64) -> AudioBuffer {
        if pacing == .rendered { waitForAudio(count: count) }
        return state.withLock { state in
            guard state.origin != nil || !hasVideo, !state.isStalled else {
                return .silence(at: start, count: Int(count), format: .program)
            }
            var (audio, silence) = state.audio.take(upTo: state.audio.consumed + count)
            audio.position = start
            state.status.silentSamples += silence
            wakeProducer(&state)
            return audio
        }
    }

    /// Waits until `count` samples are buffered. After the source's last frame, it also waits until it is known whether
    /// the audio is longer than the video, because ``end`` must be known in advance.
    private func waitForAudio(count: Int64) {
        let tail = frameSamples + audioFormat.timeBase.ticks(Self.padding)
        waitForData { state in
            let wanted = hasVideo && state.ended.contains(.video) ? count + tail : count
            return state.audio.end >= state.audio.consumed + wanted || (state.origin == nil && hasVideo)
                || state.isStalled || state.ended.contains(.audio) || state.starved.contains(.audio) || state.isClosed
        }
    }
}
