// SPDX-License-Identifier: Apache-2.0

extension FleetValue {
    /// The value as JSON. A channel's description is written by the commands that apply it, and not by a host.
    package var json: String {
        switch self {
        case .host(let name): return JSONValue.object(["host": .string(name)]).json
        case .offer(let offer):
            var members = ["round": JSONValue.number(String(offer.round))]
            if let to = offer.to { members["to"] = .string(to) }
            if let cut = offer.cut { members["cut"] = .number(String(cut)) }
            return JSONValue.object(members).json
        case .successor(let successor):
            var members = ["host": JSONValue.string(successor.host)]
            switch successor.state {
            case .opening: members["state"] = .string("opening")
            case .ready: members["state"] = .string("ready")
            case .armed(let cut): (members["state"], members["cut"]) = (.string("armed"), .number(String(cut)))
            }
            return JSONValue.object(members).json
        case .demand, .mark: return "{}"
        }
    }

    /// Reads the value of an entry of this kind; nil if it is not valid.
    package init?(_ kind: FleetKey.Kind, _ bytes: [UInt8]) {
        guard let value = try? JSONParser.value(of: bytes, limit: 1 << 16), case .object = value else { return nil }
        switch kind {
        case .claim, .host, .move:
            guard let host = value["host"]?.text else { return nil }
            self = .host(host)
        case .offer:
            guard let round = value["round"]?.integer.flatMap({ Int(exactly: $0) }) else { return nil }
            self = .offer(HandoverOffer(to: value["to"]?.text, cut: value["cut"]?.integer, round: round))
        case .successor:
            guard let host = value["host"]?.text else { return nil }
            switch (value["state"]?.text, value["cut"]?.integer) {
            case ("opening", _): self = .successor(HandoverSuccessor(host: host, state: .opening))
            case ("ready", _): self = .successor(HandoverSuccessor(host: host, state: .ready))
            case ("armed", let cut?): self = .successor(HandoverSuccessor(host: host, state: .armed(cut: cut)))
            default: return nil
            }
        case .drain: self = .mark
        case .channel, .other: return nil
        }
    }
}
