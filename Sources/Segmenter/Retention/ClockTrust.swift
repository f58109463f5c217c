// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Media

/// Says by how much the wall clock makes files look older than they are. Pure: readings of clocks come in.
///
/// A file is as old as the wall clock says only if that clock was right when the file ended, and is right now. A clock that
/// was set since then, or that is ahead when relay starts, makes young files look old. So each move of the wall clock that
/// the running time does not explain is taken off the age of the files from before it, until relay has run for so long
/// that they are old enough in any case. What is known goes with ``memory(_:)`` to the next run of relay.
///
/// Numbers are milliseconds: of the wall clock, or of running time, which no one can set.
struct ClockTrust {
    /// One reading of the clocks.
    struct Reading {
        /// The wall clock.
        var wall: UTCTime
        /// Nanoseconds of a clock that never steps.
        var now: Int64
        /// Whether a time server confirms the wall clock.
        var isConfirmed = false

        var running: Int64 { now / 1_000_000 }
    }

    /// Which limit a file's age is compared with.
    enum Limit {
        /// The least age of what is deleted, `--keep-min`.
        case least
        /// The greatest age of what is kept, `--keep`.
        case greatest
    }

    /// The doubt about the age of files, as one limit sees it.
    private struct Doubt {
        /// For how much running time a move matters: then all files from before it are old enough.
        let lasts: Int64
        /// How far the clock has moved ahead since files of earlier runs ended; below 0 if it has moved back.
        var earlier: Int64 = 0
        /// What of that the run before has left.
        var remembered: Int64 = 0
        /// The same for files that ended in this run: at least 0, since the last of them ended just now.
        var own: Int64 = 0
        /// The running time at which it no longer matters.
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

    /// The wall clock moves by more than this only if it is set.
    static let tolerance: Int64 = 60_000
    /// The longest time for which relay can have been off that is believed without a time server. A clock that is wrong
    /// by no more deletes at most a quarter of what `--keep` keeps.
    private static let believedGap: Int64 = 86_400_000
    /// So many times as fast as time goes what became too old while relay was off, if the clock is confirmed.
    private static let catchUp: Int64 = 4

    /// `--keep` in milliseconds; nil without it.
    private let keep: Int64?
    private let memory: RememberedClock?
    private var offset: Int64?
    private var least: Doubt
    private var greatest: Doubt
    /// Whether the clock was confirmed in this run, when there was something to confirm.
    private var isResolved = false
    /// By how much `--keep` is longer for files of earlier runs, and at which running time that began.
    private var lag: (length: Int64, since: Int64) = (0, 0)

    /// What is known at the start of a run: the rules, and what the run before has left.
    init(_ rules: RetentionRules, memory: RememberedClock? = nil) {
        let minimum = Self.milliseconds(rules.minimumAge)
        keep = rules.maximumAge.map(Self.milliseconds)
        self.memory = memory
        least = Doubt(lasts: minimum)
        greatest = Doubt(lasts: max(keep ?? 0, minimum))
    }

    /// Takes a reading in. `newest` says when the newest file of earlier runs ended, as far as its date can be right; it
    /// is asked for once, if nothing is remembered.
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

    /// How much older than it is a file may look, for `limit`; `isOwn` if it ended in this run.
    func lead(_ limit: Limit, isOwn: Bool, at reading: Reading) -> Int64 {
        switch limit {
        case .least: least.lead(isOwn: isOwn)
        case .greatest: Self.sum(greatest.lead(isOwn: isOwn), isOwn ? 0 : lag(at: reading.running))
        }
    }

    /// Whether files that became too old while relay was off go step by step.
    func isCatchingUp(at reading: Reading) -> Bool { lag(at: reading.running) > 0 }

    /// What the next run is to know.
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
        // They ended in no part of this run.
        (least.own, greatest.own) = (0, 0)
    }

    private static func resume(_ doubt: inout Doubt, _ lead: RememberedClock.Lead, at now: Int64) {
        guard lead.length > 0 else { return }
        (doubt.earlier, doubt.remembered) = (lead.length, lead.length)
        doubt.until = sum(now, min(lead.left, doubt.lasts))
    }

    /// The wall clock is right. If it was right when the run before read it last, too, relay was off in between: nothing
    /// but what that run left makes files look too old.
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

    /// In so much running time all that an archive can have kept is swept.
    private var sweep: Int64 { (keep ?? 0) / Self.catchUp }

    /// How far the wall clock may be ahead of the one seen last without a time server's word.
    private var believed: Int64 { min(Self.believedGap, (keep ?? 0) / 4) }

    private static func milliseconds(_ duration: Duration) -> Int64 { max(0, duration.inNanoseconds) / 1_000_000 }

    /// "For ever" is given as a very long time.
    fileprivate static func sum(_ first: Int64, _ second: Int64) -> Int64 {
        let (sum, overflow) = first.addingReportingOverflow(second)
        return overflow ? (first > 0 ? .max : .min) : sum
    }
}
