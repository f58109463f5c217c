// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Dispatch
internal import Media
internal import Synchronization

/// Makes open files durable (fsync) on its own queue, while the recorder continues to write.
final class FileSynchroniser: Sendable {
    private struct State {
        var isBusy = false
        /// The failures of making files durable, by file path.
        var failures: [String: FileFailure] = [:]
        /// The path of the file for which a request was served last, successfully or not.
        var known: String?
        var latency = LatencyHistogram()
    }

    private let queue: DispatchQueue
    private let clock = SystemClock()
    private let state = Mutex(State())
    private let body: @Sendable (FileDescriptor) throws(FileFailure) -> Void

    /// Creates a synchroniser whose queue is named after `name`. Tests inject a `body` that fails.
    init(
        name: String,
        body: @escaping @Sendable (FileDescriptor) throws(FileFailure) -> Void = { (file) throws(FileFailure) in
            try file.synchronise()
        }
    ) {
        queue = DispatchQueue(label: "relay.recorder.\(name).sync", qos: .utility)
        self.body = body
    }

    /// How long it takes to make a file durable, including its directory entry.
    var latency: WriteLatencyStatus { state.withLock { $0.latency.status } }

    /// Makes the contents of `file` durable; at the first call for a file, also its directory entry. Returns at once.
    /// Does nothing while an earlier request is being served, because more requests do not make a slow disk faster.
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
            if let failure { state.failures[file.path] = failure } else { state.known = file.path }
            state.latency.record(elapsed)
        }
    }

    /// Returns the error with which making the file at `path` durable has failed; nil if it has not failed. The error
    /// concerns only this file: other files might have been stored correctly.
    func failure(of path: String) -> FileFailure? { state.withLock { $0.failures[path] } }

    /// Returns the same failure as ``failure(of:)``, and removes it. The operating system also reports such a failure
    /// only once: closing the file does not report it again.
    func takeFailure(of path: String) -> FileFailure? { state.withLock { $0.failures.removeValue(forKey: path) } }

    /// Waits until all requested work is done. The wait can be long, so it must not happen on a thread that media
    /// depends on.
    func waitUntilIdle() { queue.sync {} }
}
