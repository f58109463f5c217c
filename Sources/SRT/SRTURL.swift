// SPDX-License-Identifier: Apache-2.0

package import Networking

/// The address of an SRT output or input: `srt://host:port?mode=caller&latency=200&…`.
///
/// The options have the names that `srt-live-transmit` and FFmpeg use. Times are milliseconds, as in
/// `srt-live-transmit`. (In FFmpeg's own addresses, `latency` is in microseconds.) `ttl` is the time to live of the IP
/// packets. A listener without a host listens only on the loopback interface; with `0.0.0.0` or `::` it listens on all
/// interfaces. `localaddr` and `localport` set the local address and port of a connection. `callers` is the maximum
/// number of receivers of a listening output. With `takeover=yes`, a second sender to a listening input replaces the
/// first one.
///
/// The description of an address contains no secrets, so that an address in a message cannot reveal them.
package struct SRTURL: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The direction of the connection.
    package enum Role: Sendable {
        /// relay sends the media.
        case output
        /// relay receives the media.
        case input
    }

    /// Which side starts the connection.
    package enum Mode: String, Sendable {
        /// relay connects to the peer.
        case caller
        /// The peer connects to relay.
        case listener
        /// Both sides connect to each other at the same time. This works even if both are behind firewalls.
        case rendezvous
    }

    /// The default maximum number of receivers of a listening output.
    static let usualCallers = 16

    /// The name or address of the peer. For a listener, the address on which it listens.
    package let host: String
    /// The port of the peer. For a listener, the port on which it listens.
    package let port: UInt16
    /// Which side starts the connection.
    package let mode: Mode
    /// The maximum number of receivers of a listening output.
    package let maximumCallers: Int
    /// Whether a second sender to a listening input replaces the first one at any time, and not only when the first one
    /// is silent.
    package let takesOver: Bool
    let options: [SRTOption: SRTOptionValue]
    /// The local address of a connection; nil if the URL does not set one. Its port is 0 if only the address is set.
    package let local: HostAddress?

    /// Whether this address and `other` have the same stream ID, or both have none.
    package func hasSameStream(as other: SRTURL) -> Bool { SRTReception(self).wanted == SRTReception(other).wanted }

    /// Whether the input at this address and the input at `other` may share a port.
    package func canShare(with other: SRTURL) -> Bool { SRTListener.shared(self) == SRTListener.shared(other) }

    /// Parses `text` as the address of an output or of an input.
    package init(_ text: String, for role: Role = .output) throws(AddressError) {
        let parts = try URLParts(text)
        guard parts.scheme == "srt" else { throw AddressError("The address must begin with srt://.") }
        guard let port = parts.port else {
            throw AddressError("The address has no port; SRT has no usual one.")
        }
        guard parts.path.isEmpty else {
            throw AddressError("An SRT address has no path; name the stream by ?streamid=.")
        }
        guard parts.user == nil else {
            throw AddressError("An SRT address has no user; use ?passphrase= and ?streamid=.")
        }
        let query = try Query(OptionList(query: parts.query, of: "SRT", aliases: SRTOption.aliases), role)
        mode = query.mode ?? (parts.host.isEmpty ? .listener : .caller)
        guard mode == .listener || !parts.host.isEmpty else { throw AddressError("The address has no host to call.") }
        host = mode == .listener ? HostAddress.listening(at: parts.host) : parts.host
        self.port = port
        options = query.options
        local = try query.local(for: mode, port: port)
        guard query.callers == nil || mode == .listener else {
            throw AddressError("The SRT option callers is for mode=listener.")
        }
        maximumCallers = query.callers ?? Self.usualCallers
        guard query.takeover == nil || mode == .listener else {
            throw AddressError("The SRT option takeover is for mode=listener.")
        }
        takesOver = query.takeover == .yes
    }

    /// The address with host, port, mode and at most two characters of the stream ID.
    package var description: String {
        let name = streamID.map { "&streamid=\(URLParts.masked($0))" } ?? ""
        return "srt://\(URLParts.bracketed(host)):\(port)?mode=\(mode.rawValue)\(name)"
    }

    package var debugDescription: String { description }

    /// Shows only the description without secrets in `dump` and mirrors.
    package var customMirror: Mirror { Mirror(self, children: ["address": description]) }

    /// The stream ID that is sent to the peer, or that callers must send; nil if the address sets none.
    package var streamID: String? {
        if case .text(let text)? = options[.streamid] { text } else { nil }
    }

    /// The maximum size of a message in bytes, which is a multiple of the size of a TS packet.
    package var messageBytes: Int {
        if case .integer(let size)? = options[.payloadSize] { Int(size) / 188 * 188 } else { 1316 }
    }

    /// The time limit for connecting, in milliseconds. libsrt's default is 3000, and ten times that in rendezvous mode.
    /// relay uses 3000 in both cases, because the next attempt follows at once.
    package var connectMilliseconds: Int64 { number(.connectTimeout) ?? 3000 }

    /// The latency in milliseconds that an output requests from the receiver.
    var latencyMilliseconds: Int64 { number(.peerlatency) ?? number(.latency) ?? 200 }

    /// The time in milliseconds after which libsrt ends a connection to a silent peer; nil for libsrt's default.
    package var silenceMilliseconds: Int64? { number(.peerIdleTimeout) }

    /// The age in milliseconds at which libsrt itself drops messages (`SRTO_SNDDROPDELAY`), for a receiver with this
    /// latency. Nil if libsrt never drops messages, because the address does not have this option or turns dropping
    /// off.
    package func dropAge(latency: Int64) -> Int64? {
        let delay = number(.snddropdelay) ?? -1
        if delay < 0 || options[.tlpktdrop] == .flag(false) { return nil }
        return max(1000, latency + delay)
    }

    /// The local address for a connection to `remote`; nil if any local address may be used. In rendezvous mode each
    /// side must know the port of the other, so by default the local port is the port of the peer.
    package func localAddress(for remote: HostAddress) -> HostAddress? {
        if let local { return local }
        guard mode == .rendezvous else { return nil }
        return HostAddress.any(port: port).first { $0.family == remote.family }
    }

    /// The settings on which a listener's UDP socket depends: the local address and some options. While callers of a
    /// closed listener are still connected, a new listener can open the same port only if it has the same settings,
    /// because libsrt then lets both share the UDP socket.
    package var listeningSocket: String {
        let shared = [SRTOption.ipttl, .iptos, .mss, .ipv6only].map { option in
            options[option].map { "\(option.rawValue)=\($0)" } ?? ""
        }
        return ([host] + shared).joined(separator: " ")
    }

    /// The configuration of libsrt's packet filter; nil if the address sets no filter.
    var packetFilter: String? {
        if case .text(let text)? = options[.packetfilter] { text } else { nil }
    }

    private func number(_ option: SRTOption) -> Int64? {
        if case .integer(let number)? = options[option] { Int64(number) } else { nil }
    }

    /// Returns `text` with every secret of this address masked.
    package func masking(_ text: String) -> String {
        var masked = text
        for option in [SRTOption.passphrase, .streamid] {
            if case .text(let secret)? = options[option], !secret.isEmpty {
                masked = masked.replacing(secret, with: "***")
            }
        }
        return masked
    }
}

