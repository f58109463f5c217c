// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Dispatch
internal import Synchronization

/// Computes checksums of one file after the other. It reads slowly, so that a recording never has to wait because the
/// disk is busy with these reads. Queues whose files are on the same disk take turns, one file each (``DiskTurns``).
final class ChecksumQueue: Sendable {
    private struct Work {
        /// The names of the files whose checksums are not computed yet. The next file is the last one of the list.
        var waiting: [String] = []
        var names: Set<String> = []
        /// The file that is being read, and the disk that was mounted before the file was opened.
        var current: (name: String, disk: DiskIdentity, sum: Checksum)?
        var isScheduled = false
        /// The device number of the disk for which the queue has its turn, or waits for it; nil if it does neither.
        var disk: UInt64?
    }

    /// The pause after each block of 1 MiB, which limits reading from a disk to 35 MB/s: many times the rate of
    /// recording.
    private static let pause = DispatchTimeInterval.milliseconds(30)
    /// How often the queue checks whether a missing disk is mounted again.
    private static let absence = DispatchTimeInterval.seconds(10)

    private let directory: RecordDirectory
    private let turns: DiskTurns
    private let queue: DispatchQueue
    private let done: @Sendable (_ name: String, _ bytes: Int64, _ sha256: String, _ disk: DiskIdentity) -> Void
    private let isStopped = Atomic(false)
    // Only `queue` locks this mutex, so no other thread ever waits for it, even if the disk hangs.
    private let work = Mutex(Work())

    /// A queue for files of `directory`, which passes each result to `done` with the disk to which it applies.
    init(
        directory: RecordDirectory, channel: String, turns: DiskTurns = .shared,
        done: @escaping @Sendable (_ name: String, _ bytes: Int64, _ sha256: String, _ disk: DiskIdentity) -> Void
    ) {
        self.directory = directory
        self.turns = turns
        self.done = done
        queue = DispatchQueue(label: "relay.checksum.\(channel)", qos: .background)
    }

    deinit {
        if let disk = work.withLock({ $0.disk }) { turns.leave(disk, self) }
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

    /// Stops the queue. The checksums that are still missing are computed after the next start.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    private func schedule(_ pause: DispatchTimeInterval) {
        let isNew = work.withLock { work in
            defer { work.isScheduled = true }
            return !work.isScheduled
        }
        // The closure has only a weak reference to this object. Therefore this object is freed when its owner frees it,
        // even if its disk never comes back.
        if isNew { queue.asyncAfter(deadline: .now() + pause) { [weak self] in self?.step() } }
    }

    private func step() {
        let pause: DispatchTimeInterval? = work.withLock { work in
            work.isScheduled = false
            guard !isStopped.load(ordering: .relaxed) else {
                endTurn(&work)
                return nil
            }
            guard (try? directory.checkMount()) != nil else {
                letGo(&work)
                endTurn(&work)
                return work.waiting.isEmpty ? nil : Self.absence
            }
            // A file of this name on another disk can have other bytes.
            if let current = work.current, current.disk != directory.disk { letGo(&work) }
            // Without its turn, this queue reads nothing. `DiskTurns` wakes it when its turn comes.
            guard hasTurn(&work) else { return nil }
            advance(&work)
            if work.current == nil {
                // The queue asks for its next turn at once, because a queue that asks later would get fewer turns than
                // the other queues of its disk.
                endTurn(&work)
                guard hasTurn(&work) else { return nil }
            }
            return work.current == nil && work.waiting.isEmpty ? nil : Self.pause
        }
        if let pause { schedule(pause) }
    }

    /// Whether this queue may read now. The turn lasts until the current file is read.
    private func hasTurn(_ work: inout Work) -> Bool {
        if work.current != nil || work.waiting.isEmpty { return true }
        guard let disk = FileStatus(directory.path)?.device else { return true }
        if work.disk != disk { endTurn(&work) }
        work.disk = disk
        return turns.take(disk, for: self) { [weak self] in self?.wake() }
    }

    private func endTurn(_ work: inout Work) {
        if let disk = work.disk { turns.leave(disk, self) }
        work.disk = nil
    }

    private func wake() { queue.async { self.schedule(Self.pause) } }

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
            // A checksum of a file of another disk, which is mounted just now, is told of the earlier disk, and so dropped.
            let disk = directory.disk
            work.current = (try? Checksum("\(directory.path)/\(name)")).map { (name, disk, $0) }
        }
        guard let (name, disk, unfinished) = work.current else { return }
        var sum = unfinished
        work.current = nil
        guard let hasMore = try? sum.step() else { return }
        if hasMore {
            work.current = (name, disk, sum)
        } else {
            done(name, sum.bytes, sum.finish(), disk)
        }
    }
}
