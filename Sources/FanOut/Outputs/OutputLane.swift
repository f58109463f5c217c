// SPDX-License-Identifier: Apache-2.0

/// A lane: one attempt together with its packet queue.
final class OutputLane: Sendable {
    let attempt: any OutputAttempt
    let number: Int
    let target: any OutputTarget
    /// Whether the attempt uses the primary, the backup or a redirected address.
    let endpoint: OutputEndpoint
    let packets: PacketQueue
    /// The server that sends the packets of the queue.
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
    /// A second attempt that runs while another attempt is on air, and is to replace it.
    enum Candidate {
        /// The candidate's peer has not accepted the stream yet. The candidate then becomes `ready`, or is removed.
        case connecting(OutputLane)
        /// The candidate's peer has accepted the stream. The candidate goes on air at the next keyframe, or is removed.
        case ready(OutputLane)

        var lane: OutputLane {
            switch self {
            case .connecting(let lane), .ready(let lane): lane
            }
        }
    }
}
