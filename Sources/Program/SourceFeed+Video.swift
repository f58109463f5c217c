// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// How the program takes a source's frames.
extension SourceFeed {
    /// Returns the frame for program frame `index`; nil if the source has ended and its last frame was already shown.
    /// Waits if the pacing is ``Pacing/waits``.
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

    /// When the source last had video. A paced source has video now if a frame is ready, or if its last frame is
    /// repeated because its audio continues. Nil before the first frame.
    package func newestVideo(at now: Timestamp) -> Timestamp? {
        state.withLock { state in
            if isLive { return state.live.newestVideo(at: now) }
            // The time is stored, because otherwise a source whose frame was repeated for a long time would count as
            // lost as soon as it stalls.
            if state.frames.count > 0 || stands(state) { state.newest = now }
            return state.newest
        }
    }

    /// The last frame that the program has reached, whether it was shown or not; nil before the first frame.
    package var newestFrame: VideoFrame? {
        state.withLock { state in isLive ? state.live.shown : state.frames.shown ?? state.frames.upcoming }
    }

    /// Returns the last frame again, after the source has ended.
    func lastFrame(for index: FrameIndex) -> VideoFrame? {
        guard isLive else {
            return state.withLock { state in
                // Before its first program frame, the source has no last frame, and no frame may be consumed.
                if let origin = state.origin, index < origin { return nil }
                return state.frames.choose(for: index)
            }
        }
        guard let line = programTime.line else { return nil }
        return state.withLock { $0.live.current(for: index, on: line)?.frame }
    }
}
