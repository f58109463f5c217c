// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Media

/// Computes by how much an incorrect wall clock makes files look older than they are. Pure: it turns clock readings
/// into durations, without I/O.
///
/// A file's apparent age is right only if the wall clock was right when the file ended and is right now. If the clock
/// was set since then, or is ahead when relay starts, young files look old. So a jump of the wall clock that the
/// running time does not explain is subtracted from the apparent age of all files from before the jump. The subtraction
/// ends when relay has run for so long that these files are old enough in any case. ``memory(_:)`` returns the jumps
/// for the next run of relay.
///
/// All numbers are milliseconds, either of the wall clock or of the running time. The running time is a clock that
/// cannot be set.
struct ClockTrust {
    /// One reading of the clocks.
    struct Reading {
        /// The wall clock.
        var wall: UTCTime
        /// The clock that never jumps.
        var now: MonotonicInstant
        /// Whether a time server confirms the wall clock.
        var isConfirmed = false

        var running: Int64 { now.nanoseconds / 1_000_000 }
    }

    /// The limit with which a file's age is compared.
    enum Limit {
        /// The minimum age that a file must have before it is deleted, `--keep-min`.
        case least
        /// The maximum age up to which a file is kept, `--keep`.
        case greatest
    }

    /// The uncertainty about the ages of files that are compared with one limit.
    private struct Doubt {
        /// The running time for which a jump of the wall clock matters, in milliseconds. After that, all files from
        /// before the jump are old enough.
        let lasts: Int64
        /// How far the wall clock has jumped ahead since files of earlier runs ended, in milliseconds; negative if it
        /// has jumped back.
        var earlier: Int64 = 0
        /// The part of `earlier` that the previous run has remembered, in milliseconds.
        var remembered: Int64 = 0
        /// How far the wall clock has jumped ahead since files of this run ended, in milliseconds. It is at least 0,
        /// because the newest of these files has only just ended.
        var own: Int64 = 0
        /// The running time, in milliseconds, at which the jumps of the wall clock no longer matter.
        var until = Int64.min

        mutating func move(by change: Int64, at now: Int64) {
            expire(at: now)
            earlier = ClockTrust.sum(earlier, change)
            own = max(0, ClockTrust.sum(own, change))
            if change > 0 { until = ClockTrust.sum(now, lasts) }
        }

        mutating func expire(at now: Int64) {
            guard now >= until else { return }
            (earlier, remembered, own) = (min(0, earlier), 0, 0)
        }

        func lead(isOwn: Bool) -> Int64 { max(0, isOwn ? own : earlier) }
    }

    /// If the wall clock moves by more than this relative to the running time, in milliseconds, it was set.
    static let tolerance: Int64 = 60_000
    /// The longest time, in milliseconds, for which relay is believed to have been off, if no time server confirms the
    /// wall clock. If a quarter of `--keep` is shorter than this, it is the limit instead: even if the clock is wrong
    /// by that much, at most a quarter of what `--keep` keeps is deleted too early.
    private static let believedGap: Int64 = 86_400_000
    /// If the wall clock is confirmed, files that became too old while relay was off are deleted step by step. In each
    /// hour of running time, the files of this many hours of recording are deleted.
    private static let catchUp: Int64 = 4

    /// The `--keep` limit in milliseconds; nil without `--keep`.
    private let keep: Int64?
    private let memory: RememberedClock?
    private var offset: Int64?
    private var least: Doubt
    private var greatest: Doubt
    /// Whether the confirmed clock of this run was already taken into account.
    private var isResolved = false
    /// How far the `--keep` limit is extended for files of earlier runs, and the running time at which this extension
    /// began; both in milliseconds.
    private var lag: (length: Int64, since: Int64) = (0, 0)

    /// Creates the state at the start of a run, from the rules and the memory that the previous run left.
    init(_ rules: RetentionRules, memory: RememberedClock? = nil) {
        let minimum = Self.milliseconds(rules.minimumAge)
        keep = rules.maximumAge.map(Self.milliseconds)
        self.memory = memory
        least = Doubt(lasts: minimum)
        greatest = Doubt(lasts: max(keep ?? 0, minimum))
    }

    /// Handles a reading of the clocks. `newest` returns when the newest file of earlier runs ended, if its date is
    /// plausible. It is called once, at the first reading, and only if the previous run left no memory.
    mutating func read(_ reading: Reading, newest: () -> UTCTime?) {
        let (now, offset) = (reading.running, reading.wall.milliseconds - reading.running)
        if let before = self.offset {
            let change = offset - before
            if abs(change) > Self.tolerance {
                least.move(by: change, at: now)
                greatest.move(by: change, at: now)
            }
        } else {
            begin(reading, after: memory?.lastSeen ?? newest())
        }
        self.offset = offset
        least.expire(at: now)
        greatest.expire(at: now)
        if reading.isConfirmed { resolve(at: now) }
    }

