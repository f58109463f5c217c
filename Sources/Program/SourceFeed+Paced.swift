// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// Plays a paced source: its first frame is assigned to a program frame, and from then on the source's own times
/// determine its program frames.
extension SourceFeed {
    /// If audio lasts longer than the video by less than this, it is the padding of the container.
    static let padding = Duration.milliseconds(100)

    /// Returns the frame for program frame `index`; nil before the source's first frame and after its end.
    func pacedFrame(for index: FrameIndex) -> LiveFrames.Choice? {
        if pacing == .rendered { waitForVideo(of: index) }
        return state.withLock { state in
            // The number is more than one if the program skipped frames.
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

    /// Whether a source that has been read as far ahead as permitted has only audio for the next frames: then the
    /// previous frame is repeated. How the source continues after that audio is unknown until more of it is read. If
    /// that takes too long, both tracks stop. They also stop if neither track has any media.
    private func isAudioAlone(_ state: borrowing State) -> Bool {
        state.starved == [.video] && state.audioAlone - state.audio.consumed >= frameSamples
    }

    /// The number of samples in the longest program frame.
    var frameSamples: Int64 { frameRate.timeBase.rescale(1, to: audioFormat.timeBase, rounding: .up) }

    /// Whether the last frame is repeated while the audio continues, because no other frame will come.
    func stands(_ state: borrowing State) -> Bool {
        if state.frames.isEmpty { return false }
        return state.ended.contains(.video) ? state.audio.end > state.audio.consumed : isAudioAlone(state)
    }

    /// Holds a paced source before its first frame until ``begin(at:)``.
    package func park() { state.withLock { $0.origin = FrameIndex(.max) } }

    /// Assigns the first frame of a paced source to program frame `index`.
    package func begin(at index: FrameIndex) { state.withLock { $0.origin = index } }

    /// Whether a parked source has buffered enough to play without a gap.
    package var isPrimed: Bool {
        state.withLock { state in
            let isAllThere = state.ended.contains(.video) || isAudioAlone(state)
            let hasVideo = isAllThere ? !state.frames.isEmpty : state.frames.count >= Self.frameRoom
            let hasAudio = state.audio.end >= audioRoom / 5
            return hasVideo && (hasAudio || !state.ended.union(state.starved).isDisjoint(with: [.audio]))
        }
    }

    /// Pauses a paced source for `frames` program frames.
    func stand(for frames: Int64) {
        state.withLock { state in
            state.isStalled = true
            state.asked = state.asked.map { $0 + frames }
            if let origin = state.origin, origin.number < .max { state.origin = origin + frames }
        }
    }

    /// The last frame of a source that can wait that was shown, or its next frame if none was shown yet; nil before it
    /// has a frame.
    package var presentFrame: VideoFrame? { state.withLock { $0.frames.shown ?? $0.frames.upcoming } }

    /// The program frame after the last frame of a paced source, or after its audio if the audio is longer; nil while
    /// that is unknown. If the source has no frames, this is its first program frame.
    package var end: FrameIndex? {
        state.withLock { state in
            guard state.ended.contains(.video), let origin = state.origin, origin.number < .max else { return nil }
            if state.frames.isEmpty { return origin }
            guard state.ended.contains(.audio) else { return nil }
            let (video, audio) = (frameRate.timeBase, audioFormat.timeBase)
            let last = state.frames.last.number
            let isLonger = state.audioEnd - video.rescale(last, to: audio) > audio.ticks(Self.padding)
            return origin + (isLonger ? audio.rescale(state.audioEnd, to: video, rounding: .up) : last)
        }
    }

    /// Whether the source has ended without delivering a frame.
    package var isBarren: Bool { state.withLock { $0.ended.contains(.video) && $0.frames.isEmpty } }

    private func waitForVideo(of index: FrameIndex) {
        waitForNews { state in
            let origin = state.origin ?? index
            return index < origin || state.frames.canChoose(for: FrameIndex(index - origin))
                || state.ended.contains(.video) || isAudioAlone(state) || state.starved == [.video, .audio]
                || state.isClosed
        }
    }

    /// Returns the next `count` samples of a paced source, for the program position `start`, with silence in place of
    /// missing samples.
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

    /// Waits for `count` samples; after the last frame, waits until it is known whether the audio continues, because
    /// ``end`` must be known in advance.
    private func waitForAudio(count: Int64) {
        let tail = frameSamples + audioFormat.timeBase.ticks(Self.padding)
        waitForNews { state in
            let wanted = hasVideo && state.ended.contains(.video) ? count + tail : count
            return state.audio.end >= state.audio.consumed + wanted || (state.origin == nil && hasVideo)
                || state.isStalled || state.ended.contains(.audio) || state.starved.contains(.audio) || state.isClosed
        }
    }
}
