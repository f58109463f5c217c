// SPDX-License-Identifier: Apache-2.0

/// Where an SRT output goes or listens: `srt://host:port?mode=caller&latency=200&…`.
///
/// Options carry the names that `srt-live-transmit` and FFmpeg use. Times are milliseconds, as in
/// `srt-live-transmit`; FFmpeg's own addresses count `latency` in microseconds. `ttl` is the IP packets' time to live.
/// A listener without host listens on the loopback interface only; `0.0.0.0` or `::` names all.
///
/// It prints itself without its secrets, so that interpolation cannot leak them.
public struct SRTURL: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Who begins.
    public enum Mode: String, Sendable {
        /// We call the receiver.
        case caller
        /// The receiver calls us.
        case listener
    }

    /// The receiver's name or address, or the address to listen at.
    public let host: String
    /// The port.
    public let port: UInt16
    /// Who begins.
    public let mode: Mode
    let options: [SRTOption: SRTOptionValue]

    /// The address in `text`.
    public init(_ text: String) throws(PublisherURLError) {
        let parts = try URLParts(text)
        guard parts.scheme == "srt" else { throw PublisherURLError("The address must begin with srt://.") }
        guard let port = parts.port else {
            throw PublisherURLError("The address has no port; SRT has no usual one.")
        }
        guard parts.path.isEmpty else {
            throw PublisherURLError("An SRT address has no path; name the stream by ?streamid=.")
        }
        guard parts.user == nil else {
            throw PublisherURLError("An SRT address has no user; use ?passphrase= and ?streamid=.")
        }
        var mode: Mode?
        var options: [SRTOption: SRTOptionValue] = [:]
        for pair in (parts.query ?? "").split(separator: "&") {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = URLParts.decode(sides[0])
            let value = sides.count > 1 ? URLParts.decode(sides[1]) : ""
            if name == "mode" {
                mode = try Self.mode(value)
            } else if name != "transtype" || value != "live" {
                let option = try SRTOption.named(name)
                options[option] = try SRTOptionValue(value, of: option)
            }
        }
        self.mode = mode ?? (parts.host.isEmpty ? .listener : .caller)
        guard self.mode == .listener || !parts.host.isEmpty else {
            throw PublisherURLError("The address has no host to call.")
        }
        host = parts.host.isEmpty ? "127.0.0.1" : parts.host
        self.port = port
        self.options = options
    }

    private static func mode(_ text: String) throws(PublisherURLError) -> Mode {
        switch text.lowercased() {
        case "caller", "client": return .caller
        case "listener", "server": return .listener
        case "rendezvous": throw PublisherURLError("The SRT mode rendezvous is not supported yet.")
        default: throw PublisherURLError("The SRT mode is caller or listener.")
        }
    }

    /// Host, port, mode and at most two characters of the stream id.
    public var description: String {
        let name = streamID.map { "&streamid=\(URLParts.masked($0))" } ?? ""
        return "srt://\(URLParts.bracketed(host)):\(port)?mode=\(mode.rawValue)\(name)"
    }

    public var debugDescription: String { description }

    /// What `dump` and mirrors see: the masked form only.
    public var customMirror: Mirror { Mirror(self, children: ["address": description]) }

    /// The name that the receiver knows the stream by.
    var streamID: String? {
        if case .text(let text)? = options[.streamid] { text } else { nil }
    }

    /// The most bytes in a message: a whole number of TS packets.
    var messageBytes: Int {
        if case .integer(let size)? = options[.payloadSize] { Int(size) / 188 * 188 } else { 1316 }
    }

    /// How long a call may go unanswered, in milliseconds; libsrt's own default is 3000.
    var connectMilliseconds: Int64 {
        if case .integer(let time)? = options[.connectTimeout] { Int64(time) } else { 3000 }
    }

    /// `text`, in which every secret of this address is replaced.
    func masking(_ text: String) -> String {
        var masked = text
        for option in [SRTOption.passphrase, .streamid] {
            if case .text(let secret)? = options[option], !secret.isEmpty {
                masked = masked.replacing(secret, with: "***")
            }
        }
        return masked
    }
}
