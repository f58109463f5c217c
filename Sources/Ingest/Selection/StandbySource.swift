// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import Logging
internal import Media
internal import Synchronization

/// A source that is opened when it is wanted, and closed when it is not. Opening is retried until the source answers.
///
/// A live source, once opened, reopens its input by itself. A file that fails is opened again by this class. A file
/// that was played to its end is not opened again.
package final class StandbySource: Sendable {
    /// A source that is open and delivers.
    package struct Running: Sendable {
        let status: @Sendable () -> SourceStatus
        let stop: @Sendable () -> Void

        /// A source whose frames are decoded.
        package init(_ source: any MediaSource) { (status, stop) = ({ source.status }, { source.stop() }) }
        /// A source whose packets are passed on.
        package init(_ source: any PacketSource) { (status, stop) = ({ source.status }, { source.stop() }) }
    }

    /// A snapshot of the state of the source.
    package struct Report: Sendable {
        /// The status that the source reports; before the source was opened, the status of the attempt to open it.
        package var status = SourceStatus()
        /// How often opening the source, or the opened source, has failed since ``StandbySource/start()``.
        package var failures = 0
        /// The error with which opening the source last failed; nil if opening has not failed, or if the source was
        /// opened since then.
        package var error: (any Error)?
        /// Whether the source is being opened and its opening waits for the first frame of its video.
        package var isDescribing = false
        /// Whether a file that is played once was played to its end.
        package var isOver = false
    }

    /// Opens the source and starts it. Blocks until the source answers. If the source is closed meanwhile, the attempt
    /// is cancelled, and `isWanted` returns false from then on. Throws the reason if opening fails. Called on the
    /// source's queue.
    package typealias Opener = @Sendable (SourceOpening, _ isWanted: () -> Bool) throws -> Running

    private struct State {
        /// The number of openings and closings so far. It is odd while the source is wanted.
        var turn = 0
        var opening: SourceOpening?
        var onlyKeyframes = false
        var source: Running?
        var report = Report()
    }

    private let name: String
    private let open: Opener
    private let logger: Logger
    private let queue: DispatchQueue
    private let state = Mutex(State())
    private let changed = DispatchSemaphore(value: 0)

    /// Creates a closed source. `name` is the source's name in logs.
    package init(name: String, logger: Logger, open: @escaping Opener) {
        (self.name, self.logger, self.open) = (name, logger, open)
        queue = DispatchQueue(label: "relay.standby.\(name)")
    }

    /// Opens the source, unless that was already requested. Returns at once.
    package func start() {
        let turn: Int? = state.withLock { state in
            guard state.turn % 2 == 0 else { return nil }
            state.turn += 1
            state.report = Report()
            return state.turn
        }
        guard let turn else { return }
        queue.async { [self] in run(turn) }
    }

    /// Sets whether only keyframes of the source's video are decoded, now and when the source is opened again.
    package func decode(onlyKeyframes: Bool) {
        state.withLock { state in
            state.onlyKeyframes = onlyKeyframes
            return state.opening
        }?.decode(onlyKeyframes: onlyKeyframes)
    }

    /// Closes the source. Returns at once; a delivery that has begun can still reach the sink.
    package func stop() {
        let (opening, source) = state.withLock { state in
            if state.turn % 2 == 1 { state.turn += 1 }
            defer { (state.opening, state.source, state.report) = (nil, nil, Report()) }
            return (state.opening, state.source)
        }
        opening?.cancel()
        source?.stop()
        changed.signal()
    }

    /// A snapshot of the state of the source.
    package var report: Report {
        state.withLock { state in
            var report = state.report
            if let source = state.source { report.status = source.status() }
            report.isDescribing = state.opening?.monitor.isDescribing == true
            return report
        }
    }

    private func isWanted(_ turn: Int) -> Bool { state.withLock { $0.turn == turn } }

    /// Changes the state, unless the source was closed since `turn` began. In that case the source might already be
    /// open again, and the state then belongs to a later turn.
    private func update(_ turn: Int, _ change: (inout State) -> Void) {
        state.withLock { if $0.turn == turn { change(&$0) } }
    }

    private func run(_ turn: Int) {
        var schedule = ReopenSchedule()
        let clock = SystemClock()
        while isWanted(turn) {
            let began = clock.now
            let (failure, error) = play(turn)
            // A file that is played once is not opened again after its end.
            guard isWanted(turn), !state.withLock({ $0.report.isOver }) else { return }
            let delay = schedule.fail(after: clock.now - began)
            update(turn) { state in
                state.source = nil
                state.report.failures += 1
                state.report.error = error
                state.report.status.state = .waiting
                state.report.status.lastError = failure
            }
            if schedule.isWorthLogging {
                logger.warning(
                    "input cannot be opened and will be tried again",
                    metadata: [
                        "input": "\(name)", "reason": "\(failure)", "delay_s": "\(delay.components.seconds)",
                        "failures": "\(schedule.failures)",
                    ])
            }
            pause(delay, turn)
        }
    }

    /// Opens the source and lets it deliver until it ends. Returns the reason for its end, in words, and the error if
    /// opening failed.
    private func play(_ turn: Int) -> (reason: String, error: (any Error)?) {
        let opening = SourceOpening(logger: logger)
        let isWanted = { self.isWanted(turn) }
        guard
            state.withLock({ state in
                guard state.turn == turn else { return false }
                state.opening = opening
                opening.decode(onlyKeyframes: state.onlyKeyframes)
                return true
            })
        else { return ("", nil) }
        let source: Running
        do {
            defer { opening.monitor.isDescribing = false }
            source = try open(opening, isWanted)
        } catch {
            return ("\(error)", error)
        }
        defer { source.stop() }
        update(turn) { ($0.source, $0.report.error) = (source, nil) }
        while isWanted() {
            switch source.status().state {
            case .ended:
                update(turn) { $0.report.isOver = true }
                return ("The input \(name) ended.", nil)
            case .failed: return (source.status().lastError ?? "The input \(name) failed.", nil)
            case .opening, .running, .waiting: _ = changed.wait(timeout: .now() + .milliseconds(20))
            }
        }
        return ("", nil)
    }

    private func pause(_ delay: Duration, _ turn: Int) {
        let end = SystemClock().now + delay
        while isWanted(turn), case let left = end - SystemClock().now, left > .zero {
            _ = changed.wait(timeout: .now() + .nanoseconds(Int(left.inNanoseconds)))
        }
    }
}