    /// Returns by how much a file might look older than it is, for a comparison with `limit`. `isOwn` means that the
    /// file ended in this run.
    func lead(_ limit: Limit, isOwn: Bool, at reading: Reading) -> Int64 {
        switch limit {
        case .least: least.lead(isOwn: isOwn)
        case .greatest: Self.sum(greatest.lead(isOwn: isOwn), isOwn ? 0 : lag(at: reading.running))
        }
    }

    /// Whether files that became too old while relay was off are being deleted step by step.
    func isCatchingUp(at reading: Reading) -> Bool { lag(at: reading.running) > 0 }

    /// Returns what the next run of relay needs to know about the wall clock.
    func memory(_ reading: Reading) -> RememberedClock {
        let now = reading.running
        func left(_ doubt: Doubt) -> RememberedClock.Lead {
            let length = max(doubt.lead(isOwn: false), doubt.lead(isOwn: true))
            return .init(length: length, left: length > 0 ? max(0, doubt.until - now) : 0)
        }
        let lag = lag(at: now)
        return RememberedClock(
            lastSeen: reading.wall, isConfirmed: reading.isConfirmed, least: left(least), greatest: left(greatest),
            lag: .init(length: lag, left: lag > 0 ? sweep - (now - self.lag.since) : 0))
    }

    private mutating func begin(_ reading: Reading, after last: UTCTime?) {
        let now = reading.running
        if let memory {
            Self.resume(&least, memory.least, at: now)
            Self.resume(&greatest, memory.greatest, at: now)
            if memory.lag.length > 0 {
                lag = (memory.lag.length, now - max(0, sweep - memory.lag.left))
                lag.length = Self.sum(lag.length, (Self.catchUp - 1) * (now - lag.since))
            }
        }
        let gap = last.map { reading.wall.milliseconds - $0.milliseconds } ?? 0
        if abs(gap) > Self.tolerance { least.move(by: gap, at: now) }
        if gap < -Self.tolerance || gap > max(Self.tolerance, believed) { greatest.move(by: gap, at: now) }
        // No file of this run has ended yet, so the jumps that were found so far do not concern files of this run.
        (least.own, greatest.own) = (0, 0)
    }

    private static func resume(_ doubt: inout Doubt, _ lead: RememberedClock.Lead, at now: Int64) {
        guard lead.length > 0 else { return }
        (doubt.earlier, doubt.remembered) = (lead.length, lead.length)
        doubt.until = sum(now, min(lead.left, doubt.lasts))
    }

    /// Handles the confirmation that the wall clock is right. If it was also right when the previous run last read it,
    /// the time between the two readings is simply the time for which relay was off. In that case only the jumps that
    /// the previous run remembered can make files look too old.
    private mutating func resolve(at now: Int64) {
        guard !isResolved else { return }
        isResolved = true
        guard memory?.isConfirmed ?? true else { return }
        if greatest.earlier > max(greatest.remembered, believed) {
            lag = (greatest.earlier - greatest.remembered, now)
        }
        greatest.earlier = greatest.remembered
        least.earlier = least.remembered
    }

    private func lag(at now: Int64) -> Int64 {
        let elapsed = now - lag.since
        guard lag.length > 0, elapsed < sweep else { return 0 }
        return max(0, lag.length - (Self.catchUp - 1) * elapsed)
    }

    /// The running time, in milliseconds, in which the step-by-step deletion can delete a whole archive.
    private var sweep: Int64 { (keep ?? 0) / Self.catchUp }

    /// The maximum by which the wall clock can be ahead of its last reading, in milliseconds, and still be believed
    /// without a time server's confirmation.
    private var believed: Int64 { min(Self.believedGap, (keep ?? 0) / 4) }

    private static func milliseconds(_ duration: Duration) -> Int64 { max(0, duration.inMilliseconds) }

    /// Adds two numbers. A sum that does not fit in 64 bits becomes the largest or smallest number, because a very long
    /// time stands for an infinite one.
    fileprivate static func sum(_ first: Int64, _ second: Int64) -> Int64 {
        let (sum, overflow) = first.addingReportingOverflow(second)
        return overflow ? (first > 0 ? .max : .min) : sum
    }
}
