// SPDX-License-Identifier: Apache-2.0

package import CLinux  // the parts of netdb.h and sys/socket.h that the Glibc module lacks
package import Glibc
internal import Media

/// An Internet address with a port, in the kernel's format.
package struct HostAddress: Sendable, Equatable, CustomStringConvertible {
    /// The address family: `AF_INET` or `AF_INET6`.
    package let family: CInt
    private let bytes: [UInt8]

    fileprivate init?(_ entry: addrinfo) {
        guard let address = entry.ai_addr, entry.ai_family == AF_INET || entry.ai_family == AF_INET6 else { return nil }
        family = entry.ai_family
        bytes = Array(UnsafeRawBufferPointer(start: address, count: Int(entry.ai_addrlen)))
    }

    /// Parses `literal`, such as `127.0.0.1`, `::1` or `fe80::1%eth0`; `nil` if it is a name.
    package init?(literal: String, port: UInt16) {
        guard let first = try? Self.lookUp(literal, port: port, flags: AI_NUMERICHOST).first else { return nil }
        self = first
    }

    /// Returns the usual spelling of the address at which a server for `host` listens, so that hosts can be compared.
    /// `localhost` and an empty host become `127.0.0.1`, `0:0:0:0:0:0:0:1` becomes `::1`, and an IPv4-mapped IPv6
    /// address becomes the IPv4 address. Other names are returned unchanged.
    package static func listening(at host: String) -> String {
        if ["", "localhost"].contains(host.lowercased()) { return "127.0.0.1" }
        guard let text = HostAddress(literal: host, port: 0)?.description else { return host }
        guard let address = IPAddress(text), address.bytes.count == 4 else { return text }
        return address.bytes.map { "\($0)" }.joined(separator: ".")
    }

    /// The addresses for listening on all interfaces: `0.0.0.0` and `::`.
    package static func any(port: UInt16) -> [HostAddress] { (try? lookUp(nil, port: port, flags: AI_PASSIVE)) ?? [] }

    /// Asks the system's resolver for `host`. Returns the addresses in the resolver's order of preference. Blocks as
    /// long as the resolver blocks.
    static func lookUp(_ host: String?, port: UInt16, flags: CInt = 0) throws(OutputFailure) -> [HostAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)  // all socket types have the same addresses
        hints.ai_flags = AI_NUMERICSERV | flags
        var first: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &first)
        defer { if let first { freeaddrinfo(first) } }
        guard status == 0 else {
            let reason = "\(host ?? "*"): \(String(cString: gai_strerror(status)))"
            let isUnknown = status == EAI_NONAME
            throw OutputFailure(.unreachable, step: "resolve", reason: reason, hint: isUnknown ? .unknownName : nil)
        }
        return sequence(first: first) { $0?.pointee.ai_next }.prefix { $0 != nil }
            .compactMap { $0.flatMap { HostAddress($0.pointee) } }
    }

    /// The address without port and zone, in network order: 4 or 16 bytes.
    var networkBytes: [UInt8] { Array(family == AF_INET ? bytes[4..<8] : bytes[8..<24]) }

    /// Whether this is a multicast address: 224.0.0.0/4 (RFC 5771) or ff00::/8 (RFC 4291, 2.7).
    var isGroup: Bool {
        let first = networkBytes.first ?? 0
        return family == AF_INET6 ? first == 0xFF : first >> 4 == 0xE
    }

    /// The index of the local interface that has this IPv6 address; nil for IPv4, or if no interface has the address. A
    /// link-local address contains the index of its interface.
    var interfaceIndex: UInt32? {
        guard family == AF_INET6 else { return nil }
        let scope = bytes[24..<28].withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
        if scope != 0 { return scope }
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return nil }
        defer { freeifaddrs(first) }
        let own = sequence(first: first) { $0?.pointee.ifa_next }.prefix { $0 != nil }.first { entry in
            guard let other = entry?.pointee.ifa_addr, CInt(other.pointee.sa_family) == AF_INET6 else { return false }
            return Array(UnsafeRawBufferPointer(start: other, count: bytes.count)[8..<24]) == networkBytes
        }
        let index = own.flatMap { $0 }.map { if_nametoindex($0.pointee.ifa_name) } ?? 0
        return index == 0 ? nil : index
    }

    /// This address with another port.
    func with(port: UInt16) -> HostAddress {
        // The port is written after the family, which is its place in both families, in network order (ip(7), ipv6(7)).
        var copy = bytes
        copy.replaceSubrange(2..<4, with: [UInt8(port >> 8), UInt8(truncatingIfNeeded: port)])
        return HostAddress(family: family, bytes: copy)
    }

    private init(family: CInt, bytes: [UInt8]) {
        self.family = family
        self.bytes = bytes
    }

    /// Calls `body` with the address in the form that socket calls take. The pointer is valid only during the call.
    package func withSockaddr<R>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { $0.copyBytes(from: bytes) }
        return withUnsafePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(bytes.count)) }
        }
    }

    /// The address in numeric form, without the port.
    package var description: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { text in
            guard let start = text.baseAddress else { return "?" }
            let status = withSockaddr { getnameinfo($0, $1, start, socklen_t(text.count), nil, 0, NI_NUMERICHOST) }
            return status == 0 ? String(cString: start) : "?"
        }
    }
}
