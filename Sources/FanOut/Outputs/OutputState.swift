// SPDX-License-Identifier: Apache-2.0

package import Media

/// The state of an output, in the words that status, metrics and log use.
package enum OutputState: Sendable, Equatable {
    /// The output was not started.
    case idle
    /// Attempt number `attempt` is connecting.
    case connecting(attempt: Int)
    /// The output listens, but there are no receivers. This is not a failure, and has no time limit.
    case waiting
    /// On air since `since` (monotonic nanoseconds): the peer accepted.
    case live(since: Int64)
    /// The program is over; queued packets are sent until `deadline`.
    case draining(deadline: Int64)
    /// The output waits for the next attempt, which is due at `until`.
    case backingOff(until: Int64, cause: OutputFailure)
    /// The peer refused permanently. The output is retried rarely, next at `until`.
    case refused(until: Int64, cause: OutputFailure)
    /// The maximum number of attempts failed; an operator can retry.
    case givenUp(cause: OutputFailure)
    /// An operator took the output off air.
    case paused
    /// The output has ended.
    case stopped

    /// The display text of ``waiting``.
    static let waitingWords = "waiting for a caller"

    /// A state without its associated values, for status and metrics.
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

    /// The state's name.
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

/// The address that an attempt uses.
package enum OutputEndpoint: String, Sendable, Codable, CaseIterable {
    /// The output's main address.
    case primary
    /// The address to use while the primary does not work.
    case backup
    /// The address to which the server redirected the output.
    case redirected
}
