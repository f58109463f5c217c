// SPDX-License-Identifier: Apache-2.0

/// One attempt with its queue.
final class OutputLane: Sendable {
    let attempt: any OutputAttempt
    let number: Int
    let target: any OutputTarget
    /// The attempt's endpoint.
    let endpoint: OutputEndpoint
    let packets: PacketQueue
    /// The server that sends the queue's packets.
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
    /// A second attempt, while another attempt is on air.
    enum Candidate {
        /// Its peer has not accepted the stream yet. Next: `ready`, or removal.
        case connecting(OutputLane)
        /// The candidate takes over at the next keyframe. Next: on air, or removal.
        case ready(OutputLane)

        var lane: OutputLane {
            switch self {
            case .connecting(let lane), .ready(let lane): lane
            }
        }
    }
}
