// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Media

/// Decides which files are deleted. Pure: it turns the state of files and clocks into a plan, without I/O.
struct RetentionPolicy {
    /// The files, the clocks and the free space at one moment.
    struct Look {
        /// All files of the channel, the oldest first.
        var segments: [StoredSegment]
        /// The names of files that could not be deleted; other files are deleted instead of them.
        var undeletable: Set<String> = []
        /// The wall clock, by which files are dated.
        var wallClock: UTCTime
        /// The clock that never jumps.
        var now: MonotonicInstant
        /// The space of the disk; nil if free space does not matter.
        var space: DiskSpace?
        /// Whether a time server confirms the wall clock.
        var isConfirmed = false
        /// The names of the files that ended in this run of relay.
        var own: Set<String> = []
        /// The names of the files that were completed in this run after a crash. Their dates can be of this run or of
        /// the run that crashed.
        var recovered: Set<String> = []
        /// The names of the files whose dates were implausible, and were corrected by the dates of later files or by
        /// the present time.
        var redated: Set<String> = []

        fileprivate var clocks: ClockTrust.Reading { .init(wall: wallClock, now: now, isConfirmed: isConfirmed) }
    }

    /// The files to delete, and what was found out when they were chosen.
    struct Plan: Equatable {
        var deletions: [Deletion] = []
        /// Bytes of the files that could still be deleted, after these deletions, to free disk space.
        var reclaimableBytes: Int64 = 0
        /// How many more bytes can be on the disk before a limit on the total size, or on the free space, requires the
        /// next deletion; nil without such limits.
        var room: Int64?
        /// Whether files must be deleted because of too little free space, and deleting is likely to help.
        var wantsRoom = false
        /// The number of old files that must not be deleted yet because a veto protects them.
        var heldFiles = 0
        /// Why a limit is exceeded, or why more files are kept than necessary, in words; nil if there is no such
        /// problem.
        var problem: String?
    }

    /// A file to delete, and the limit that requires it.
    struct Deletion: Equatable {
        var segment: StoredSegment
        var rule: RetentionRule
    }

    /// A deletion that was made to free disk space, and whose effect on the free space has not been seen yet.
    private struct Attempt {
        var since: MonotonicInstant
        /// The lowest free space since the deletion. The effect of the deletion is measured from this value, because a
        /// file system can free space late, and data that is written until then lowers the free space.
        var lowest: Int64
        var bytes: Int64
    }

    let rules: RetentionRules
    /// The free bytes below which the storage guard is about to stop the recording. Retention begins to delete before
    /// that.
    var leastFree: Int64
    private var trust: ClockTrust
    /// When the newest file in the catalogue ended. Nil if there is no such file, or if there is a `memory`, which
    /// is more reliable.
    private var newestRow: UTCTime?
    private var attempt: Attempt?
    private var failedAttempts = 0
    private var retryAt = MonotonicInstant.distantPast

    /// The maximum number of files in one plan, because deleting keeps the disk busy.
    private static let mostAtOnce = 100
    /// At most this many bytes, or one file, are deleted to free disk space before the effect is measured.
    private static let freeingStep: Int64 = 256 << 20
    /// How long to wait for a file system to release deleted space (btrfs commits every 30 s).
    private static let freeingTime: Duration = .seconds(60)
    /// The number of consecutive attempts without effect after which no more files are deleted to free disk space:
    /// snapshots or other programs keep the space.
    private static let mostFailedAttempts = 3
    /// The time from the last attempt without effect to the next attempt. Deleting is tried again because snapshots
    /// expire and other programs end.
    private static let retryInterval: Duration = .seconds(600)

    /// Creates a policy of `rules`. `memory` is what the previous run stored about the system clock.
    init(rules: RetentionRules, leastFree: Int64, memory: RememberedClock? = nil) {
        self.rules = rules
        self.leastFree = leastFree
        trust = ClockTrust(rules, memory: memory)
    }

    /// Uses what the previous run stored about the system clock. Must be called before the first plan is made. If the
    /// previous run stored nothing, the time at which it ended is estimated from the newest file or from the
    /// catalogue's `newestRow`.
    mutating func recall(_ memory: RememberedClock?, newestRow: UTCTime?) {
        trust = ClockTrust(rules, memory: memory)
        self.newestRow = newestRow
    }

    /// Returns what the next run must know about the system clock, at the time of `look`.
    func memory(_ look: Look) -> RememberedClock { trust.memory(look.clocks) }

    /// How many bytes of `space` should be free; 0 if files are not deleted to free disk space.
    func goal(of space: DiskSpace) -> Int64 {
        rules.minimumFree.map { max($0.bytes(of: space.capacity), leastFree) } ?? 0
    }

    /// Whether the free space is so low that the recording is about to stop; false if files are not deleted to free
    /// disk space.
    func isUrgent(_ space: DiskSpace) -> Bool { rules.minimumFree != nil && space.free < leastFree }

