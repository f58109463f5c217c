// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import FanOut
package import Media
internal import SRT

/// The target of an SRT output: relay connects to a receiver, waits for receivers, or uses rendezvous mode.
///
/// ```swift
/// let target = SRTTarget(url: url, name: "studio")
/// let attempt = target.makeAttempt(queue: queue, description: stream.description) { event in
///     print(event)
/// }
/// ```
package struct SRTTarget: OutputTarget {
    let url: SRTURL
    /// The output's name.
    let name: String

    package var kind: OutputKindName { OutputKind.srt.name }
    package var displayAddress: String { url.description }
    package var awaitsCallers: Bool { url.mode == .listener }
    package var place: OutputPlace? {
        url.mode == .listener ? OutputPlace("srt port \(url.port)", succession: url.listeningSocket) : nil
    }

    package var carriage: Carriage { .transportStream }

    package func makeAttempt(
        queue: PacketQueue, description: StreamDescription, report: @escaping @Sendable (AttemptEvent) -> Void
    ) -> any OutputAttempt {
        let context = AttemptContext(
            on: DispatchQueue(label: "relay.srt.\(name)", qos: .userInitiated), packets: queue,
            description: description,
            report: report)
        switch url.mode {
        case .caller, .rendezvous: return SRTCallAttempt(url: url, context: context)
        case .listener: return SRTListenAttempt(url: url, context: context)
        }
    }
}
