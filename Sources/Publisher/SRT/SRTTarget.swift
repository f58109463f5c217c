// SPDX-License-Identifier: Apache-2.0

public import FanOut
public import Media
public import SRT

/// An SRT receiver, called, awaited, or met halfway.
public struct SRTTarget: OutputTarget {
    private let url: SRTURL
    private let name: String

    /// The receiver at `url` for the output `name`.
    public init(url: SRTURL, name: String) {
        self.url = url
        self.name = name
    }

    public var kind: String { "srt" }
    public var displayAddress: String { url.description }
    public var awaitsCallers: Bool { url.mode == .listener }

    public func refusal(of stream: StreamDescription) -> String? { Carriage.transportStream.refusal(of: stream) }

    public func makeAttempt(
        queue: PacketQueue, description: StreamDescription, report: @escaping @Sendable (AttemptEvent) -> Void
    ) -> any OutputAttempt {
        switch url.mode {
        case .caller, .rendezvous:
            SRTCallAttempt(url: url, name: name, packets: queue, description: description, report: report)
        case .listener:
            SRTListenAttempt(url: url, name: name, packets: queue, description: description, report: report)
        }
    }
}
