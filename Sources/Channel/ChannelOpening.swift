// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The opening of a channel, which blocks until the channel's inputs answer. Another thread can cancel it.
package final class ChannelOpening: Sendable {
    private struct State {
        var works: [@Sendable () -> Void] = []
        var isCancelled = false
        var isOver = false
    }

    private let state = Mutex(State())

    /// Creates the state of an opening that is in progress.
    package init() {}

    /// Calls `work` when the opening is cancelled, or at once if it was cancelled already.
    func whenCancelled(_ work: @escaping @Sendable () -> Void) {
        let isCancelled = state.withLock { state in
            if !state.isCancelled, !state.isOver { state.works.append(work) }
            return state.isCancelled
        }
        if isCancelled { work() }
    }

    /// Ends the opening because the channel is open: a later cancellation has no effect.
    package func finish() {
        state.withLock { state in
            state.isOver = true
            state.works = []
        }
    }

    /// Cancels the opening: threads that are blocked on an input return with an error. Returns at once; a second call
    /// has no effect.
    package func cancel() {
        let works = state.withLock { state in
            if !state.isOver { state.isCancelled = true }
            defer { state.works = [] }
            return state.works
        }
        for work in works { work() }
    }
}
