// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import Dispatch
package import Logging
package import Media
internal import Synchronization

/// Deletes the oldest finished files of one channel when the rules require it. It runs on its own queue of low
/// priority, so that media never wait for it. The storage guard waits for it only in ``makeRoom(for:)``.
///
/// Free space is checked each second. The files are checked only if there is too little free space, if a file was just
/// finished, or if the last check was a minute ago. The first check lists the directory. Each further check reads the
/// files that the recorder reported, and a bounded number of others in turn (``SegmentInventory``). So a check costs
/// the same in an archive of 50,000 files as in one of 500.
package final class Retention: RecordingObserver {
    private struct State {
        var policy: RetentionPolicy
        var status = RetentionStatus()
        var nextSweep = MonotonicInstant.distantPast
        /// Whether the last check of the files found nothing to delete, although space was needed.
        var isVain = false
        /// Whether, at the last check of the files, space was needed so that the recording can continue, and not only
        /// because of a rule.
        var wasUrgent = false
        /// The files of the channel; nil until the directory was listed, and while the inventory is being updated.
        var inventory: SegmentInventory?
        /// Files that were opened or closed, or could not be deleted, since the inventory was last updated.
        var changed: Set<String> = []
        /// The answers of the vetoes so far.
        var answers = VetoAnswers()
        /// Files that could not be deleted. They are skipped until `nextRetry`, so that the next oldest files are
        /// deleted instead.
        var undeletable: Set<String> = []
        var nextRetry = MonotonicInstant.distantPast
        /// Why the directory cannot be read; nil if it can.
        var failure: String?
        /// The reasons why files could not be deleted, so that each reason is logged once.
        var reported: Set<String> = []
        /// Whether files are being deleted for a recording that is about to begin.
        var isMakingRoom = false
        /// Bytes of the files that can be deleted during the recording for which ``makeRoom(for:)`` was last called;
        /// nil before its first call.
        var room: Int64?
        var isStopped = false
        /// Files that ended in this run. Their age is known even if the clock was set before.
        var own: Set<String> = []
        /// Files that were completed in this run after a crash or a failure of the disk.
        var recovered: Set<String> = []
        /// The ``RecordDirectory/generation`` of the disk from which the ``RememberedClock`` was read.
        var recalled: Int?
        /// Whether the ``RememberedClock`` could not be written, which is logged once.
        var isForgetful = false
    }

    private let directory: RecordDirectory
    private let channel: String
    private let vetoes: [any RetentionVeto]
    private let observers: [any RecordingObserver]
    private let probe: any FreeSpaceProbe
    private let clock: any MonotonicClock
    private let wallClock: @Sendable () -> UTCTime
    private let isConfirmed: @Sendable (UTCTime) -> Bool
    private let newestRow: @Sendable () -> UTCTime?
    private let logger: Logger
    private let startLimit: Duration
    private let leastFreeOf: (@Sendable (_ capacity: Int64) -> Int64)?
    private let queue: DispatchQueue
    private let timer = SecondTimer()
    private let state: Mutex<State>

    private static let sweepInterval: Duration = .seconds(60)
    /// After this time, files that could not be deleted are tried again.
    private static let retryInterval: Duration = .seconds(600)
    /// The maximum number of different failures that are remembered.
    private static let mostReported = 100

    /// Creates the retention of the files of `channel` in `directory`, with these `rules`.
    ///
    /// - `leastFree` is the free space, in bytes, at which the storage guard is about to stop the recording.
    ///   `leastFreeOf` computes it again if another disk is mounted in place of the first.
    /// - `observers` are informed of deleted files.
    /// - `startLimit` is the maximum time for which the start of a recording waits for files to be deleted.
    /// - `isConfirmed` returns whether a time server confirms the time of `wallClock`; nil means that the operating
    ///   system is asked.
    /// - `newestRow` returns when the newest file in the catalogue ended. It is called only if no earlier run has left
    ///   a ``RememberedClock``.
    package init(
        directory: RecordDirectory, channel: String, rules: RetentionRules, leastFree: Int64,
        vetoes: [any RetentionVeto] = [], observers: [any RecordingObserver] = [],
        probe: any FreeSpaceProbe = SystemFreeSpace(), clock: any MonotonicClock = SystemClock(),
        wallClock: @escaping @Sendable () -> UTCTime = { .now }, startLimit: Duration = .seconds(5),
        leastFreeOf: (@Sendable (_ capacity: Int64) -> Int64)? = nil, isConfirmed: (@Sendable (UTCTime) -> Bool)? = nil,
        newestRow: @escaping @Sendable () -> UTCTime? = { nil }, logger: Logger
    ) {
        self.startLimit = startLimit
        self.leastFreeOf = leastFreeOf
        self.directory = directory
        self.channel = channel
        self.vetoes = vetoes
        self.observers = observers
        self.probe = probe
        self.clock = clock
        self.wallClock = wallClock
        self.isConfirmed = isConfirmed ?? ConfirmedClock.confirms
        self.newestRow = newestRow
        self.logger = logger
        queue = DispatchQueue(label: "relay.retention.\(SegmentName.safe(channel))", qos: .background)
        state = Mutex(State(policy: RetentionPolicy(rules: rules, leastFree: leastFree)))
    }

    /// Starts checking each second.
    package func start() { timer.start(on: queue, leeway: .milliseconds(200)) { [weak self] in self?.check() } }

    /// Stops checking.
    package func stop() {
        timer.stop()
        state.withLock { $0.isStopped = true }
    }

    package func segmentOpened(fileName: String) { state.withLock { _ = $0.changed.insert(fileName) } }
    package func segmentFinished(_ record: SegmentRecord) {
        state.withLock { state in
            state.nextSweep = .distantPast
            state.own.insert(record.fileName)
            state.changed.insert(record.fileName)
        }
    }
    package func segmentRecovered(fileName: String) {
        state.withLock { state in
            state.recovered.insert(fileName)
            state.nextSweep = .distantPast
            state.changed.insert(fileName)
        }
    }
    package func gapEnded(_ gap: RecordingGap, channel: String, start: UTCTime) {}

    /// Returns the files of the channel, the clocks and `space`, as the policy needs them.
    private func look(_ space: DiskSpace? = nil) throws(FileFailure) -> RetentionPolicy.Look {
        recall()
        let before = state.withLock { $0.own.union($0.recovered) }
        let segments = try segments()
        let gone = before.subtracting(segments.map(\.fileName))
        let (undeletable, own, recovered) = state.withLock { state in
            state.own.subtract(gone)
            state.recovered.subtract(gone)
            return (state.undeletable, state.own, state.recovered)
        }
        let wallClock = wallClock()
        return RetentionPolicy.Look(
            segments: segments, undeletable: undeletable, wallClock: wallClock, now: clock.now, space: space,
            isConfirmed: isConfirmed(wallClock), own: own, recovered: recovered)
    }

    /// Reads the ``RememberedClock`` of the previous run from a disk when the disk is first seen. A disk can be mounted
    /// after the start, or in place of another disk.
    private func recall() {
        let generation = directory.generation
        guard state.withLock({ $0.recalled != generation }) else { return }
        let memory = RememberedClock.read(of: channel, in: directory)
        let row = memory == nil ? newestRow() : nil
        state.withLock { state in
            state.policy.recall(memory, newestRow: row)
            state.recalled = generation
            (state.inventory, state.answers, state.nextRetry) = (nil, VetoAnswers(), .distantPast)
        }
    }

    /// Whether all vetoes allow the finished file `fileName` to be deleted.
    private func mayDelete(_ fileName: String) -> Bool { vetoes.allSatisfy { $0.mayDelete(fileName) } }

    /// Returns the files of the channel, including those with names of earlier templates.
    private func segments() throws(FileFailure) -> [StoredSegment] {
        let now = clock.now
        // The inventory is taken out of `state` while it is updated. If the directory cannot be read now, the inventory
        // is lost, and the next call of this method lists the directory again.
        let changed = state.withLock { state in
            if now >= state.nextRetry {
                state.undeletable = []
                state.nextRetry = now + Self.retryInterval
            }
            defer { state.changed = [] }
            return state.changed
        }
        var inventory = state.withLock { state in
            defer { state.inventory = nil }
            return state.inventory
        }
        if inventory == nil {
            inventory = try SegmentInventory(of: channel, in: directory)
        } else {
            try inventory?.update(changed)
        }
        state.withLock { [inventory] in $0.inventory = inventory }
        return inventory?.segments ?? []
    }

    /// How much was read to update the inventory since the directory was listed, and how often the vetoes were asked;
    /// for tests.
    var work: (read: SegmentInventory.Work, asked: Int) {
        state.withLock { ($0.inventory?.work ?? SegmentInventory.Work(), $0.answers.asked) }
    }

    /// Checks once, and deletes the files that are due. The timer calls this method on retention's queue. If
    /// ``start()`` is not used, the owner calls this method, on one thread at a time. Blocks on the disk.
    package func check() {
        do throws(FileFailure) {
            // This throws if the disk of the recordings is not mounted; nothing is deleted then.
            try directory.checkMount()
            let space = try measure()
            let now = clock.now
            if isDue(space, now) { try sweep(space, now) }
            state.withLock { $0.failure = nil }
        } catch {
            let isNews = state.withLock { state in
                defer { state.failure = error.description }
                return state.failure != error.description
            }
            if isNews { warn(error.description) }
        }
    }

    private func isDue(_ space: DiskSpace?, _ now: MonotonicInstant) -> Bool {
        state.withLock { state in
            let wantsRoom = space.map { state.policy.wantsRoom($0, now: now) } ?? false
            let isUrgent = space.map(state.policy.isUrgent) ?? false
            let isVain = state.isVain && (state.wasUrgent || !isUrgent)
            guard now >= state.nextSweep || (wantsRoom && !isVain) else { return false }
            state.wasUrgent = isUrgent
            state.nextSweep = now + Self.sweepInterval
            return true
        }
    }

    private func measure() throws(FileFailure) -> DiskSpace? {
        guard state.withLock({ $0.policy.rules.minimumFree != nil }) else { return nil }
        let space = try probe.space(at: directory.path)
        if let leastFreeOf { state.withLock { $0.policy.leastFree = leastFreeOf(space.capacity) } }
        return space
    }

    private func sweep(_ space: DiskSpace?, _ now: MonotonicInstant) throws(FileFailure) {
        let generation = directory.generation
        let look = try look(space)
        // No lock is held while the vetoes are asked, because a veto can take long to answer. No other thread changes
        // the policy in the meantime.
        var (policy, answers) = state.withLock { ($0.policy, $0.answers) }
        answers.begin()
        var plan = policy.plan(look) { answers.mayDelete($0.fileName, mayDelete) }
        answers.end()
        plan.problem = plan.problem ?? vetoes.lazy.compactMap(\.problem).first
        var gone: [RetentionPolicy.Deletion] = []
        for deletion in plan.deletions {
            let name = deletion.segment.fileName
            let isAllowed = answers.renew(name, mayDelete)
            // The vetoes can have answered for the disk that was mounted before, which does not need this file. An answer
            // can take long, so the disk is checked after it.
            try directory.checkMount()
            guard directory.generation == generation else { return }
            guard isAllowed else {
                plan.heldFiles += 1
                continue
            }
            guard delete(deletion) else { continue }
            answers.forget(name)
            gone.append(deletion)
        }
        if let space, gone.contains(where: { $0.rule == .free }) {
            policy.deleted(gone.reduce(0) { $0 + $1.segment.bytes }, from: space, now: now)
        }
        let names = Set(gone.map(\.segment.fileName))
        let left = look.segments.filter { !names.contains($0.fileName) }
        publish(plan, policy, left, isVain: plan.wantsRoom && plan.deletions.isEmpty)
        state.withLock { [answers] in $0.answers = answers }
        remember(policy.memory(look))
    }

    /// Writes to the disk what the next run must know about the system clock: whether its time can be trusted.
    private func remember(_ memory: RememberedClock) {
        do throws(FileFailure) {
            try memory.write(of: channel, in: directory)
            state.withLock { $0.isForgetful = false }
        } catch {
            let isNews = state.withLock { state in
                defer { state.isForgetful = true }
                return !state.isForgetful
            }
            if isNews { logger.warning("what is known of the wall clock is not remembered: \(error)") }
        }
    }

    private func publish(
        _ plan: RetentionPolicy.Plan, _ policy: RetentionPolicy, _ left: [StoredSegment], isVain: Bool
    ) {
        let finished = left.filter(\.isFinished)
        let isNews = state.withLock { state in
            let isNews = plan.problem != state.status.problem
            state.policy = policy
            state.isVain = isVain
            state.status.files = finished.count
            state.status.bytes = left.reduce(0) { $0 + $1.bytes }
            state.status.oldest = finished.first?.ended
            state.status.heldFiles = plan.heldFiles
            state.status.reclaimableBytes = plan.reclaimableBytes
            state.status.roomBytes = plan.room
            state.status.problem = plan.problem
            return isNews
        }
        if isNews, let problem = plan.problem { warn(problem) }
    }

    private func warn(_ text: String) { logger.warning("old recordings are not deleted: \(text)") }

    /// Deletes one file; returns false if the file still exists.
    private func delete(_ deletion: RetentionPolicy.Deletion) -> Bool {
        let segment = deletion.segment
        // From now on the file does not count as deletable, even if the deletion fails. `room` must shrink before the
        // file's space becomes free.
        state.withLock { state in state.room = state.room.map { max(0, $0 - segment.bytes) } }
        do throws(FileFailure) {
            // The file is not deleted if its attributes differ from those that were read for the plan, because a
            // younger file might have replaced it since then.
            let current = directory.segment(segment.fileName, sequence: segment.sequence)
            guard current == nil || current == segment, try directory.delete(segment, of: channel) else {
                state.withLock { state in
                    state.undeletable.insert(segment.fileName)
                    // The next update of the inventory finds out whether the file is already gone, or has changed.
                    state.changed.insert(segment.fileName)
                }
                return false
            }
        } catch {
            state.withLock { state in
                state.undeletable.insert(segment.fileName)
                // The file belongs to another channel and is not counted from now on.
                if error.code == 0 { state.inventory?.disown(segment) }
            }
            // If nothing can be deleted on a disk, this is logged once, not once per file.
            let kind = error.code == 0 ? error.description : error.text
            let isNews = state.withLock { $0.reported.count < Self.mostReported && $0.reported.insert(kind).inserted }
            if isNews { warn(error.description) }
            return false
        }
        state.withLock { state in
            state.inventory?.remove(segment.fileName)
            state.status.deletedFiles += 1
            state.status.deletedBytes += segment.bytes
        }
        logger.info(
            "segment deleted: \(reason(deletion.rule))",
            metadata: ["segment": "\(segment.fileName)", "bytes": "\(segment.bytes)"])
        for observer in observers { observer.segmentDeleted(fileName: segment.fileName) }
        return true
    }

    private func reason(_ rule: RetentionRule) -> String {
        let rules = state.withLock { $0.policy.rules }
        switch rule {
        case .age: return "older than \(DurationText(rules.maximumAge ?? .zero))"
        case .size: return "the recordings take more than \(ByteSize(bytes: rules.maximumBytes ?? 0))"
        case .free:
            return "less than \(rules.minimumFree?.description ?? "") of the disk is free, or the reserve is near"
        }
    }

    /// The space that retention has freed so far and can still free.
    package var balance: RetentionBalance {
        state.withLock {
            RetentionBalance(deletedBytes: $0.status.deletedBytes, reclaimableBytes: $0.status.reclaimableBytes)
        }
    }

    /// A snapshot for status and metrics.
    package var status: RetentionStatus { state.withLock { $0.status } }
}

