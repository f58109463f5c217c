// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import Media
import Segmenter
import Synchronization
import TestSupport

@testable import Channel

/// A walk of random operations through the life of a directory whose channel is off most of the time.
final class IdleRetentionWalk {
    private enum Operation: CaseIterable {
        case record, look, wait, busy, hold, upload, rival, restart, rules, confirm, clock, clockWhileOff

        /// The operations, each as often as it is to happen.
        static let weighted: [Operation] =
            Operation.allCases + [.record, .record, .record, .look, .look, .look, .wait, .wait]
    }

    /// A closed recording of the channel.
    struct File {
        var bytes: Int64
        /// When it ended, by the true time.
        var ended: MonotonicInstant
        /// Whether the wall clock was right then.
        var isDated: Bool
    }

    /// A value for any thread.
    final class Shared<Value: Sendable>: Sendable {
        private let state: Mutex<Value>

        init(_ value: Value) { state = Mutex(value) }

        var value: Value {
            get { state.withLock { $0 } }
            set { state.withLock { $0 = newValue } }
        }
    }

    static let channel = "test"
    /// What the wall clock showed at 0, in milliseconds since 1970: in May 2020.
    static let start: Int64 = 1_590_000_000_000
    /// The minimum age of a deleted file, and the maximum age of a file if the rules have one, in hours.
    static let (least, greatest): (Int64, Int64) = (2, 6)
    /// By how much a time may be rounded.
    static let rounding = Duration.milliseconds(5)
    /// How long no recording must have been active before files are deleted.
    static let grace = Duration.seconds(60)
    private static let shownOperations = 30

    let seed: UInt64
    /// Whether held files are marked. Without that the walk must find faults.
    let marksHolds: Bool
    var random: SeededRandom
    let place: TemporaryDirectory
    let directory: RecordDirectory
    let clock: ManualClock
    /// How far the wall clock is ahead, in milliseconds.
    let error: Shared<Int64>
    let wallClock: @Sendable () -> UTCTime
    /// Whether a recording of the channel is active.
    let isBusy: Shared<Bool>
    var retention: IdleRetention
    var rules: RetentionRules?
    /// Whether the channel has recorded with the rules.
    var isConfirmed = false
    /// Before this time no file may be deleted.
    var idleFrom = MonotonicInstant.zero
    var files: [String: File] = [:]
    /// Files of another channel and of users.
    var others: [String] = []
    var held: Set<String> = []
    var waiting: Set<String> = []
    /// The open file of another process that records the channel, with its lock; nil without one.
    var rival: (name: String, lock: FileDescriptor)?
    /// The maximum error of a file's age, caused by files that were dated by wrong clocks.
    var slack = Duration.zero
    var number = 0
    /// The modification time that the catalogue was given last.
    var dated = Date(timeIntervalSince1970: 0)
    var datings = 0
    var faults: [String] = []
    var trail: [String] = []

    init(seed: UInt64, marksHolds: Bool = true) throws {
        (self.seed, self.marksHolds, random) = (seed, marksHolds, SeededRandom(seed: seed))
        place = try TemporaryDirectory()
        directory = try RecordDirectory.prepare(place.path)
        let (clock, error, isBusy) = (ManualClock(now: 1_000_000_000_000), Shared<Int64>(0), Shared(false))
        let wallClock = { @Sendable in
            UTCTime(milliseconds: IdleRetentionWalk.start + clock.now.nanoseconds / 1_000_000 + error.value)
        }
        (self.clock, self.error, self.isBusy, self.wallClock) = (clock, error, isBusy, wallClock)
        retention = IdleRetention(channel: Self.channel, clock: clock, wallClock: wallClock, logger: quiet) {
            isBusy.value
        }
        try RememberedClock(lastSeen: wallClock(), isConfirmed: true).write(of: Self.channel, in: directory)
        try addOthers()
        changeRules()
    }

    /// Performs `steps` operations, after which all old files must be deleted. Returns the first fault, with the
    /// operations before it.
    func run(steps: Int) async throws -> String? {
        for _ in 1...steps where faults.isEmpty { try await act() }
        if faults.isEmpty { try settle() }
        retention.stop()
        guard let first = faults.first else { return nil }
        let report = """
            seed \(seed): \(first)
            true time \(trueSeconds) s, wall clock \(error.value / 1000) s ahead, \(Self.text(rules))
            the last operations:
              \(trail.suffix(Self.shownOperations).joined(separator: "\n  "))
            """
        if marksHolds { print(report) }
        return report
    }

    /// The true time in seconds, for reports.
    var trueSeconds: Int64 { clock.now.nanoseconds / 1_000_000_000 }

    private func act() async throws {
        switch random.pick(Operation.weighted) {
        case .record: try await record()
        case .look: try look(after: .seconds(Int.random(in: 1...1200, using: &random)))
        case .wait: try look(after: .seconds(Int.random(in: 1...5, using: &random) * 3600))
        case .busy: try changeBusy()
        case .hold: try changeHold()
        case .upload: await changeUpload()
        case .rival: try changeRival()
        case .restart: restart()
        case .rules: changeRules()
        case .confirm: confirm()
        case .clock: try changeClock(whileOff: false)
        case .clockWhileOff: try changeClock(whileOff: true)
        }
    }
}
