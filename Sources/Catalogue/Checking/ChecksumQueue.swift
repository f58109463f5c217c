// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Dispatch
internal import Synchronization

/// Computes checksums of one file after the other. It reads slowly, so that a recording never has to wait because the
/// disk is busy with these reads.
final class ChecksumQueue: Sendable {
    private struct Work {
        /// The files that wait, the next one last.
        var waiting: [String] = []
        var names: Set<String> = []
        var current: (name: String, sum: Checksum)?
        var isScheduled = false
    }

    /// The pause after each block of 1 MiB, which limits reading to 33 MB/s: many times the rate of recording.
    private static let pause = DispatchTimeInterval.milliseconds(30)
    /// How often the queue checks whether a missing disk is mounted again.
    private static let absence = DispatchTimeInterval.seconds(10)

    private let directory: RecordDirectory
    private let queue: DispatchQueue
    private let done: @Sendable (_ name: String, _ bytes: Int64, _ sha256: String) -> Void
    private let isStopped = Atomic(false)
    // Only `queue` locks it, so no other thread ever waits for it, even if the disk hangs.
    private let work = Mutex(Work())

    /// A queue for files of `directory`, which passes each result to `done`.
    init(
        directory: RecordDirectory, channel: String,
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
                let new = names.filter { $0 != work.current?.name && work.names.insert($0).inserted }
                work.waiting.insert(contentsOf: new.reversed(), at: 0)
            }
            self.schedule(Self.pause)
        }
    }

    /// Stops. The missing checksums are computed after the next start.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    private func schedule(_ pause: DispatchTimeInterval) {
        let isNew = work.withLock { work in
            defer { work.isScheduled = true }
            return !work.isScheduled
        }
        if isNew { queue.asyncAfter(deadline: .now() + pause) { self.step() } }
    }

    private func step() {
        guard !isStopped.load(ordering: .relaxed) else { return }
        let pause: DispatchTimeInterval? = work.withLock { work in
            work.isScheduled = false
            let isThere = (try? directory.checkMount()) != nil
            if isThere { advance(&work) } else { letGo(&work) }
            let isDone = work.current == nil && work.waiting.isEmpty
            return isDone ? nil : isThere ? Self.pause : Self.absence
        }
        if let pause { schedule(pause) }
    }

    /// Closes the current file, because an operator might want to unmount the file system, which an open file keeps
    /// busy.
    private func letGo(_ work: inout Work) {
        guard let name = work.current?.name else { return }
        work.current = nil
        if work.names.insert(name).inserted { work.waiting.append(name) }
    }

    /// Reads one block. A file that cannot be read is skipped: `verify` reports it.
    private func advance(_ work: inout Work) {
        if work.current == nil, let name = work.waiting.popLast() {
            work.names.remove(name)
            work.current = (try? Checksum("\(directory.path)/\(name)")).map { (name, $0) }
        }
        guard let (name, unfinished) = work.current else { return }
        var sum = unfinished
        work.current = nil
        guard let hasMore = try? sum.step() else { return }
        if hasMore {
            work.current = (name, sum)
        } else {
            done(name, sum.bytes, sum.finish())
        }
    }
}