// MARK: Room

/// The space that retention makes for a recording that begins.
extension Retention {
    /// Deletes at once what the rules require, and computes ``room``: the amount that can be deleted during a recording
    /// of `budget`. The start of the recording waits only for a limited time. If the deletion takes longer, it
    /// continues while the program runs; files that are not deleted yet count as files that can be deleted. Waits until
    /// the directory was read and the vetoes have answered. Does nothing if the deletion of an earlier call still
    /// continues. Must not be called on retention's queue.
    package func makeRoom(for budget: StorageBudget) {
        let isUnderWay = state.withLock { state in
            defer { state.isMakingRoom = true }
            return state.isMakingRoom
        }
        if !isUnderWay {
            let deadline = DispatchTime.now() + .nanoseconds(Int(clamping: startLimit.inNanoseconds))
            let look = DispatchWorkItem(qos: .userInitiated, flags: .enforceQoS) { self.updateRoom(budget) }
            let deletion = DispatchWorkItem(qos: .userInitiated, flags: .enforceQoS) { self.deleteDue(budget) }
            queue.async(execute: look)
            queue.async(execute: deletion)
            // The amount that can be deleted must be known, however long that takes. The deletion itself need not be
            // finished.
            look.wait()
            _ = deletion.wait(timeout: deadline)
        }
    }