extension SRTURL {
    /// The query of the address, after parsing.
    private struct Query {
        var mode: Mode?
        var callers: Int?
        var takeover: Answer?
        var localAddress: String?
        var localPort: UInt16?
        var options: [SRTOption: SRTOptionValue] = [:]

        enum Answer: String, CaseIterable { case yes, no }

        init(_ list: OptionList, _ role: Role) throws(AddressError) {
            var list = list
            if let name = try list.take("mode") {
                guard let mode = Self.modes[name.lowercased()] else {
                    throw list.error(in: "mode", "is caller, listener or rendezvous")
                }
                self.mode = mode
            }
            switch role {
            case .output: callers = try list.takeNumber("callers", in: 1...256).map(Int.init)
            case .input: takeover = try list.takeChoice("takeover")
            }
            localAddress = try list.take("localaddr")
            localPort = try list.takeNumber("localport", in: 1...65_535).map { UInt16($0) }
            if let type = try list.take("transtype"), type != "live" { throw list.error(in: "transtype", "is live") }
            for option in SRTOption.allCases {
                if let text = try list.take(option.rawValue) { options[option] = try SRTOptionValue(text, of: option) }
            }
            try list.finish()
        }

        private static let modes: [String: Mode] = [
            "caller": .caller, "client": .caller, "listener": .listener, "server": .listener,
            "rendezvous": .rendezvous,
        ]

        /// The local address that the query sets; nil if it sets none. In rendezvous mode the local port is by default
        /// the port of the peer.
        func local(for mode: Mode, port: UInt16) throws(AddressError) -> HostAddress? {
            guard localAddress != nil || localPort != nil else { return nil }
            guard mode != .listener else {
                throw AddressError("A listener's own address is the address itself: leave localaddr and localport out.")
            }
            let port = localPort ?? (mode == .rendezvous ? port : 0)
            guard let address = HostAddress(literal: localAddress ?? "0.0.0.0", port: port) else {
                throw AddressError("The SRT option localaddr is a numeric address of this machine.")
            }
            return address
        }
    }
}
