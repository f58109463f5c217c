// SPDX-License-Identifier: Apache-2.0

internal import Logging
package import Media

/// Decides when to report a fault of the program: once when the fault has lasted for some time, and once when it is
/// over.
///
/// A reading between the two thresholds (``Reading/between``) changes nothing: a fault that has begun continues, and no
/// new fault begins. Times are program times and must not decrease. This type reads no clock and does no I/O.
package struct Alarm: Sendable {
    /// What a detector found in a piece of the program.
    package enum Reading: Sendable, Hashable {
        /// The fault is present.
        case faulty
        /// The fault is absent.
        case right
        /// The measured value is between the threshold at which a fault begins and the threshold at which it ends, so
        /// this reading neither begins nor ends a fault.
        case between
    }

    /// An event that must be reported to the operator.
    package enum Event: Sendable, Hashable {
        /// The fault began at `since` and has now lasted long enough to be reported.
        case began(since: ProgramInstant)
        /// The fault is over, after it lasted for `after`.
        case ended(after: Duration)
    }

    /// How long the fault must be absent before it counts as over.
    private static let clear = Duration.seconds(1)

    private let patience: Duration
    private var since: ProgramInstant?
    private var rightSince: ProgramInstant?
    private var latest = ProgramInstant.zero
    private var isActive = false
    private var count = 0

    /// Creates an alarm that reports a fault as soon as the fault has lasted for `patience`.
    package init(after patience: Duration) { self.patience = patience }

    /// The alarm's current status.
    package var status: AlarmStatus {
        AlarmStatus(
            isActive: isActive, seconds: isActive ? since.map { (latest - $0).inSeconds } ?? 0 : 0, count: count)
    }

    /// Processes the reading for the program from `start` to `end`. Returns an event if there is one to report.
    package mutating func note(_ reading: Reading, from start: ProgramInstant, to end: ProgramInstant) -> Event? {
        latest = end
        switch reading {
        case .faulty: return noteFault(start, end)
        case .right: return noteAbsence(start, end)
        case .between:
            rightSince = nil
            return since.flatMap { noteFault($0, end) }
        }
    }

    private mutating func noteFault(_ start: ProgramInstant, _ end: ProgramInstant) -> Event? {
        rightSince = nil
        let since = since ?? start
        self.since = since
        guard !isActive, end - since >= patience else { return nil }
        isActive = true
        count += 1
        return .began(since: since)
    }

    private mutating func noteAbsence(_ start: ProgramInstant, _ end: ProgramInstant) -> Event? {
        guard isActive, let began = since else {
            since = nil
            return nil
        }
        let right = rightSince ?? start
        rightSince = right
        guard end - right >= Self.clear else { return nil }
        (since, rightSince, isActive) = (nil, nil, false)
        return .ended(after: right - began)
    }
}

/// The status of an alarm as operators see it.
package struct AlarmStatus: Sendable, Codable, Hashable {
    /// Whether a fault has been reported and is not over yet.
    package var isActive = false
    /// How long the reported fault has lasted, in seconds of program time; 0 if there is no such fault.
    package var seconds = 0.0
    /// How many faults have been reported.
    package var count = 0
}

/// The kind of fault that an alarm reports. The kind determines the texts for the log.
enum AlarmKind {
    case silence, black, frozen

    private var texts: (began: String, ended: String) {
        switch self {
        case .silence: ("the program's audio is silent", "the program's audio is not silent any more")
        case .black: ("the program's video is black", "the program's video is not black any more")
        case .frozen: ("the program's video is frozen", "the program's video moves again")
        }
    }

    /// Logs `event` unless it is nil.
    func tell(_ event: Alarm.Event?, to logger: Logger) {
        switch event {
        case nil: break
        case .began(let since):
            logger.warning("\(texts.began)", metadata: ["since_s": "\(Self.seconds(since - .zero))"])
        case .ended(let length):
            logger.notice("\(texts.ended)", metadata: ["lasted_s": "\(Self.seconds(length))"])
        }
    }

    private static func seconds(_ duration: Duration) -> String {
        let tenths = duration.inMilliseconds / 100
        return "\(tenths / 10).\(tenths % 10)"
    }
}
