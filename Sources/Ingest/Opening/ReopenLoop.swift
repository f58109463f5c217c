// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// Plays an input, and opens it again when it ends or fails, until it is stopped, a new attempt cannot help, or its
/// user does not want it again. An input that has recovered since its last failure, see ``ReopenSchedule``, is opened
/// again at once when it ends. After further failures the input is opened again after 2 to 5 s; an SRT input that
/// listens, after a tenth of that time. It is also opened again at once at a change, see ``SourceMonitor/isAtChange``.
/// Used by one thread.
final class ReopenLoop {
    private let name: String
    private let monitor: SourceMonitor
    private let clock: any MonotonicClock
    private var schedule = ReopenSchedule()
    /// When the current input was opened; nil while no input is open.
    private var openedAt: MonotonicInstant?
    /// Whether the loop still plays the input that was opened when its source was created.
    private(set) var isFirst = true

    /// Creates a loop for an input. `name` is the input's name in logs.
    init(_ name: String, monitor: SourceMonitor, clock: any MonotonicClock = SystemClock()) {
        (self.name, self.monitor, self.clock) = (name, monitor, clock)
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
            if !monitor.isAtChange { pause(after: failure, pausing) }
            if monitor.isStopped { break }
            (isFirst, openedAt) = (false, nil)
            failure = play()
        }
        return monitor.noteEnd(failure)
    }

    private func pause(after failure: IngestError?, _ pausing: () -> Void) {
        let played = openedAt.map { clock.now - $0 } ?? .zero
        var delay = monitor.pauseToReopen(schedule.fail(after: played))
        // Often only the connection was lost, and the sender or the server answers at once.
        if schedule.failures == 1, openedAt != nil { delay = .zero }
        monitor.noteInterruption(name, failure, schedule, delay)
        pausing()
        monitor.pause(delay)
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
            monitor.notePlaylistRestart(name)
        } else if isAtChange {
            monitor.noteChange(name, streams(input))
        } else {
            monitor.noteOpenAgain(name, isWorthLogging: schedule.isWorthLogging)
        }
        openedAt = clock.now
        return input
    }
}

/// Decides when an input that ended or failed is opened again, and which of the failures are logged.
struct ReopenSchedule: Hashable {
    /// The pause after the first failure; it doubles with each further failure, up to ``longestDelay``.
    static let shortestDelay = Duration.seconds(1)
    /// The longest pause before an input is opened again.
    static let longestDelay = Duration.seconds(5)
    /// An input that ran for at least this long has recovered: its next failure counts as the first.
    static let stableTime = Duration.seconds(10)

    /// Failures since the input last recovered.
    private(set) var failures = 0

    /// Records that the input ended or failed. `time` is how long the input had been open; it is zero if opening
    /// failed. Returns the pause until the next attempt.
    mutating func fail(after time: Duration) -> Duration {
        if time >= Self.stableTime { failures = 0 }
        failures += 1
        return min(Self.shortestDelay * (1 << min(failures - 1, 8)), Self.longestDelay)
    }

    /// Whether the last failure should be logged: the first, second, fourth, eighth, and so on.
    var isWorthLogging: Bool { failures & (failures - 1) == 0 }
}
