// SPDX-License-Identifier: Apache-2.0

package import Media

/// The state of an output. Status, metrics and log use the same names for the states.
package enum OutputState: Sendable, Equatable {
    /// The output has not been started.
    case idle
    /// Attempt number `attempt` is connecting.
    case connecting(attempt: Int)
    /// The output listens, but no receiver is connected. This is no failure and may last for any time.
    case waiting
    /// The peer accepted the stream, and the output has been on air since `since`.
    case live(since: MonotonicInstant)
    /// The program is over, or the output was removed. The output sends its queued packets, but not longer than until
    /// `deadline`.
    case draining(deadline: MonotonicInstant)
    /// The last attempt failed because of `cause`. The output waits until `until` before the next attempt.
    case backingOff(until: MonotonicInstant, cause: OutputFailure)
    /// The peer refused the stream permanently because of `cause`. The output tries again only rarely, next at `until`.
    case refused(until: MonotonicInstant, cause: OutputFailure)
    /// The maximum number of attempts failed. The output makes no attempt until an operator asks for one.
    case givenUp(cause: OutputFailure)
    /// An operator took the output off air. The output stays off air until an operator resumes it.
    case paused
    /// The output has ended and will not start again.
    case stopped

    /// The text that operators see for ``waiting``.
    static let waitingWords = "waiting for a caller"

    /// The name of a state, without the state's associated values, for status and metrics.
    package enum Name: String, Sendable, Codable, CaseIterable {
        case idle
        case connecting
        case waiting
        case live
        case draining
        case backingOff = "backing_off"
        case refused
        case givenUp = "given_up"
        case paused
        case stopped
    }

    /// The name of this state.
    package var name: Name {
        switch self {
        case .idle: .idle
        case .connecting: .connecting
        case .waiting: .waiting
        case .live: .live
        case .draining: .draining
        case .backingOff: .backingOff
        case .refused: .refused
        case .givenUp: .givenUp
        case .paused: .paused
        case .stopped: .stopped
        }
    }
}

/// Which of an output's addresses an attempt uses.
package enum OutputEndpoint: String, Sendable, Codable, CaseIterable {
    /// The output's main address.
    case primary
    /// The address that is used while the primary address does not work.
    case backup
    /// The address to which the server redirected the output.
    case redirected
}
