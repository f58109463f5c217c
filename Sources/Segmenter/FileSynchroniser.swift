// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media
internal import Synchronization

/// Makes open files durable on a queue of its own, beside the recorder's, which goes on writing meanwhile.
final class FileSynchroniser: Sendable {
    private struct State {
        var isBusy = false
        var failure: FileFailure?
        /// The file whose directory's entry is durable.
        var known: String?
        var latency = LatencyHistogram()
    }

    private let queue: DispatchQueue
    private let clock = SystemClock()
    private let state = Mutex(State())

    /// `name` tells queues apart.
    init(name: String) { queue = DispatchQueue(label: "relay.recorder.\(name).sync", qos: .utility) }

    /// How long it takes.
    var latency: WriteLatencyStatus { state.withLock { $0.latency.status } }

    /// Makes what is in `file` durable, and its entry in the directory the first time. Returns at once; does nothing
    /// while another call is under way, because a disk that is slow is not made faster by more of them.
    func synchronise(_ file: FileDescriptor) {
        let isFree = state.withLock { state in
            defer { state.isBusy = true }
            return !state.isBusy
        }
        guard isFree else { return }
        queue.async { self.perform(file) }
    }

    private func perform(_ file: FileDescriptor) {
        let began = clock.now
        var failure: FileFailure?
        do throws(FileFailure) {
            try file.synchronise()
            if state.withLock({ $0.known }) != file.path { FileDescriptor.synchroniseDirectory(of: file.path) }
        } catch {
            failure = error
        }
        let elapsed = clock.now - began
        state.withLock { state in
            state.isBusy = false
            state.failure = failure ?? state.failure
            state.known = file.path
            state.latency.record(elapsed)
        }
    }

    /// What went wrong, once. The system tells it once, too: closing the file will not say it again.
    func takeFailure() -> FileFailure? {
        state.withLock { state in
            defer { state.failure = nil }
            return state.failure
        }
    }

    /// Waits until what was asked so far is done; for tests.
    func settle() { queue.sync {} }
}
