// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// An IP address without a port. An IPv4-mapped IPv6 address, such as `::ffff:192.0.2.1`, is treated as the IPv4
/// address, because a socket for both families reports IPv4 clients in this form.
package struct IPAddress: Hashable, Sendable {
    /// The bytes of the address in network order: 4 or 16 bytes.
    package let bytes: [UInt8]

    /// Parses `text`, which has no brackets and no zone; nil if it is not an IP address, for example a host name.
    package init?(_ text: String) {
        // For inet_pton, text ends at a NUL: what follows would be ignored.
        guard !text.utf8.contains(0) else { return nil }
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 {
            self.bytes = Array(bytes.prefix(4))
        } else if inet_pton(AF_INET6, text, &bytes) == 1 {
            self.bytes = Self.unmapped(bytes)
        } else {
            return nil
        }
    }

    /// The address of these bytes in network order; nil unless there are 4 or 16 of them.
    package init?(bytes: [UInt8]) {
        switch bytes.count {
        case 4: self.bytes = bytes
        case 16: self.bytes = Self.unmapped(bytes)
        default: return nil
        }
    }

    /// Whether this is an address of the loopback interface.
    package var isLoopback: Bool {
        bytes.count == 4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
    }

    /// The IPv4 address in an IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2). Other addresses are returned unchanged.
    private static func unmapped(_ bytes: [UInt8]) -> [UInt8] {
        let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10...11].allSatisfy { $0 == 0xFF }
        return isMapped ? Array(bytes.suffix(4)) : bytes
    }
}

/// A range of IP addresses: one address, or a network such as `10.0.0.0/8`.
package struct AddressRange: Hashable, Sendable {
    private let first: IPAddress
    /// The number of leading bits that all addresses of the range have in common.
    private let length: Int

    /// Parses `text`; nil if it is neither an address nor a network.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let start = parts.first, let first = IPAddress(String(start)) else { return nil }
        let bits = first.bytes.count * 8
        guard parts.count == 2 else {
            (self.first, length) = (first, bits)
            return
        }
        let isNumber = parts[1].utf8.allSatisfy { (48...57).contains($0) }
        guard isNumber, let length = Int(parts[1]), (0...bits).contains(length) else { return nil }
        (self.first, self.length) = (first, length)
    }

    /// Whether `address` is in the range.
    package func contains(_ address: IPAddress) -> Bool {
        guard address.bytes.count == first.bytes.count else { return false }
        return zip(address.bytes, first.bytes).enumerated().allSatisfy { index, pair in
            let bits = min(8, max(0, length - index * 8))
            return (pair.0 ^ pair.1) >> (8 - bits) == 0
        }
    }
}
