// SPDX-License-Identifier: Apache-2.0

/// One attempt with the queue that it reads.
final class OutputLane: Sendable {
    let attempt: any OutputAttempt
    let number: Int
    let target: any OutputTarget
    /// Which of the output's targets that is.
    let endpoint: OutputEndpoint
    let packets: PacketQueue
    /// Who sends what the queue holds.
    let server: any PacketServer

    init(
        attempt: any OutputAttempt, number: Int, target: any OutputTarget, endpoint: OutputEndpoint = .primary,
        packets: PacketQueue
    ) {
        (self.attempt, self.number, self.packets) = (attempt, number, packets)
        (self.target, self.endpoint) = (target, endpoint)
        server = attempt.server
    }
}

extension OutputAttempts {
    /// An attempt beside the one on air.
    enum Candidate {
        /// Its peer has not accepted it yet. Next: `ready`, or none.
        case connecting(OutputLane)
        /// It takes over at the next keyframe. Next: it is the one on air, or none.
        case ready(OutputLane)

        var lane: OutputLane {
            switch self {
            case .connecting(let lane), .ready(let lane): lane
            }
        }
    }
}
