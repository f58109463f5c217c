// SPDX-License-Identifier: Apache-2.0

package import Media

/// A fault of the program that is reported when it has lasted for some time, and again when it is over.
///
/// What is neither faulty nor right leaves the alarm as it is: a fault that has begun continues, and no fault begins.
/// Times are the program's and do not go back. This is a value without a clock or I/O of its own.
package struct Alarm: Sendable {
    /// What was found in a stretch of the program.
    package enum Reading: Sendable, Hashable {
        /// The fault.
        case faulty
        /// No fault.
        case right
        /// Between the bound of the fault and the one of its absence.
        case between
    }

    /// What an operator is to be told.
    package enum Event: Sendable, Hashable {
        /// The fault has lasted since then, as long as the alarm waits.
        case began(since: Timestamp)
        /// It is over, and lasted for so long.
        case ended(after: Duration)
    }

    /// How long the fault must be absent to be over.
    private static let clear = Duration.seconds(1)

    private let patience: Duration
    private var since: Timestamp?
    private var rightSince: Timestamp?
    private var latest = Timestamp.zero
    private var isActive = false
    private var count = 0

    /// An alarm about a fault that lasts for `patience` or longer.
    package init(after patience: Duration) { self.patience = patience }

    /// What is known now.
    package var status: AlarmStatus {
        AlarmStatus(
            isActive: isActive, seconds: isActive ? since.map { (latest - $0).inSeconds } ?? 0 : 0, count: count)
    }

    /// Takes in what was found from `start` to `end`.
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

/// What an operator sees of an alarm.
package struct AlarmStatus: Sendable, Codable, Hashable {
    /// Whether the fault is there.
    package var isActive = false
    /// How long it has lasted, in seconds of the program; 0 if it is not there.
    package var seconds = 0.0
    /// How often it was there so far.
    package var count = 0
}