    /// Whether files must be deleted because of too little free space, and deleting is likely to help.
    mutating func wantsRoom(_ space: DiskSpace, now: MonotonicInstant) -> Bool {
        judge(space, now)
        return space.free < goal(of: space) && attempt == nil && failedAttempts < Self.mostFailedAttempts
    }

    /// Decides which files are deleted now. `mayDelete` is called for each finished file that is old enough.
    mutating func plan(_ look: Look, mayDelete: (StoredSegment) -> Bool) -> Plan {
        var plan = Plan()
        let look = dated(look)
        let old = finished(look, age: max(.zero, rules.minimumAge))
        var candidates = old.filter(mayDelete)[...]
        plan.heldFiles = old.count - candidates.count

        if let limit = rules.maximumAge {
            let expired = candidates.filter { age($0, look, .greatest) > limit }
            candidates = candidates.filter { age($0, look, .greatest) <= limit }[...]
            let looksOlder = { segment in
                segment.isFinished && apparentAge(segment, look) > limit && age(segment, look, .greatest) <= limit
            }
            if look.segments.contains(where: looksOlder) { plan.problem = doubt(look, limit) }
            plan.deletions += expired.map { Deletion(segment: $0, rule: .age) }
        }
        var total = look.segments.reduce(0) { $0 + $1.bytes } - plan.deletions.reduce(0) { $0 + $1.segment.bytes }
        if let limit = rules.maximumBytes {
            while total > limit, let next = candidates.popFirst() {
                total -= next.bytes
                plan.deletions.append(Deletion(segment: next, rule: .size))
            }
            plan.room = limit - total
            if total > limit {
                plan.problem = unkept("a total of \(ByteSize(bytes: limit))")
            }
        }
        if let space = look.space { makeRoom(space, look, &candidates, &plan) }
        plan.deletions.removeLast(max(0, plan.deletions.count - Self.mostAtOnce))
        return plan
    }

    private mutating func makeRoom(
        _ space: DiskSpace, _ look: Look, _ candidates: inout ArraySlice<StoredSegment>, _ plan: inout Plan
    ) {
        plan.wantsRoom = wantsRoom(space, now: look.now)
        guard failedAttempts < Self.mostFailedAttempts else {
            plan.problem = "deleting files frees no space: snapshots or other programs hold it; it is tried each 10 min"
            return
        }
        var freed = plan.deletions.reduce(0) { $0 + $1.segment.bytes }
        let before = freed
        let goal = reachableGoal(of: space, most: Self.sum(space.free, look.segments.reduce(0) { $0 + $1.bytes }))
        while plan.wantsRoom, space.free + freed < goal, freed == before || freed - before < Self.freeingStep,
            let next = candidates.popFirst()
        {
            freed += next.bytes
            plan.deletions.append(Deletion(segment: next, rule: .free))
        }
        plan.reclaimableBytes = candidates.reduce(0) { $0 + $1.bytes }
        if goal > 0 { plan.room = min(plan.room ?? .max, space.free + freed - goal) }
        let wanted = "\(ByteSize(bytes: self.goal(of: space))) of free space"
        if plan.wantsRoom, goal < self.goal(of: space) {
            plan.problem = "\(wanted) cannot be had by deleting: what else is on the disk takes too much of it"
        } else if plan.wantsRoom, candidates.isEmpty, space.free + freed < goal {
            plan.problem = unkept(wanted)
        }
    }

    /// Returns how many bytes should be free, limited to what deleting can achieve. `most` is the space that would be
    /// free if the channel had no files. If other data on the disk makes the rule impossible, recordings are not
    /// deleted for the sake of the rule: they are deleted only as far as the recording needs space to continue. Returns
    /// 0 if even that is impossible.
    private func reachableGoal(of space: DiskSpace, most: Int64) -> Int64 {
        let goal = goal(of: space)
        if goal <= most { return goal }
        return leastFree <= most ? leastFree : 0
    }

    /// Returns the bytes of the files in `look` that can be deleted during a recording of `budget`: either to free disk
    /// space, or because a limit will require their deletion by the end of the recording. `mayDelete` is called for
    /// each finished file that will be old enough by then. Returns 0 if the last attempts to free disk space had no
    /// effect.
    mutating func deletable(_ look: Look, during budget: StorageBudget, mayDelete: (StoredSegment) -> Bool) -> Int64 {
        let look = dated(look)
        guard failedAttempts < Self.mostFailedAttempts else { return 0 }
        let least = max(.zero, rules.minimumAge - budget.duration)
        let candidates = finished(look, age: least).filter(mayDelete)
        let all = candidates.reduce(0) { $0 + $1.bytes }
        guard rules.minimumFree == nil else { return all }
        let expired = candidates.filter { file in
            rules.maximumAge.map { age(file, look, .greatest) > $0 - budget.duration } ?? false
        }
        let old = expired.reduce(0) { $0 + $1.bytes }
        guard let limit = rules.maximumBytes else { return old }
        let total = Self.sum(look.segments.reduce(0) { $0 + $1.bytes }, budget.requiredBytes)
        // The limit on the total size requires deletions only as the recording grows. The reserve is left out of the
        // calculation, because it stays free until the recording ends.
        return max(old, min(all, total - Self.sum(limit, budget.reserveBytes)))
    }

