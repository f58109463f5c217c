// SPDX-License-Identifier: Apache-2.0

/// One attempt with the queue that it reads.
final class OutputLane: Sendable {
    let attempt: any OutputAttempt
    let number: Int
    let target: any OutputTarget
    let packets: PacketQueue
    /// Who sends what the queue holds.
    let server: any PacketServer

    init(attempt: any OutputAttempt, number: Int, target: any OutputTarget, packets: PacketQueue) {
        (self.attempt, self.number, self.target, self.packets) = (attempt, number, target, packets)
        server = attempt.server
    }
}

extension OutputLanes {
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
