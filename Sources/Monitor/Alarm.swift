// SPDX-License-Identifier: Apache-2.0

internal import Logging
package import Media

/// Reports a fault of the program after it has lasted for some time, and again when it is over.
///
/// Between the thresholds for "faulty" and "right" the alarm does not change: a fault that has begun continues, and no
/// new fault begins. Times are program times and never decrease. A value type without a clock or I/O.
package struct Alarm: Sendable {
    /// The reading for a stretch of the program.
    package enum Reading: Sendable, Hashable {
        /// The fault is present.
        case faulty
        /// The fault is absent.
        case right
        /// The reading is between the threshold at which a fault begins and the threshold at which it ends.
        case between
    }

    /// An event for the operator.
    package enum Event: Sendable, Hashable {
        /// The fault began at `since`, and has lasted so long that it is reported.
        case began(since: Timestamp)
        /// The fault is over. It lasted for `after`.
        case ended(after: Duration)
    }

    /// How long the fault must be absent before it is over.
    private static let clear = Duration.seconds(1)

    private let patience: Duration
    private var since: Timestamp?
    private var rightSince: Timestamp?
    private var latest = Timestamp.zero
    private var isActive = false
    private var count = 0

    /// An alarm for a fault that lasts for `patience` or longer.
    package init(after patience: Duration) { self.patience = patience }

    /// The current status.
    package var status: AlarmStatus {
        AlarmStatus(
            isActive: isActive, seconds: isActive ? since.map { (latest - $0).inSeconds } ?? 0 : 0, count: count)
    }

    /// Processes the reading for the time from `start` to `end`.
    package mutating func note(_ reading: Reading, from start: Timestamp, to end: Timestamp) -> Event? {
        latest = end
        switch reading {
        case .faulty: return noteFault(start, end)
        case .right: return noteAbsence(start, end)
        case .between:
            rightSince = nil
            return since.flatMap { noteFault($0, end) }
        }
    }

    private mutating func noteFault(_ start: Timestamp, _ end: Timestamp) -> Event? {
        rightSince = nil
        let since = since ?? start
        self.since = since
        guard !isActive, end - since >= patience else { return nil }
        isActive = true
        count += 1
        return .began(since: since)
    }

    private mutating func noteAbsence(_ start: Timestamp, _ end: Timestamp) -> Event? {
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

/// The status of an alarm for operators.
package struct AlarmStatus: Sendable, Codable, Hashable {
    /// Whether the fault is present.
    package var isActive = false
    /// How long the fault has lasted, in seconds of program time; 0 if it is absent.
    package var seconds = 0.0
    /// How often the fault has occurred.
    package var count = 0
}

/// The subject of an alarm, which determines its texts for the log.
enum AlarmKind {
    case silence, black, frozen

    private var texts: (began: String, ended: String) {
        switch self {
        case .silence: ("the program's audio is silent", "the program's audio is not silent any more")
        case .black: ("the program's video is black", "the program's video is not black any more")
        case .frozen: ("the program's video is frozen", "the program's video moves again")
        }
    }

    /// Logs `event`, if there is one.
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
