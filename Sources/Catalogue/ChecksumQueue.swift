// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Segmenter
internal import Synchronization

/// Computes checksums one file after the other, slowly: a recording must not wait for a disk that reads for this.
final class ChecksumQueue: Sendable {
    private struct Work {
        var waiting: [String] = []
        var current: (name: String, sum: Checksum)?
        var isScheduled = false
    }

    /// A block of 1 MiB in this time: 33 MB/s, many times what is recorded.
    private static let pause = DispatchTimeInterval.milliseconds(30)

    private let directory: String
    private let queue: DispatchQueue
    private let done: @Sendable (_ name: String, _ bytes: Int64, _ sha256: String) -> Void
    private let isStopped = Atomic(false)
    // Locked by `queue` alone: nobody ever waits for it, whatever the disk does meanwhile.
    private let work = Mutex(Work())

    /// A queue for files of `directory`, which hands each result to `done`.
    init(
        directory: String, channel: String,
        done: @escaping @Sendable (_ name: String, _ bytes: Int64, _ sha256: String) -> Void
    ) {
        self.directory = directory
        self.done = done
        queue = DispatchQueue(label: "relay.checksum.\(channel)", qos: .background)
    }

    /// Queues files. Returns at once.
    func add(_ names: [String]) {
        guard !names.isEmpty else { return }
        queue.async {
            self.work.withLock { work in
                work.waiting += names.filter { !work.waiting.contains($0) && work.current?.name != $0 }
            }
            self.schedule()
        }
    }

    /// Computes nothing more. What is not done is found again at the next start.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    private func schedule() {
        let isNew = work.withLock { work in
            defer { work.isScheduled = true }
            return !work.isScheduled
        }
        if isNew { queue.asyncAfter(deadline: .now() + Self.pause) { self.step() } }
    }

    private func step() {
        guard !isStopped.load(ordering: .relaxed) else { return }
        let goesOn = work.withLock { work in
            work.isScheduled = false
            advance(&work)
            return work.current != nil || !work.waiting.isEmpty
        }
        if goesOn { schedule() }
    }

    /// A file that cannot be read is left out: `verify` says so.
    private func advance(_ work: inout Work) {
        if work.current == nil, !work.waiting.isEmpty {
            let name = work.waiting.removeFirst()
            work.current = (try? Checksum("\(directory)/\(name)")).map { (name, $0) }
        }
        guard let (name, unfinished) = work.current else { return }
        var sum = unfinished
        work.current = nil
        guard let hasMore = try? sum.step() else { return }
        if hasMore {
            work.current = (name, sum)
        } else {
            done(name, sum.bytes, sum.text)
        }
    }
}