    /// Describes a limit that cannot be kept. The text contains no numbers that change over time, because each change
    /// of the text is logged.
    private func unkept(_ limit: String) -> String {
        "\(limit) cannot be kept: what is left is younger than \(DurationText(rules.minimumAge)), or still needed"
    }

    /// Records that `bytes` were deleted, at least partly to free disk space. The free space was `space` before the
    /// deletion.
    mutating func deleted(_ bytes: Int64, from space: DiskSpace, now: MonotonicInstant) {
        attempt = Attempt(since: now, lowest: space.free, bytes: bytes)
    }

    /// Determines whether the last deletion has freed disk space.
    private mutating func judge(_ space: DiskSpace, _ now: MonotonicInstant) {
        if space.free >= goal(of: space) { (attempt, failedAttempts) = (nil, 0) }
        guard var last = attempt else {
            if failedAttempts >= Self.mostFailedAttempts, now >= retryAt {
                failedAttempts = Self.mostFailedAttempts - 1
            }
            return
        }
        last.lowest = min(last.lowest, space.free)
        attempt = last
        if space.free - last.lowest >= last.bytes / 2 {
            (attempt, failedAttempts) = (nil, 0)
        } else if now - last.since >= Self.freeingTime {
            attempt = nil
            failedAttempts += 1
            retryAt = now + Self.retryInterval
        }
    }

    /// Takes the clock readings of `look` into account, and returns `look` with plausible dates of the files.
    private mutating func dated(_ look: Look) -> Look {
        trust.read(look.clocks) { [newestRow] in Self.newest(look, row: newestRow) }
        var dated = look
        dated.segments = SegmentAges.believed(look.segments, at: look.wallClock)
        dated.redated = Set(zip(look.segments, dated.segments).filter { $0.ended != $1.ended }.map(\.0.fileName))
        return dated
    }

    /// Returns when the newest file of earlier runs ended. The date is that of the file or that of the catalogue,
    /// whichever is earlier, because copying or repairing a file changes the file's date. Dates in the future are
    /// ignored.
    private static func newest(_ look: Look, row: UTCTime?) -> UTCTime? {
        let later = look.own.union(look.recovered)
        let files = look.segments.filter { $0.isFinished && !later.contains($0.fileName) }.map(\.ended.milliseconds)
            .filter { $0 <= look.wallClock.milliseconds + ClockTrust.tolerance }
        return [files.max(), row?.milliseconds].compactMap { $0 }.min().map { UTCTime(milliseconds: $0) }
    }

    /// Returns the finished files of at least `age`, except those that could not be deleted.
    private func finished(_ look: Look, age least: Duration) -> [StoredSegment] {
        look.segments.filter {
            $0.isFinished && age($0, look, .least) >= least && !look.undeletable.contains($0.fileName)
        }
    }

    /// Returns a lower bound of a file's age, for a comparison with `limit`.
    private func age(_ segment: StoredSegment, _ look: Look, _ limit: ClockTrust.Limit) -> Duration {
        let isOwn = look.own.contains(segment.fileName)
        var lead = trust.lead(limit, isOwn: isOwn, at: look.clocks)
        // A corrected date was derived from a later file, possibly of another run, or from the present time. So the
        // larger uncertainty applies: that of files of this run, or that of files of earlier runs. The same is true of a
        // recovered file.
        if look.redated.contains(segment.fileName) || look.recovered.contains(segment.fileName) {
            lead = max(lead, trust.lead(limit, isOwn: !isOwn, at: look.clocks))
        }
        return apparentAge(segment, look) - .milliseconds(lead)
    }

    private func apparentAge(_ segment: StoredSegment, _ look: Look) -> Duration {
        .milliseconds(look.wallClock.milliseconds - segment.ended.milliseconds)
    }

    private func doubt(_ look: Look, _ limit: Duration) -> String {
        if trust.isCatchingUp(at: look.clocks) {
            return "what became older than \(DurationText(limit)) while relay was off is deleted step by step"
        }
        return "the wall clock was set forward, or is ahead: what looks older than \(DurationText(limit)) may not be. "
            + "It is kept until a time server confirms the clock, or relay has run for \(DurationText(limit))"
    }

    /// Adds two numbers that are not negative. A sum that does not fit in 64 bits becomes the largest number, because a
    /// very long time stands for an infinite one.
    private static func sum(_ first: Int64, _ second: Int64) -> Int64 {
        let (sum, overflow) = first.addingReportingOverflow(second)
        return overflow ? .max : sum
    }
}
