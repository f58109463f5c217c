// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import Dispatch
package import Logging
package import Media
internal import Synchronization

/// Watches the disk to which a recorder writes. The guard lets recording begin only if there is enough space, warns
/// before the disk is full, stops the recorder in time, and lets it continue when there is space again.
///
/// The guard checks the disk each second, on its own queue. So a file system that hangs delays nothing else, and the
/// status shows the age of its numbers.
package final class StorageGuard: Sendable {
    private struct State {
        var policy: StoragePolicy
        var measuredAt: MonotonicInstant?
        /// The recording's entry in the ledger.
        var entry: SpaceLedger.Entry?
        /// The directory's generation, which counts the changes of its file system, at the last measurement.
        var generation: Int
    }

    /// The minimum number of further files that the file system must allow (free inodes). It is enough for a minute of
    /// short recordings, with their marks and the files of the catalogue.
    private static let leastFiles: Int64 = 64

    private let directory: RecordDirectory
    private let probe: any FreeSpaceProbe
    private let clock: any MonotonicClock
    private let logger: Logger
    private let control: any RecordingControl
    private let writtenBytes: @Sendable () -> Int64
    private let retained: @Sendable () -> RetentionBalance
    private let makeRoom: @Sendable (StorageBudget) -> Void
    private let room: @Sendable () -> Int64
    private let promised: @Sendable () -> Int64
    private let ledger: SpaceLedger
    private let owner: String
    private let recordings: Int64
    private let queue: DispatchQueue
    private let timer = SecondTimer()
    private let state: Mutex<State>

    /// Creates a guard of `directory` for recordings of `budget`.
    ///
    /// - `writtenBytes` returns the number of bytes that the recorder has written so far.
    /// - `retained` returns what retention has freed and can still free.
    /// - `makeRoom` is called before recording would be refused. It deletes old recordings, and can block on the disk.
    /// - `room` is read after `makeRoom`. It returns how many bytes of old recordings can still be deleted during the
    ///   new recording. Files whose deletion has begun are not counted.
    /// - `promised` returns the bytes that this recording must leave to another recording that is part of the same
    ///   ledger entry.
    /// - `ledger` is shared by all guards whose recordings share a file system.
    /// - `owner` names the guard's entry in the ledger, which replaces the previous entry of the same owner.
    /// - `recordings` is the number of recordings of this size for which the entry counts.
    package init(
        directory: RecordDirectory, budget: StorageBudget, warning: Duration = .seconds(1800),
        control: any RecordingControl, writtenBytes: @escaping @Sendable () -> Int64,
        retained: @escaping @Sendable () -> RetentionBalance = { RetentionBalance() },
        makeRoom: @escaping @Sendable (StorageBudget) -> Void = { _ in },
        room: @escaping @Sendable () -> Int64 = { 0 }, promised: @escaping @Sendable () -> Int64 = { 0 },
        ledger: SpaceLedger = SpaceLedger(),
        owner: String = "", recordings: Int = 1,
        probe: any FreeSpaceProbe = SystemFreeSpace(), clock: any MonotonicClock = SystemClock(), logger: Logger
    ) {
        self.directory = directory
        self.probe = probe
        self.clock = clock
        var logger = logger
        logger[metadataKey: LogKey.event] = "\(EventKind.storage.rawValue)"
        self.logger = logger
        self.control = control
        self.writtenBytes = writtenBytes
        self.retained = retained
        self.makeRoom = makeRoom
        self.room = room
        self.promised = promised
        self.ledger = ledger
        self.owner = owner
        self.recordings = Int64(recordings)
        queue = DispatchQueue(label: "relay.storage.\(directory.path)", qos: .utility)
        let policy = StoragePolicy(directory: directory.path, budget: budget, warning: warning)
        state = Mutex(State(policy: policy, generation: directory.generation))
    }

    // The ledger entry is removed here, because a recording that was set up and never began has an entry, too.
    deinit { release() }

    /// Adapts the guard if the directory's file system was replaced: the new one has another size, and the open file is
    /// not on it.
    private func follow(_ found: Result<DiskSpace, FileFailure>) {
        guard case .success(let space) = found else { return }
        let generation = directory.generation
        let (isOther, isInLedger) = state.withLock { state in
            guard state.generation != generation else { return (false, false) }
            state.generation = generation
            state.policy.move(capacity: space.capacity)
            return (true, state.entry != nil)
        }
        guard isOther else { return }
        if isInLedger { enter(of: found) }
        logger.notice("storage has changed: recordings go to what is mounted at \(directory.path) now")
        control.directoryChanged()
    }

    /// Measures free space. A mount point without its disk counts as a failure: the file system around the mount point
    /// might have enough space, but is the wrong one.
    private func measure() -> StoragePolicy.Measurement {
        let found = look()
        follow(found)
        return measurement(found)
    }

    private func look() -> Result<DiskSpace, FileFailure> {
        Result { () throws(FileFailure) in
            try directory.checkMount()
            return try probe.space(at: directory.path)
        }
    }

    /// Converts `found`, the result of asking the file system, to a measurement. A file system on which no more files
    /// can be created counts as a failure, however many bytes are free.
    private func measurement(_ found: Result<DiskSpace, FileFailure>) -> StoragePolicy.Measurement {
        switch found {
        case .success(let space):
            if let files = space.freeFiles, files < Self.leastFiles {
                return .failed("\(directory.path) has room for only \(files) more files (inodes)")
            }
            return .free(space.free)
        case .failure(let failure): return .failed(failure.description)
        }
    }

    /// Determines whether there is space for the whole recording, or whether space can be made by deleting. If not,
    /// suspends the recorder; the caller must report the refusal. Blocks as long as the file system does, so it must be
    /// called before the program goes on air.
    package func admit() -> StorageAdmission {
        let admission = decide()
        if !admission.isAdmitted { control.suspend(admission.sentence) }
        return admission
    }

    /// Decides on admission. Nothing is deleted if there is enough space.
    private func decide() -> StorageAdmission {
        let found = look()
        follow(found)
        enter(of: found)
        var admission = decide(measurement(found), deletable: 0)
        if !admission.isAdmitted, case .success = found {
            makeRoom(state.withLock { $0.policy.budget })
            // Free space is measured before `room` is read. In this order, a file that is deleted between the two calls
            // can be missing from both numbers, but is never counted in both.
            let measurement = measure()
            admission = decide(measurement, deletable: room())
        }
        if !admission.isAdmitted { release() }
        return admission
    }

    /// Adds an entry to the ledger, after all earlier entries. Only earlier entries count for an admission. So if two
    /// recordings begin at the same time, the first one is not refused because of the second one.
    private func enter(of found: Result<DiskSpace, FileFailure>) {
        release()
        guard case .success(let space) = found else { return }
        let budget = state.withLock { $0.policy.budget }
        let entry = ledger.enter(on: space.fileSystem, of: owner) { [writtenBytes, recordings] in
            let (bytes, overflow) = budget.bytes(after: writtenBytes()).multipliedReportingOverflow(by: recordings)
            return overflow ? .max : bytes
        }
        let others = ledger.bytes(before: entry)
        state.withLock { state in
            state.entry = entry
            state.policy.budget.neededByOthers = others
        }
    }

    private func release() {
        if let entry = state.withLock({ $0.entry.take() }) { ledger.release(entry) }
    }

    private func decide(_ measurement: StoragePolicy.Measurement, deletable: Int64) -> StorageAdmission {
        state.withLock { state in
            state.measuredAt = clock.now
            return state.policy.admit(measurement, deletable: deletable, now: clock.now)
        }
    }

    /// Starts checking each second.
    package func start() { timer.start(on: queue, leeway: .milliseconds(100)) { [weak self] in self?.check() } }

    /// Stops checking, and removes the entry from the ledger.
    package func stop() {
        timer.stop()
        release()
    }

    /// Checks once. The timer calls this method on the guard's queue.
    func check() {
        let measurement = measure()
        let (written, retained, promised) = (writtenBytes(), retained(), promised())
        let (before, actions, isAdmissionDue) = state.withLock { state in
            let before = state.policy.state
            if case .free = measurement { state.measuredAt = clock.now }
            let actions = state.policy.update(
                measurement, written: written, retained: retained, promised: promised, now: clock.now)
            return (before, actions, state.policy.isAdmissionDue(at: clock.now))
        }
        for action in actions {
            switch action {
            case .suspend(let reason): control.suspend(reason)
            case .resume: control.resume()
            }
        }
        if isAdmissionDue, decide().isAdmitted { control.resume() }
        let policy = state.withLock { $0.policy }
        if policy.state != before { report(policy) }
    }

    private func report(_ policy: StoragePolicy) {
        let room = "\(ByteSize(bytes: policy.freeBytes)) free in \(directory.path)"
        let left = DurationText(.seconds(Int64(min(policy.secondsUntilFull ?? 0, 1e9))))
        switch policy.state {
        case .ok: logger.notice("storage is well again: \(room)")
        case .warning: logger.warning("storage runs short: \(room), full in about \(left)")
        case .critical: logger.error("storage is nearly full: \(room), recording stops in about \(left)")
        case .stopped: logger.error("storage stopped the recording: \(policy.reason ?? "")")
        case .refused: logger.error("recording refused: \(policy.reason ?? "")")
        }
    }

    /// A snapshot for status and metrics.
    package var status: StorageStatus {
        state.withLock { state in
            StorageStatus(
                state: state.policy.state, freeBytes: state.policy.freeBytes,
                requiredBytes: state.policy.budget.requiredBytes, reserveBytes: state.policy.budget.reserveBytes,
                reclaimableBytes: state.policy.reclaimableBytes,
                secondsUntilFull: state.policy.secondsUntilFull, directory: directory.path, reason: state.policy.reason,
                ageSeconds: state.measuredAt.map { (clock.now - $0).inSeconds } ?? 0)
        }
    }
}
