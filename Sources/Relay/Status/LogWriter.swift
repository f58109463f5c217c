// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Logging
internal import Media
internal import Status
internal import Synchronization

/// Writes the log lines of the whole process: formats them, and drops repetitions.
///
/// Any thread may use it.
final class LogWriter: Sendable {
    private struct State {
        var limit = LogLimit()
        /// Whether a check for ended intervals of ``LogLimit`` is scheduled.
        var isWaiting = false
    }

    private let format: LogFormat
    /// Whether lines of text contain the name of their channel, because there may be several channels.
    private let namesChannels: Bool
    /// The store of events for operators; nil to store none.
    private let events: EventLog?
    private let clock: any MonotonicClock
    private let write: @Sendable (Logger.Level, String) -> Void
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "relay.log", qos: .utility)

    /// Creates a writer that formats lines in `format` and passes them with their level to `write`.
    init(
        format: LogFormat, namesChannels: Bool = true, events: EventLog? = nil,
        clock: any MonotonicClock = SystemClock(), write: @escaping @Sendable (Logger.Level, String) -> Void
    ) {
        (self.format, self.namesChannels, self.events) = (format, namesChannels, events)
        (self.clock, self.write) = (clock, write)
    }

    /// Writes a line, or only counts it if there are too many of its kind. Debug lines are always written, because an
    /// operator who enables them wants to see all of them.
    func log(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata) {
        guard level >= .info else { return put(level, message, metadata) }
        let now = clock.now
        let (ended, isAdmitted, next) = state.withLock { state -> ([LogLimit.LeftOut], Bool, MonotonicInstant?) in
            let ended = state.limit.takeEnded(at: now)
            let isAdmitted = state.limit.admits(level, "\(message)", metadata, at: now)
            if isAdmitted || state.isWaiting { return (ended, isAdmitted, nil) }
            state.isWaiting = true
            return (ended, isAdmitted, state.limit.nextEnd)
        }
        tell(ended)
        if isAdmitted { put(level, message, metadata) }
        if let next { look(in: next - now) }
    }

    /// Writes how many lines were dropped in the intervals that have ended. At the end of the process (`isEnd`), the
    /// running intervals are included.
    func tellLeftOut(isEnd: Bool = false) {
        tell(state.withLock { $0.limit.takeEnded(at: isEnd ? .distantFuture : clock.now) })
    }

    private func look(in wait: Duration) {
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(max(.zero, wait).inNanoseconds))) { [self] in
            tellLeftOut()
            let next = state.withLock { state in
                state.isWaiting = state.limit.nextEnd != nil
                return state.limit.nextEnd
            }
            if let next { look(in: next - clock.now) }
        }
    }

    private func tell(_ leftOut: [LogLimit.LeftOut]) {
        for lines in leftOut {
            // The report contains only the metadata that all dropped lines have in common, and the kind of event.
            let metadata = lines.metadata.filter { LogLimit.Cause.subjects.contains($0.key) || $0.key == LogKey.event }
            put(lines.level, "\(lines.count) more like this were left out: \(lines.message)", metadata)
        }
    }

    private func put(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata) {
        if let events, let told = ControlEvent(level, "\(message)", metadata) { events.append(told) }
        let metadata = metadata.filter { $0.key != LogKey.event }
        switch format {
        case .json: write(level, RelayLogHandler.json(level, message, metadata))
        case .text:
            let shown = namesChannels ? metadata : metadata.filter { $0.key != "channel" }
            write(level, RelayLogHandler.text(level, message, shown))
        }
    }
}
