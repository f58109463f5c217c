// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Dispatch
internal import Media
internal import Synchronization

/// Makes open files durable on a queue of its own, beside the recorder's, which continues to write meanwhile.
final class FileSynchroniser: Sendable {
    private struct State {
        var isBusy = false
        /// What went wrong, by the files' paths.
        var failures: [String: FileFailure] = [:]
        /// The file whose directory entry is durable.
        var known: String?
        var latency = LatencyHistogram()
    }

    private let queue: DispatchQueue
    private let clock = SystemClock()
    private let state = Mutex(State())
    private let body: @Sendable (FileDescriptor) throws(FileFailure) -> Void

    /// `name` tells queues apart. Tests bring a `body` that fails.
    init(
        name: String,
        body: @escaping @Sendable (FileDescriptor) throws(FileFailure) -> Void = { (file) throws(FileFailure) in
            try file.synchronise()
        }
    ) {
        queue = DispatchQueue(label: "relay.recorder.\(name).sync", qos: .utility)
        self.body = body
    }

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
            try body(file)
            if state.withLock({ $0.known }) != file.path { FileDescriptor.synchroniseDirectory(of: file.path) }
        } catch {
            failure = error
        }
        let elapsed = clock.now - began
        state.withLock { state in
            state.isBusy = false
            if let failure { state.failures[file.path] = failure }
            state.known = file.path
            state.latency.record(elapsed)
        }
    }

    /// What went wrong with the file `path` so far. Says nothing of others: the disk may have taken those.
    func failure(of path: String) -> FileFailure? { state.withLock { $0.failures[path] } }

    /// Like ``failure(of:)``, and forgets it. The system tells it once, too: closing the file will not say it again.
    func takeFailure(of path: String) -> FileFailure? { state.withLock { $0.failures.removeValue(forKey: path) } }

    /// Waits until what was asked so far is done, which may be long: not on the media's path.
    func waitUntilIdle() { queue.sync {} }
}
