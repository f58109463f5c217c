// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// Plays an input, and opens it again when it ends or fails, until it is stopped or a new attempt cannot help. If only
/// the codec of a stream has changed, the input is opened again at once, otherwise after 1 to 5 s. Used by one thread.
final class ReopenLoop {
    private let name: String
    private let monitor: SourceMonitor
    private let clock: any MonotonicClock
    private var schedule = ReopenSchedule()
    /// When the current input was opened; nil while no input is open.
    private var openedAt: Int64?
    /// Whether the input is the one that was opened when its source was created.
    private(set) var isFirst = true

    /// A loop for the input that logs call `name`.
    init(_ name: String, monitor: SourceMonitor, clock: any MonotonicClock = SystemClock()) {
        (self.name, self.monitor, self.clock) = (name, monitor, clock)
    }

    /// Calls `play`, which plays the input and returns the failure that ended it; except for the first time, it also
    /// opens the input. This is repeated as long as `lasts` returns true for that failure. `pausing` is called before
    /// each pause. Returns the last failure, which is also in the status.
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
        let played = Duration.nanoseconds(openedAt.map { clock.now - $0 } ?? 0)
        let delay = monitor.pauseToReopen(schedule.fail(after: played))
        monitor.noteInterruption(name, failure, schedule, delay)
        pausing()
        monitor.pause(delay)
        if !monitor.isStopped { monitor.update { $0.state = .opening } }
    }

    /// Opens the input again with `open`, unless its playlist has no new segment, and reports the opening to the
    /// monitor. `streams` returns the streams that are played.
    func reopen<Input>(
        _ open: () throws(IngestError) -> Input, streams: (Input) -> [StreamInfo]
    ) throws(IngestError) -> Input {
        try monitor.checkPlaylistAdvances(name)
        let isAtChange = monitor.isAtChange
        let input = try open()
        if isAtChange {
            monitor.noteChange(name, streams(input))
        } else {
            monitor.noteOpenAgain(name, isWorthLogging: schedule.isWorthLogging)
        }
        openedAt = clock.now
        return input
    }
}
