// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// Plays an input, and opens it again when it ends or fails, until it is stopped, a new attempt cannot help, or its
/// user does not want it again. An input that has recovered since its last failure, see ``ReopenSchedule``, is opened
/// again at once when it ends. After further failures the input is opened again after 2 to 5 s; an SRT input that
/// listens, after a tenth of that time. It is also opened again at once at a change, see ``SourceMonitor/isAtChange``,
/// unless a live input changes too often. It is then left, and opened again after 1 to 5 s. Used by one thread.
final class ReopenLoop {
    private let name: String
    private let monitor: SourceMonitor
    /// Whether the number of changes without a pause is limited. The media of a file is taken at the program's pace,
    /// and its changes do not come faster than that.
    private let isLive: Bool
    private let clock: any MonotonicClock
    private let wait: (Duration) -> Void
    private var schedule = ReopenSchedule()
    /// When the current input was opened; nil while no input is open.
    private var openedAt: MonotonicInstant?
    /// How long the input has been open since the last pause, without the current part.
    private var played = Duration.zero
    /// Whether the loop still plays the input that was opened when its source was created.
    private(set) var isFirst = true

    /// What follows the end of a part of the input.
    private enum Continuation {
        /// The next part, without a pause.
        case nextPart
        /// A pause, because the input ended or failed.
        case pauseAfterEnd
        /// A pause, because the input changes too often.
        case pauseAfterChange
    }

    /// Creates a loop for an input. `name` is the input's name in logs. `wait` pauses for a time, or until the input is
    /// stopped; by default it is ``SourceMonitor/pause(_:)``.
    init(
        _ name: String, monitor: SourceMonitor, isLive: Bool = true, clock: any MonotonicClock = SystemClock(),
        wait: ((Duration) -> Void)? = nil
    ) {
        (self.name, self.monitor, self.isLive, self.clock) = (name, monitor, isLive, clock)
        self.wait = wait ?? { [monitor] in monitor.pause($0) }
    }

    /// Calls `play` repeatedly, as long as `lasts` returns true for its result. `play` plays the input and returns the
    /// failure that ended it; from the second call on, it must also open the input. `pausing` is called before each
    /// pause. Returns the last failure, which is also in the status; nil if the input was stopped.
    @discardableResult
    func run(
        lasts: (IngestError?) -> Bool, pausing: () -> Void = {}, _ play: () -> IngestError?
    ) -> IngestError? {
        openedAt = clock.now
        var failure = play()
        while lasts(failure), failure?.isPermanent != true, !monitor.isStopped {
            let continuation = endPart()
            if continuation != .nextPart { pause(continuation, after: failure, pausing) }
            if monitor.isStopped { break }
            (isFirst, openedAt) = (false, nil)
            failure = play()
        }
        return monitor.noteEnd(failure)
    }

    /// Records the end of the current part. Returns what follows it. Another thread can report a restart of the
    /// playlist at any time, so the monitor is asked only once whether the input is at a change.
    private func endPart() -> Continuation {
        let (now, part) = (clock.now, openedAt.map { clock.now - $0 } ?? .zero)
        played += part
        guard monitor.isAtChange else { return .pauseAfterEnd }
        let isInTime = schedule.change(at: now, after: part)
        return isInTime || !isLive ? .nextPart : .pauseAfterChange
    }

    private func pause(_ cause: Continuation, after failure: IngestError?, _ pausing: () -> Void) {
        var (failure, delay) = (failure, schedule.fail(after: played))
        played = .zero
        if cause == .pauseAfterChange {
            let reason =
                monitor.playlist.isRestarted ? "its playlist is restarted too often" : "its coding changes too often"
            failure = failure ?? .unreadable(input: name, reason: reason)
            // The next demuxer must not continue with the bytes that the last one has left unread: after the pause they
            // would be late, and they may contain more such changes.
            monitor.forgetChange()
        } else {
            delay = monitor.pauseToReopen(delay)
            // Often only the connection was lost, and the sender or the server answers at once.
            if schedule.failures == 1, openedAt != nil { delay = .zero }
        }
        monitor.noteInterruption(name, failure, schedule, delay)
        pausing()
        wait(delay)
        if !monitor.isStopped { monitor.update { $0.state = .opening } }
    }

    /// Opens the input again with `open`, and reports the opening to the monitor. Throws if the input's playlist has no
    /// new segment. `streams` returns the streams that are played.
    func reopen<Input>(
        _ open: () throws(IngestError) -> Input, streams: (Input) -> [StreamInfo]
    ) throws(IngestError) -> Input {
        try monitor.checkPlaylistAdvances(name)
        let (isAtChange, isRestarted) = (monitor.isAtChange, monitor.playlist.isRestarted)
        let input = try open()
        if isRestarted {
            monitor.notePlaylistRestart(name, isWorthLogging: schedule.isChangeWorthLogging)
        } else if isAtChange {
            monitor.noteChange(name, streams(input), isWorthLogging: schedule.isChangeWorthLogging)
        } else {
            monitor.noteOpenAgain(name, isWorthLogging: schedule.isWorthLogging)
        }
        openedAt = clock.now
        return input
    }
}

/// Decides when an input that ended, failed or changes is opened again, and which of these events are logged.
///
/// At a change the input is opened again without a pause, as long as its changes are ``changeInterval`` apart on average.
/// ``mostChanges`` can come at once.
struct ReopenSchedule: Hashable {
    /// The pause after the first failure; it doubles with each further failure, up to ``longestDelay``.
    static let shortestDelay = Duration.seconds(1)
    /// The longest pause before an input is opened again.
    static let longestDelay = Duration.seconds(5)
    /// An input that ran for at least this long has recovered: its next failure counts as the first.
    static let stableTime = Duration.seconds(10)
    /// How far apart changes must be, on average, so that there is no pause.
    static let changeInterval = Duration.seconds(2)
    /// The number of changes that can come at once without a pause, after 10 s without a change.
    static let mostChanges = 5

    /// Failures since the input last recovered.
    private(set) var failures = 0
    /// Changes since the input last ran for ``stableTime`` without one.
    private var changes = 0
    /// The time that the changes have used up: each uses ``changeInterval``, and what is older than ``mostChanges`` of
    /// them is lost.
    private var used = MonotonicInstant.distantPast

    /// Records a change of the input at `time`, which had run for `part` since it was opened or last changed. Returns
    /// whether the input may be opened again without a pause.
    mutating func change(at time: MonotonicInstant, after part: Duration) -> Bool {
        changes = part >= Self.stableTime ? 1 : changes + 1
        let next = max(used, time - Self.changeInterval * Self.mostChanges) + Self.changeInterval
        guard next <= time else { return false }
        used = next
        return true
    }

    /// Records that the input ended, failed or changed too often. `time` is how long it had been open since the last
    /// pause. Returns the pause until the next attempt.
    mutating func fail(after time: Duration) -> Duration {
        if time >= Self.stableTime { failures = 0 }
        failures += 1
        return min(Self.shortestDelay * (1 << min(failures - 1, 8)), Self.longestDelay)
    }

    /// Whether the last failure should be logged: the first, second, fourth, eighth, and so on.
    var isWorthLogging: Bool { failures.isLoggedOccurrence }

    /// Whether the last change should be logged; chosen like the failures.
    var isChangeWorthLogging: Bool { changes.isLoggedOccurrence }
}
