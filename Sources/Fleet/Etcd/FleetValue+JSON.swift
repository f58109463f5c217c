// SPDX-License-Identifier: Apache-2.0

extension FleetValue {
    /// The greatest length of a value in bytes.
    private static let limit = 1 << 16

    /// A value that names a host.
    private struct HostRecord: Codable {
        var host: String
    }

    /// A successor as it is written: `cut` is the frame of an armed one.
    private struct SuccessorRecord: Codable {
        enum State: String, Codable { case opening, ready, armed }

        var host: String
        var state: State
        var cut: Int64?

        init(_ successor: HandoverSuccessor) {
            host = successor.host
            switch successor.state {
            case .opening: state = .opening
            case .ready: state = .ready
            case .armed(let frame): (state, cut) = (.armed, frame)
            }
        }

        /// The successor; nil if it is armed without a frame.
        var successor: HandoverSuccessor? {
            switch (state, cut) {
            case (.opening, _): HandoverSuccessor(host: host, state: .opening)
            case (.ready, _): HandoverSuccessor(host: host, state: .ready)
            case (.armed, let cut?): HandoverSuccessor(host: host, state: .armed(cut: cut))
            case (.armed, nil): nil
            }
        }
    }

    /// The value as JSON. A channel's description is written by the commands that apply it, and not by a host.
    package var json: String {
        switch self {
        case .host(let name): FleetJSON.text(HostRecord(host: name))
        case .offer(let offer): FleetJSON.text(offer)
        case .successor(let successor): FleetJSON.text(SuccessorRecord(successor))
        case .demand, .mark: "{}"
        }
    }

    /// Reads the value of an entry of this kind; nil if it is not valid.
    package init?(_ kind: FleetKey.Kind, _ bytes: [UInt8]) {
        func record<Record: Decodable>(_ type: Record.Type) -> Record? {
            FleetJSON.value(type, of: bytes, limit: Self.limit)
        }
        let value: FleetValue? =
            switch kind {
            case .claim, .host, .move: record(HostRecord.self).map { .host($0.host) }
            case .offer: record(HandoverOffer.self).map { .offer($0) }
            case .successor: record(SuccessorRecord.self)?.successor.map { .successor($0) }
            case .drain: .mark
            case .channel, .other: nil
            }
        guard let value else { return nil }
        self = value
    }
}
