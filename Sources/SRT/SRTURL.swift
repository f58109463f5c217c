// SPDX-License-Identifier: Apache-2.0

package import Networking

/// The address of an SRT output or input: `srt://host:port?mode=caller&latency=200&…`.
///
/// Options have the names that `srt-live-transmit` and FFmpeg use. Times are milliseconds, as in `srt-live-transmit`;
/// in FFmpeg's own addresses, `latency` is in microseconds. `ttl` is the IP packets' time to live. A listener without a
/// host listens on the loopback interface only; `0.0.0.0` or `::` means all interfaces. `localaddr` and `localport`
/// select our own address and port of a connection. `callers` is the maximum number of receivers of a listening output.
/// With `takeover=yes`, a second sender to a listening input replaces the first.
///
/// Its description contains no secrets, so that interpolation cannot leak them.
package struct SRTURL: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The direction of the connection.
    package enum Role: Sendable {
        /// We send.
        case output
        /// We receive.
        case input
    }

    /// Which side starts the connection.
    package enum Mode: String, Sendable {
        /// We connect to the peer.
        case caller
        /// The peer connects to us.
        case listener
        /// Both sides connect to each other at the same time, which works through two firewalls.
        case rendezvous
    }

    /// The default maximum number of a listener's receivers.
    static let usualCallers = 16

    /// The peer's name or address, or the address to listen on.
    package let host: String
    /// The port.
    package let port: UInt16
    /// Which side starts the connection.
    package let mode: Mode
    /// Maximum number of a listener's receivers.
    package let maximumCallers: Int
    /// Whether a second sender replaces the first.
    package let takesOver: Bool
    let options: [SRTOption: SRTOptionValue]
    /// Our own address for a connection, if it is set; its port is 0 if only the address is set.
    package let local: HostAddress?

    /// Whether two inputs receive the same stream.
    package func hasSameStream(as other: SRTURL) -> Bool { SRTReception(self).wanted == SRTReception(other).wanted }

    /// Whether two inputs may share a port.
    package func canShare(with other: SRTURL) -> Bool { SRTListener.shared(self) == SRTListener.shared(other) }

    /// Parses `text`.
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
        host = parts.host.isEmpty ? "127.0.0.1" : parts.host
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

    /// Host, port, mode and at most two characters of the stream ID.
    package var description: String {
        let name = streamID.map { "&streamid=\(URLParts.masked($0))" } ?? ""
        return "srt://\(URLParts.bracketed(host)):\(port)?mode=\(mode.rawValue)\(name)"
    }

    package var debugDescription: String { description }

    /// The masked form, for `dump` and mirrors.
    package var customMirror: Mirror { Mirror(self, children: ["address": description]) }

    /// The stream ID that the receiver gets.
    package var streamID: String? {
        if case .text(let text)? = options[.streamid] { text } else { nil }
    }

    /// The maximum length of a message in bytes: a whole number of TS packets.
    package var messageBytes: Int {
        if case .integer(let size)? = options[.payloadSize] { Int(size) / 188 * 188 } else { 1316 }
    }

    /// Time limit for connecting, in milliseconds. libsrt's own default is 3000, and ten times that in rendezvous mode.
    /// There we use 3000 as well, because the next attempt follows at once.
    package var connectMilliseconds: Int64 { number(.connectTimeout) ?? 3000 }

    /// The latency that an output requests from the receiver, in milliseconds.
    var latencyMilliseconds: Int64 { number(.peerlatency) ?? number(.latency) ?? 200 }

    /// If the peer is silent for this long, libsrt ends the connection; in milliseconds, or nil for the library's
    /// default.
    package var silenceMilliseconds: Int64? { number(.peerIdleTimeout) }

    /// The age at which libsrt itself drops messages, in milliseconds, for a receiver with this latency
    /// (`SRTO_SNDDROPDELAY`). `nil` if it never drops messages, which is the case unless the address has that option.
    package func dropAge(latency: Int64) -> Int64? {
        let delay = number(.snddropdelay) ?? -1
        if delay < 0 || options[.tlpktdrop] == .flag(false) { return nil }
        return max(1000, latency + delay)
    }

    /// Our own address for a connection to `remote`; nil if it is not set. In rendezvous mode both sides must know each
    /// other's port: by default our port is the same as the peer's.
    package func localAddress(for remote: HostAddress) -> HostAddress? {
        if let local { return local }
        guard mode == .rendezvous else { return nil }
        return HostAddress.any(port: port).first { $0.family == remote.family }
    }

    /// The packet filter's configuration.
    var packetFilter: String? {
        if case .text(let text)? = options[.packetfilter] { text } else { nil }
    }

    private func number(_ option: SRTOption) -> Int64? {
        if case .integer(let number)? = options[option] { Int64(number) } else { nil }
    }

    /// Replaces every secret of this address in `text`.
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
    /// The parsed query of the address.
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

        /// Our own address. In rendezvous mode both sides have the same port by default.
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
