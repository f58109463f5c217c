// SPDX-License-Identifier: Apache-2.0

/// The key of an entry in the fleet's store.
package struct FleetKey: Hashable, Sendable {
    /// What an entry is about. The raw value is its folder in the store.
    package enum Kind: String, Sendable, CaseIterable {
        /// The description of a channel.
        case channel
        /// The host that holds a channel. The revision at which the entry was created is the channel's token.
        case claim
        /// The offer of the holder to hand the channel over.
        case offer
        /// The host that will hold the channel after a planned move.
        case successor
        /// A living host.
        case host
        /// An operator's request to drain a host.
        case drain
        /// An operator's request to move a channel.
        case move
        /// An entry of a kind that this version does not know. It is included in the number of all entries.
        case other
    }

    /// What the entry is about.
    package var kind: Kind
    /// The name of the channel or host.
    package var name: String

    /// The key of the entry of this kind about the channel or host `name`.
    package init(_ kind: Kind, _ name: String) { (self.kind, self.name) = (kind, name) }
}

/// The value of an entry in the fleet's store.
package enum FleetValue: Sendable, Equatable {
    /// The name of a host: the holder in a claim, or the target of a move.
    case host(String)
    /// The description of a channel.
    case demand(ChannelDemand)
    /// An offer to hand a channel over.
    case offer(HandoverOffer)
    /// The state of a successor.
    case successor(HandoverSuccessor)
    /// No value: only the existence of the entry matters.
    case mark
}

/// An entry in the fleet's store.
package struct FleetEntry: Sendable, Equatable {
    /// The value.
    package var value: FleetValue
    /// The revision at which the entry was created.
    package var created: Int64
    /// The revision at which the value was last written.
    package var modified: Int64
    /// The lease with which the entry ends; nil for an entry that stays.
    package var lease: Int64?

    /// An entry with this value.
    package init(_ value: FleetValue, created: Int64, modified: Int64, lease: Int64? = nil) {
        (self.value, self.created, self.modified, self.lease) = (value, created, modified, lease)
    }

    /// The host that the entry names, if it names one.
    package var host: String? {
        switch value {
        case .host(let name): name
        case .successor(let successor): successor.host
        default: nil
        }
    }
}

/// A change of an entry, as a watch reports it.
package struct FleetChange: Sendable, Equatable {
    /// The key of the entry.
    package var key: FleetKey
    /// The revision of the change.
    package var revision: Int64
    /// The entry after the change; nil if it was deleted.
    package var entry: FleetEntry?

    /// The change of `key` to `entry` at `revision`.
    package init(_ key: FleetKey, revision: Int64, entry: FleetEntry?) {
        (self.key, self.revision, self.entry) = (key, revision, entry)
    }
}

// MARK: JSON

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
