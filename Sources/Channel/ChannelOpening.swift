// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The opening of a channel, which waits for its inputs and may be given up by another thread.
package final class ChannelOpening: Sendable {
    private struct State {
        var works: [@Sendable () -> Void] = []
        var isCancelled = false
        var isOver = false
    }

    private let state = Mutex(State())

    /// An opening that has begun.
    package init() {}

    /// Does something when the opening is given up, or at once if it was.
    func whenCancelled(_ work: @escaping @Sendable () -> Void) {
        let isCancelled = state.withLock { state in
            if !state.isCancelled, !state.isOver { state.works.append(work) }
            return state.isCancelled
        }
        if isCancelled { work() }
    }

    /// The channel is open: nothing is to be given up any more.
    package func finish() {
        state.withLock { state in
            state.isOver = true
            state.works = []
        }
    }

    /// Gives the opening up: what waits for an input ends with an error. Returns at once; again is nothing.
    package func cancel() {
        let works = state.withLock { state in
            state.isCancelled = true
            defer { state.works = [] }
            return state.works
        }
        for work in works { work() }
    }
}
