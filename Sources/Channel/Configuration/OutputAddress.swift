// SPDX-License-Identifier: Apache-2.0

internal import FanOut
package import HLS
internal import Media
package import Networking
internal import Publisher
package import RTMP
package import SRT

/// Where a live output goes, with the options of its protocol.
package enum OutputAddress {
    case rtmp(RTMPURL, RTMPTransport)
    /// Players pull from us.
    case listen(RTMPListenURL)
    case srt(SRTURL)
    case udp(UDPURL)
    case hls(HLSLocation, HLSOptions)

    /// The address in `text`. The options of its protocol are taken out of `options`; `standard` is for what they leave open.
    init(
        _ text: String, options: inout OptionList, standard: RTMPTransport = RTMPTransport()
    ) throws(OutputSpecificationError) {
        do {
            switch Self.scheme(of: text) {
            case "rtmp":
                let url = try RTMPURL(text)
                self = .rtmp(url, try RTMPTransport(taking: &options, standard: standard, isSecure: url.isSecure))
            case "rtmp-listen": self = .listen(try RTMPListenURL(text, for: .output))
            case "srt": self = .srt(try SRTURL(text))
            case "udp": self = .udp(try UDPURL(text))
            case "hls": self = .hls(try HLSLocation(text), try HLSOptions(taking: &options))
            default:
                throw OutputSpecificationError(
                    "Addresses begin with rtmp://, rtmps://, rtmp-listen://, rtmps-listen://, srt://, udp:// or hls:.")
            }
        } catch {
            throw OutputSpecificationError("\(error)")
        }
    }

    /// Descriptors that the output holds at most, but for the moments of a change from one connection to the next.
    var descriptors: Int {
        switch self {
        case .rtmp(let url, _): url.isSecure ? 5 : 2
        case .listen(let url): url.maximumPlayers * (url.isSecure ? 3 : 1) + 2
        case .srt, .udp, .hls: 3
        }
    }

    /// The protocol in one word, which is the address's scheme.
    package var scheme: String {
        switch self {
        case .rtmp: "rtmp"
        case .listen: "rtmp-listen"
        case .srt: "srt"
        case .udp: "udp"
        case .hls: "hls"
        }
    }

    /// Whether receivers call us at this address.
    var listens: Bool {
        switch self {
        case .listen: true
        case .srt(let url): url.mode == .listener
        case .rtmp, .udp, .hls: false
        }
    }

    /// Whether clients connect to us at this address, with TLS.
    package var isSecureListener: Bool { if case .listen(let url) = self { url.isSecure } else { false } }

    /// Whether the connection is encrypted, but the identity of the other end is not verified.
    var isUnverified: Bool {
        if case .rtmp(let url, let transport) = self { url.isSecure && transport.tls == .insecure } else { false }
    }

    /// The target at this address for the output `name`. Blocks until a port that it listens at is open; throws if it
    /// cannot be.
    func target(name: String, in context: OutputContext) throws(OutputFailure) -> any OutputTarget {
        switch self {
        case .rtmp(let url, let transport):
            RTMPTarget(url: url, name: name, pool: context.pool, transport: transport)
        case .listen(let url):
            RTMPListenTarget(
                offer: try context.listening.offer(url), name: name, pool: context.pool, stream: context.stream)
        case .srt(let url): SRTTarget(url: url, name: name)
        case .udp(let url): UDPTarget(url: url, name: name)
        case .hls(let location, let options): HLSTarget(location: location, options: options, name: name)
        }
    }

    /// The name of the protocol for sentences, such as `RTMP`; of text that has none of ours it shows nothing.
    static func protocolName(of text: String) -> String {
        let scheme = scheme(of: text)
        if scheme == "rtmp-listen" { return "RTMP" }
        return ["rtmp", "srt", "udp", "hls"].contains(scheme) ? scheme.uppercased() : "output"
    }

    /// The scheme of the address in `text`, which need not be one; RTMPS is RTMP.
    static func scheme(of text: String) -> String {
        let scheme = text.prefix { $0 != ":" && $0 != "/" }.lowercased()
        return scheme.hasPrefix("rtmps") ? "rtmp" + scheme.dropFirst(5) : scheme
    }
}
