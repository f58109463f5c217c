// SPDX-License-Identifier: Apache-2.0

internal import CLinux  // the parts of netdb.h and sys/socket.h that the Glibc module lacks
internal import Glibc
package import Media

/// Owns one UDP socket with a fixed receiver, and closes it in `deinit`. It never blocks.
package final class UDPSocket {
    /// The result of a send.
    package enum Outcome: Equatable {
        case sent
        /// The datagram was sent, but an earlier one reached no receiver.
        case sentAfterLoss(String)
        /// The kernel's send buffer is full.
        case wouldBlock
        /// The datagram was lost; the next one may arrive.
        case lost(String)
        /// Sending failed for another reason, for example because no network is reachable.
        case failed(String)
    }

    private let descriptor: CInt

    /// Opens a socket to the first of `addresses` for which a socket can be opened.
    package static func open(_ url: UDPURL, _ addresses: [HostAddress]) throws(OutputFailure) -> UDPSocket {
        var failure = OutputFailure(.unreachable, step: "connect", reason: "\(url): the name has no address")
        for address in addresses {
            do throws(OutputFailure) { return try UDPSocket(url, address) } catch { failure = error }
        }
        throw failure
    }

    private init(_ url: UDPURL, _ address: HostAddress) throws(OutputFailure) {
        let type = CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        descriptor = socket(address.family, type, 0)
        guard descriptor >= 0 else { throw Self.failure(url, "socket", errno) }
        try configure(url, address)
        guard address.withSockaddr({ connect(descriptor, $0, $1) }) == 0 else {
            throw Self.failure(url, "connect", errno)
        }
    }

    deinit { close(descriptor) }

    /// Sends one datagram.
    package func send(_ bytes: [UInt8]) -> Outcome {
        var earlier: String?
        while true {
            if Glibc.send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)) >= 0 {
                return earlier.map { .sentAfterLoss($0) } ?? .sent
            }
            switch errno {
            case EINTR: continue
            case EAGAIN, EWOULDBLOCK, ENOBUFS: return .wouldBlock
            // `send` has reported the error of an earlier datagram instead of sending this one, which it does once
            // (udp(7)). So this datagram is sent again.
            case ECONNREFUSED where earlier == nil, EHOSTUNREACH where earlier == nil:
                earlier = TCPSocket.message(errno)
            // The host is not running yet, or a firewall rejects the datagram. The datagram counts as lost, and the
            // output continues: UDP has no connection that could be lost, and restarting the stream every second would
            // not help.
            case ECONNREFUSED, EHOSTUNREACH, EHOSTDOWN, EPERM: return .lost(TCPSocket.message(errno))
            default: return .failed(TCPSocket.message(errno))
            }
        }
    }
}

extension UDPSocket {
    private static func failure(_ url: UDPURL, _ what: String, _ code: CInt) -> OutputFailure {
        OutputFailure(.unreachable, step: "connect", reason: "\(url): \(what): \(TCPSocket.message(code))")
    }

    private func configure(_ url: UDPURL, _ address: HostAddress) throws(OutputFailure) {
        let isGroup = address.isGroup
        let isIPv6 = address.family == AF_INET6
        let level = CInt(isIPv6 ? IPPROTO_IPV6 : IPPROTO_IP)
        if let bytes = url.bufferBytes { try set(SOL_SOCKET, SO_SNDBUF, bytes, "buffer_size", url) }
        if let trafficClass = url.trafficClass {
            try set(level, isIPv6 ? IPV6_TCLASS : IP_TOS, trafficClass, "dscp", url)
        }
        if isGroup {
            let hops = isIPv6 ? IPV6_MULTICAST_HOPS : IP_MULTICAST_TTL
            try set(level, CInt(hops), url.timeToLive ?? 1, "ttl", url)
        } else if let timeToLive = url.timeToLive {
            try set(level, isIPv6 ? IPV6_UNICAST_HOPS : IP_TTL, timeToLive, "ttl", url)
        }
        if let local = url.localAddress { try leave(by: local, isGroup: isGroup, family: address.family, url) }
    }

    private func leave(by local: String, isGroup: Bool, family: CInt, _ url: UDPURL) throws(OutputFailure) {
        guard let address = HostAddress(literal: local, port: 0), address.family == family else {
            throw OutputFailure(
                .unreachable, step: "connect", reason: "\(url): localaddr is of another address family than the host")
        }
        guard address.withSockaddr({ bind(descriptor, $0, $1) }) == 0 else {
            throw Self.failure(url, "localaddr", errno)
        }
        guard isGroup else { return }
        guard family == AF_INET else {
            guard let index = address.interfaceIndex else { throw Self.failure(url, "localaddr", EADDRNOTAVAIL) }
            return try set(CInt(IPPROTO_IPV6), IPV6_MULTICAST_IF, CInt(index), "localaddr", url)
        }
        let bytes = address.networkBytes
        try set(CInt(IPPROTO_IP), IP_MULTICAST_IF, (bytes[0], bytes[1], bytes[2], bytes[3]), "localaddr", url)
    }

    private func set<Value>(
        _ level: CInt, _ name: CInt, _ value: Value, _ option: String, _ url: UDPURL
    ) throws(OutputFailure) {
        let status = withUnsafeBytes(of: value) { bytes in
            setsockopt(descriptor, level, name, bytes.baseAddress, socklen_t(bytes.count))
        }
        guard status == 0 else { throw Self.failure(url, option, errno) }
    }
}
