// SPDX-License-Identifier: Apache-2.0

package import Media

/// What an output is doing, in the words that status, metrics and log use.
package enum OutputState: Sendable, Equatable {
    /// Not started.
    case idle
    /// The `attempt`-th attempt is under way.
    case connecting(attempt: Int)
    /// The output is open for receivers that call, and none is there. It has not failed, and waits as long as it takes.
    case waiting
    /// On air since `since` (monotonic nanoseconds): the peer accepted.
    case live(since: Int64)
    /// The program is over; what is queued goes out until `deadline`.
    case draining(deadline: Int64)
    /// Waiting for the next attempt, due at `until`.
    case backingOff(until: Int64, cause: OutputFailure)
    /// The peer refused for good; tried again rarely, next at `until`.
    case refused(until: Int64, cause: OutputFailure)
    /// As many attempts failed as were allowed; nothing happens until somebody asks for it.
    case givenUp(cause: OutputFailure)
    /// An operator took the output off air.
    case paused
    /// Over.
    case stopped

    /// What ``waiting`` is called where an operator reads it.
    static let waitingWords = "waiting for a caller"

    /// A state without what belongs to it, for status and metrics.
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

/// Which of an output's addresses an attempt is made at.
package enum OutputEndpoint: String, Sendable, Codable, CaseIterable {
    /// The output's own.
    case primary
    /// The one for when the primary does not serve.
    case backup
    /// Where the server asked the output to go.
    case redirected
}
