// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Logging
internal import Media
internal import Networking
internal import Segmenter
internal import Synchronization

/// Looks each second whether this process can open another file or connection, and logs when it cannot, and when it can
/// again. Any thread may use it.
final class DescriptorWatch: Sendable {
    private struct State {
        var isExhausted = false
        var nextWarning = MonotonicInstant.distantPast
        /// Whether the present shortage was logged.
        var isTold = false
    }

    /// At most one shortage is logged in this time.
    private static let interval = Duration.seconds(60)

    private let clock: any MonotonicClock
    private let logger: Logger
    private let isExhausted: @Sendable () -> Bool
    private let timer = SecondTimer()
    private let state = Mutex(State())

    /// Creates a watch that does not run yet. `isExhausted` returns whether no file can be opened now.
    init(
        clock: any MonotonicClock, logger: Logger,
        isExhausted: @escaping @Sendable () -> Bool = { DescriptorLimit.isExhausted }
    ) {
        (self.clock, self.logger, self.isExhausted) = (clock, logger, isExhausted)
    }

    /// Looks each second on `queue`, until the watch is released.
    func start(on queue: DispatchQueue) {
        timer.start(on: queue, leeway: .milliseconds(200)) { [weak self] in self?.look() }
    }

    /// Looks once.
    func look() {
        let (isExhausted, now) = (isExhausted(), clock.now)
        let isNews: Bool = state.withLock { state in
            defer { state.isExhausted = isExhausted }
            guard isExhausted != state.isExhausted else { return false }
            if !isExhausted { return state.isTold }
            state.isTold = now >= state.nextWarning
            if state.isTold { state.nextWarning = now + Self.interval }
            return state.isTold
        }
        guard isNews else { return }
        if isExhausted {
            logger.warning(
                """
                no more files can be opened, so no connection can be made or accepted: raise the hard limit \
                (ulimit -Hn, or LimitNOFILE= of the service)
                """)
        } else {
            logger.notice("files can be opened again")
        }
    }
}