    /// Bytes of the files that can still be deleted during the recording for which ``makeRoom(for:)`` was last called;
    /// 0 before its first call. The file that is being deleted is not included. So a caller that measures free space
    /// first and then reads this number never counts that file twice.
    package var room: Int64 { state.withLock { $0.room ?? 0 } }

    private func updateRoom(_ budget: StorageBudget) {
        let room = deletable(budget)
        state.withLock { $0.room = room }
    }

    /// Deletes all files that are due.
    private func deleteDue(_ budget: StorageBudget) {
        var before: Int
        repeat {
            before = triedFiles
            state.withLock { $0.nextSweep = .distantPast }
            check()
        } while triedFiles > before && !state.withLock { $0.isStopped }
        updateRoom(budget)
        state.withLock { $0.isMakingRoom = false }
    }

    /// The number of files that were deleted or could not be deleted.
    private var triedFiles: Int { state.withLock { $0.status.deletedFiles + $0.undeletable.count } }

    private func deletable(_ budget: StorageBudget) -> Int64 {
        guard (try? directory.checkMount()) != nil, let look = try? look() else { return 0 }
        var (policy, answers) = state.withLock { ($0.policy, $0.answers) }
        let bytes = policy.deletable(look, during: budget) { answers.renew($0.fileName, mayDelete) }
        state.withLock { [policy, answers] state in (state.policy, state.answers) = (policy, answers) }
        return bytes
    }
}
