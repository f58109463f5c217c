// SPDX-License-Identifier: Apache-2.0

/// The network of a client. A client's actions are counted for its network. This is the IPv4 address of the client, or
/// the /64 network of its IPv6 address, because a host may use all addresses of such a network (RFC 7934).
package struct ClientNetwork: Hashable, Sendable, CustomStringConvertible {
    /// The address or network as text.
    package let description: String

    /// The network of `address`. If `address` is nil, it is the common network of all clients whose addresses are
    /// unknown.
    package init(_ address: IPAddress?) {
        guard let bytes = address?.bytes else {
            description = "?"
            return
        }
        guard bytes.count == 16 else {
            description = bytes.map { "\($0)" }.joined(separator: ".")
            return
        }
        let groups = stride(from: 0, to: 8, by: 2).map { index in
            String(Int(bytes[index]) << 8 | Int(bytes[index + 1]), radix: 16)
        }
        description = "\(groups.joined(separator: ":"))::/64"
    }

    /// The network of `address`, an IP address as text, which may contain a zone.
    package init(_ address: String) { self.init(IPAddress(String(address.prefix { $0 != "%" }))) }
}
