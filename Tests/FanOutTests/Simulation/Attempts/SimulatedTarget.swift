// SPDX-License-Identifier: Apache-2.0

import FanOut
import Media

@testable import Publisher

/// A target whose attempts send to a simulated peer.
struct SimulatedTarget: OutputTarget {
    let kind = OutputKindName(rawValue: "simulated")
    let carriage = Carriage.movie
    let displayAddress: String
    let transport: SimulatedAttempt.Transport
    let peer: SimulatedPeer
    /// The peer to which the server redirects.
    let elsewhere: SimulatedPeer
    let context: SimulationContext
    let record: SentRecord

    var awaitsCallers: Bool { transport == .listener }

    func redirected(to address: String) -> (any OutputTarget)? {
        SimulatedTarget(
            displayAddress: address, transport: transport, peer: elsewhere, elsewhere: peer, context: context,
            record: record)
    }

    func makeAttempt(
        queue: PacketQueue, description: StreamDescription, report: @escaping @Sendable (AttemptEvent) -> Void
    ) -> any OutputAttempt {
        let attempt = SimulatedAttempt(
            name: displayAddress, transport: transport, peer: peer, simulation: context, record: record,
            context: AttemptContext(
                on: context.attempts.queue, packets: queue, description: description, clock: context.clock,
                report: report))
        record.add(attempt, report: report)
        return attempt
    }
}
