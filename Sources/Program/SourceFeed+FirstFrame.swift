// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media
internal import Synchronization

extension SourceFeed {
    /// How long a program waits for the first frame of a live source that is not late: the frames that were collected
    /// while the input was opened are decoded first.
    private static let patience = Duration.seconds(2)

    /// Waits for the first frame and returns the time at which the program should begin: now, or when the first frame
    /// of a live source that is not late is due. Returns nil if the source ended or the feed was closed without a
    /// frame, or as soon as `isWanted` returns false, which is called repeatedly.
    func waitForFirstFrame(while isWanted: () -> Bool) -> Timestamp? {
        while isWanted() {
            let (hasCome, isOver) = state.withLock { state in
                state.isConsumerWaiting = true
                let isOver = state.isClosed || state.ended.contains(.video)
                return (isLive ? !state.live.isEmpty : !state.frames.isEmpty, isOver)
            }
            if hasCome || isOver { return isLive ? waitForLiveFrame(while: isWanted) : firstMoment }
            _ = news.wait(timeout: .now() + .milliseconds(20))
        }
        return nil
    }

    /// The present time, if the source can wait and has a frame; otherwise nil.
    private var firstMoment: Timestamp? { state.withLock { !$0.frames.isEmpty && !$0.isClosed } ? now : nil }

    private func waitForLiveFrame(while isWanted: () -> Bool) -> Timestamp? {
        let deadline = now + Self.patience
        while isWanted() {
            let now = now
            let (moment, isReady, isOver) = state.withLock { state -> (Timestamp?, Bool, Bool) in
                state.isConsumerWaiting = true
                let moment = state.live.firstMoment(after: now)
                return (moment, state.live.isCaughtUp, state.isClosed || state.ended.contains(.video))
            }
            // While a backlog is decoded, its newest frame does not show how much time there is: the program would
            // begin with a frame that is almost late, and whose audio is not decoded yet.
            if let moment, isReady || isOver || now >= deadline { return moment }
            if isOver { return state.withLock { !$0.live.isEmpty && !$0.isClosed } ? now : nil }
            if now >= deadline { return now }
            _ = news.wait(timeout: .now() + .milliseconds(20))
        }
        return nil
    }
}
