// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// A source whose first frame has a place in the program, and that plays from there by its own time.
extension SourceFeed {
    /// The frame for program frame `index`; nil before its first one and when it is over.
    func pacedFrame(for index: FrameIndex) -> LiveFrames.Choice? {
        if pacing == .rendered { waitForVideo(of: index) }
        return state.withLock { state in
            if let origin = state.origin, index < origin {
                state.isStalled = true
                return nil
            }
            if state.frames.isEmpty { return nil }
            var origin = state.origin ?? index
            state.isStalled = state.frames.count == 0 && !state.ended.contains(.video)
            if state.isStalled {
                origin = origin + 1
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

    /// Keeps a paced source's first frame back until ``begin(at:)``.
    package func park() { state.withLock { $0.origin = FrameIndex(.max) } }

    /// Makes a paced source's first frame that of program frame `index`.
    package func begin(at index: FrameIndex) { state.withLock { $0.origin = index } }

    /// Whether a source that was parked has enough to play without a hole.
    package var isPrimed: Bool {
        state.withLock { state in
            let hasVideo = state.ended.contains(.video) ? !state.frames.isEmpty : state.frames.count >= Self.frameRoom
            let hasAudio = state.audio.end >= audioRoom / 5
            return hasVideo && (hasAudio || !state.ended.union(state.starved).isDisjoint(with: [.audio]))
        }
    }

    /// Lets a paced source stand for so many frames of the program.
    func stand(for frames: Int64) {
        state.withLock { state in
            state.isStalled = true
            if let origin = state.origin, origin.number < .max { state.origin = origin + frames }
        }
    }

    /// The first frame of a source that can wait and was not shown yet, or the one that was shown last; nil before there is
    /// one.
    package var presentFrame: VideoFrame? { state.withLock { $0.frames.shown ?? $0.frames.upcoming } }

    /// The program frame behind a paced source's last one, once it is known; its first one where it has none.
    package var end: FrameIndex? {
        state.withLock { state in
            guard state.ended.contains(.video), let origin = state.origin, origin.number < .max else { return nil }
            return origin + (state.frames.isEmpty ? 0 : state.frames.last.number)
        }
    }

    /// Whether a source is over that delivered no frame at all.
    package var isBarren: Bool { state.withLock { $0.ended.contains(.video) && $0.frames.isEmpty } }

    private func waitForVideo(of index: FrameIndex) {
        waitForNews { state in
            let origin = state.origin ?? index
            return index < origin || state.frames.canChoose(for: FrameIndex(index - origin))
                || state.ended.contains(.video) || state.starved.contains(.video) || state.isClosed
        }
    }

    /// The next `count` samples of a paced source, as position `start` of the program; silence where there are none.
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

    private func waitForAudio(count: Int64) {
        waitForNews { state in
            state.audio.end >= state.audio.consumed + count || (state.origin == nil && hasVideo) || state.isStalled
                || state.ended.contains(.audio) || state.starved.contains(.audio) || state.isClosed
        }
    }
}
