// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Media

/// Decides which files go. Pure: what is there comes in, what is to be deleted comes out.
struct RetentionPolicy {
    /// What there is.
    struct Look {
        /// All files of the channel, the oldest first.
        var segments: [StoredSegment]
        /// The names of those that could not be deleted: others go in their place.
        var undeletable: Set<String> = []
        /// The wall clock, which dates files.
        var wallClock: UTCTime
        /// Nanoseconds of a clock that never steps.
        var now: Int64
        /// The disk, if its free space matters.
        var space: DiskSpace?
        /// Whether a time server confirms the wall clock.
        var isConfirmed = false
        /// The names of those that ended in this run of relay.
        var own: Set<String> = []
        /// The names of those whose dates were taken from files that followed them.
        var redated: Set<String> = []

        fileprivate var clocks: ClockTrust.Reading { .init(wall: wallClock, now: now, isConfirmed: isConfirmed) }
    }

    /// What is to be done.
    struct Plan: Equatable {
        var deletions: [Deletion] = []
        /// Bytes that could be deleted for free space after that.
        var reclaimableBytes: Int64 = 0
        /// Whether there is too little free space.
        var wantsRoom = false
        /// Number of files that must not be deleted because something else still needs them.
        var heldFiles = 0
        /// Why a limit is not kept, in words.
        var problem: String?
    }

    /// A file that is to go, and the limit that asks for it.
    struct Deletion: Equatable {
        var segment: StoredSegment
        var rule: RetentionRule
    }

    /// Deleting for free space that brought none yet.
    private struct Attempt {
        var since: Int64
        /// The lowest free space since then. What is written meanwhile hides what is freed late.
        var lowest: Int64
        var bytes: Int64
    }

    let rules: RetentionRules
    /// Free bytes below which the storage guard is about to stop the recording: deleting begins before that.
    var leastFree: Int64
    private var trust: ClockTrust
    /// When the newest file ended that the catalogue knows; nil if it knows none, or something better is remembered.
    private var newestRow: UTCTime?
    private var attempt: Attempt?
    private var failedAttempts = 0
    private var retryAt = Int64.min

    /// At most this many files are deleted at once: deleting keeps the disk busy.
    private static let mostAtOnce = 100
    /// For free space at most this many bytes, or one file, are deleted before it is seen that it helps.
    private static let freeingStep: Int64 = 256 << 20
    /// Freeing may take a file system this long (btrfs: a commit each 30 s).
    private static let freeingTime: Int64 = 60_000_000_000
    /// After this many attempts without an effect deleting for free space ends: snapshots, or something else, hold the
    /// space.
    private static let mostFailedAttempts = 3
    /// Snapshots expire, and other programs end: after this time it is tried once more.
    private static let retryInterval: Int64 = 600_000_000_000

    /// A policy of `rules`, with what the run before has left of the wall clock.
    init(rules: RetentionRules, leastFree: Int64, memory: RememberedClock? = nil) {
        self.rules = rules
        self.leastFree = leastFree
        trust = ClockTrust(rules, memory: memory)
    }

    /// Takes in, before the first look, what the run before has left of the wall clock. Without that the newest of the files,
    /// or `newestRow` of the catalogue, says what time it was.
    mutating func recall(_ memory: RememberedClock?, newestRow: UTCTime?) {
        trust = ClockTrust(rules, memory: memory)
        self.newestRow = newestRow
    }

    /// What the next run is to know of the wall clock, as of `look`.
    func memory(_ look: Look) -> RememberedClock { trust.memory(look.clocks) }

    /// The bytes that are to be free of `space`.
    func goal(of space: DiskSpace) -> Int64 {
        rules.minimumFree.map { max($0.bytes(of: space.capacity), leastFree) } ?? 0
    }

    /// Whether so little of `space` is free that the recording is about to stop.
    func isUrgent(_ space: DiskSpace) -> Bool { rules.minimumFree != nil && space.free < leastFree }

    /// Whether `space` asks for deleting, as far as that may help.
    mutating func wantsRoom(_ space: DiskSpace, now: Int64) -> Bool {
        judge(space, now)
        return space.free < goal(of: space) && attempt == nil && failedAttempts < Self.mostFailedAttempts
    }

