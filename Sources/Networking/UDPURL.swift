// SPDX-License-Identifier: Apache-2.0

/// The address of an MPEG transport stream over UDP: `udp://239.1.1.1:5000?ttl=4&localaddr=192.0.2.1`. The receiver is
/// a multicast group or one host.
///
/// Options have FFmpeg's names: `ttl`, `pkt_size`, `localaddr`, `dscp` or `tos`, `buffer_size`. The address contains no
/// secrets.
package struct UDPURL: Sendable, Equatable, CustomStringConvertible {
    /// The name or address of the receiver, which may be a multicast group.
    package let host: String
    /// The port of the receiver.
    package let port: UInt16
    /// The number of routers that a datagram may pass. Nil means the default: that of the system for a single host, and
    /// 1, which means the local network, for a multicast group. 0 keeps the datagrams on this machine, and is allowed
    /// only for the numeric address of a multicast group.
    package private(set) var timeToLive: Int32?
    /// Bytes per datagram: a whole number of TS packets.
    package private(set) var datagramBytes = 1316
    /// The local address from which datagrams are sent; for a multicast group, it also selects the interface.
    package private(set) var localAddress: String?
    /// The IP header's traffic class (RFC 2474: the code point in its upper six bits).
    package private(set) var trafficClass: Int32?
    /// Size of the kernel's send buffer in bytes.
    package private(set) var bufferBytes: Int32?

    /// The largest payload of a datagram, in bytes: as many whole TS packets as fit.
    private static let maximumDatagram: Int64 = 65_507 / 188 * 188

    /// Parses the address `text`.
    package init(_ text: String) throws(AddressError) {
        let parts = try URLParts(text)
        guard parts.scheme == "udp" else { throw AddressError("The address must begin with udp://.") }
        guard !parts.host.isEmpty else { throw AddressError("The address has no host to send to.") }
        guard let port = parts.port else {
            throw AddressError("The address has no port; MPEG-TS over UDP has no usual one.")
        }
        guard parts.path.isEmpty, parts.user == nil else {
            throw AddressError("A UDP address has no user and no path.")
        }
        host = parts.host
        self.port = port
        var options = OptionList(query: parts.query, of: "UDP")
        try take(&options)
        try options.finish()
        guard timeToLive != 0 || HostAddress(literal: host, port: port)?.isGroup == true else {
            throw AddressError("The UDP option ttl=0 is for a group's numeric address only.")
        }
    }

    private mutating func take(_ options: inout OptionList) throws(AddressError) {
        timeToLive = try options.takeNumber("ttl", in: 0...255).map { Int32($0) }
        if let size = try options.takeNumber("pkt_size", in: 188...Self.maximumDatagram) {
            guard size % 188 == 0 else { throw options.error(in: "pkt_size", "is a multiple of 188, such as 1316") }
            datagramBytes = Int(size)
        }
        localAddress = try options.take("localaddr")
        if let localAddress, localAddress.isEmpty || localAddress.utf8.count > 64 {
            throw options.error(in: "localaddr", "is an IP address of this host")
        }
        let codePoint = try options.takeNumber("dscp", in: 0...63)
        trafficClass = try options.takeNumber("tos", in: 0...255).map { Int32($0) }
        if let codePoint {
            // `dscp` and `tos` are two names of the same option, so only one of them may be given.
            guard trafficClass == nil else { throw options.error(in: "dscp", "is given twice, as tos too") }
            trafficClass = Int32(codePoint) << 2
        }
        bufferBytes = try options.takeNumber("buffer_size", in: 1316...256 << 20).map { Int32($0) }
    }

    package var description: String {
        let from = localAddress.map { "?localaddr=\($0)" } ?? ""
        return "udp://\(URLParts.bracketed(host)):\(port)\(from)"
    }
}
