// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Logging
internal import Media
internal import Status
internal import Synchronization

/// Where all loggers of the process write: puts lines into words, and leaves out what repeats itself.
///
/// For any thread.
final class LogWriter: Sendable {
    private struct State {
        var limit = LogLimit()
        /// Whether a look at intervals that end is due.
        var isWaiting = false
    }

    private let format: LogFormat
    /// Whether lines of text name their channel: where there may be several.
    private let namesChannels: Bool
    /// Where what an operator reads later is kept; nil for nowhere.
    private let events: EventLog?
    private let clock: any MonotonicClock
    private let write: @Sendable (Logger.Level, String) -> Void
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "relay.log", qos: .utility)

    /// A writer of lines in `format` to `write`, with the level of each.
    init(
        format: LogFormat, namesChannels: Bool = true, events: EventLog? = nil,
        clock: any MonotonicClock = SystemClock(),
        write: @escaping @Sendable (Logger.Level, String) -> Void
    ) {
        (self.format, self.namesChannels, self.events) = (format, namesChannels, events)
        (self.clock, self.write) = (clock, write)
    }

    /// Writes a line, or counts it. Details are always written: who asks for them wants all.
    func log(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata) {
        guard level >= .info else { return put(level, message, metadata) }
        let now = clock.now
        let (ended, isAdmitted, wait) = state.withLock { state -> ([LogLimit.LeftOut], Bool, Int64?) in
            let ended = state.limit.takeEnded(at: now)
            let isAdmitted = state.limit.admits(level, "\(message)", metadata, at: now)
            if isAdmitted || state.isWaiting { return (ended, isAdmitted, nil) }
            state.isWaiting = true
            return (ended, isAdmitted, state.limit.nextEnd)
        }
        tell(ended)
        if isAdmitted { put(level, message, metadata) }
        if let wait { look(in: wait - now) }
    }

    /// Says what was left out in intervals that are over; at the process's end, in all.
    func tellLeftOut(isEnd: Bool = false) {
        tell(state.withLock { $0.limit.takeEnded(at: isEnd ? .max : clock.now) })
    }

    private func look(in nanoseconds: Int64) {
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(max(0, nanoseconds)))) { [self] in
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
            // Only the metadata that the lines left out have in common is true of all of them.
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