    /// Decides. `mayDelete` is asked for each finished file that is old enough.
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
        let wanted = "\(ByteSize(bytes: self.goal(of: space))) of free space"
        if plan.wantsRoom, goal < self.goal(of: space) {
            plan.problem = "\(wanted) cannot be had by deleting: what else is on the disk takes too much of it"
        } else if plan.wantsRoom, candidates.isEmpty, space.free + freed < goal {
            plan.problem = unkept(wanted)
        }
    }

    /// The bytes that are to be free if deleting can bring that about: `most` would be free if nothing of the channel
    /// were there. What others take cannot be deleted, so a rule that they make impossible costs no recording; files
    /// are then deleted only as far as the recording needs it to continue. 0 if deleting cannot do even that.
    private func reachableGoal(of space: DiskSpace, most: Int64) -> Int64 {
        let goal = goal(of: space)
        if goal <= most { return goal }
        return leastFree <= most ? leastFree : 0
    }

    /// The bytes of the files in `look` that may be deleted in the course of a recording of `budget`: for free space, or
    /// because a limit will ask for it by then. `mayDelete` is asked for each.
    mutating func deletable(
        _ look: Look, during budget: StorageBudget, mayDelete: (StoredSegment) -> Bool
    ) -> Int64 {
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
        // The limit asks for it only as the recording grows, and until its end the reserve stays free.
        return max(old, min(all, total - Self.sum(limit, budget.reserveBytes)))
    }

    /// Without figures that change: it is logged when it changes.
    private func unkept(_ limit: String) -> String {
        "\(limit) cannot be kept: what is left is younger than \(DurationText(rules.minimumAge)), or still needed"
    }

    /// `bytes` were deleted, some of them for free space, when `space` was what there was.
    mutating func deleted(_ bytes: Int64, from space: DiskSpace, now: Int64) {
        attempt = Attempt(since: now, lowest: space.free, bytes: bytes)
    }

    /// Whether what was deleted for free space has freed any.
    private mutating func judge(_ space: DiskSpace, _ now: Int64) {
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

    /// `look` with dates that can be right, after its clocks were read.
    private mutating func dated(_ look: Look) -> Look {
        trust.read(look.clocks) { [newestRow] in Self.newest(look, row: newestRow) }
        var dated = look
        dated.segments = SegmentAges.believed(look.segments, at: look.wallClock)
        dated.redated = Set(zip(look.segments, dated.segments).filter { $0.ended != $1.ended }.map(\.0.fileName))
        return dated
    }

    /// When the newest file of earlier runs ended, by its own date or the catalogue's, whichever is earlier: a file that was
    /// copied or repaired has a date of its own. Dates in the future are left out.
    private static func newest(_ look: Look, row: UTCTime?) -> UTCTime? {
        let files = look.segments.filter { $0.isFinished && !look.own.contains($0.fileName) }.map(\.ended.milliseconds)
            .filter { $0 <= look.wallClock.milliseconds + ClockTrust.tolerance }
        return [files.max(), row?.milliseconds].compactMap { $0 }.min().map { UTCTime(milliseconds: $0) }
    }

    /// The finished files of at least `age` that can be deleted.
    private func finished(_ look: Look, age least: Duration) -> [StoredSegment] {
        look.segments.filter {
            $0.isFinished && age($0, look, .least) >= least && !look.undeletable.contains($0.fileName)
        }
    }

    /// How old a file is at least, as `limit` has to know it.
    private func age(_ segment: StoredSegment, _ look: Look, _ limit: ClockTrust.Limit) -> Duration {
        let isOwn = look.own.contains(segment.fileName)
        var lead = trust.lead(limit, isOwn: isOwn, at: look.clocks)
        // A date that was taken from another file has that file's doubts, too.
        if look.redated.contains(segment.fileName) {
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

    /// The sum of what is not negative; "for ever" is given as a very long time.
    private static func sum(_ first: Int64, _ second: Int64) -> Int64 {
        let (sum, overflow) = first.addingReportingOverflow(second)
        return overflow ? .max : sum
    }
}
