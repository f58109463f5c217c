// SPDX-License-Identifier: Apache-2.0

internal import Channel
internal import Control
internal import Ingest
internal import RTMP
internal import SRT
internal import Studio

/// Where the channels of a file and the HTTP server listen, and which of them conflict.
struct ListeningPlan {
    private enum Use {
        /// One listener serves all who name the same address, if they agree about TLS.
        case rtmp(RTMPListenURL, certificate: String?)
        /// One listener serves all inputs that name the same address, by their stream ids. An output has its own.
        case srt(SRTURL, isInput: Bool)
        case http
    }

    private struct Place {
        let owner: String
        let host: String
        let port: Int
        let use: Use

        var isTCP: Bool { if case .srt = use { false } else { true } }

        /// Whether one of the two takes the port of the other.
        func overlaps(_ other: Place) -> Bool {
            let any: Set = ["0.0.0.0", "::"]
            return isTCP == other.isTCP && port == other.port
                && (host == other.host || any.contains(host) || any.contains(other.host))
        }
    }

    private var places: [Place] = []
    private(set) var faults: [ConfigurationFailure.Fault] = []

    /// Notes the HTTP server.
    mutating func add(_ http: ControlSettings) {
        guard let address = http.address else { return }
        let host = address.host == "localhost" ? "127.0.0.1" : address.host
        places.append(Place(owner: "http.address", host: host, port: address.port, use: .http))
    }

    /// Notes a channel, and what of it contradicts what was noted before.
    mutating func add(_ channel: ConfiguredChannel, _ flags: ConfigurationReader.ChannelFlags) {
        let configuration = channel.configuration
        let certificate = configuration.certificate?.certificate
        let isListed = flags.marks["inputs"] != nil
        for (index, source) in configuration.sources.enumerated() {
            let path = isListed ? "inputs[\(index)]" : "input"
            for input in source.inputs {
                if let text = input.rtmpListenAddress, let url = try? RTMPListenURL(text, for: .input) {
                    add(url, certificate, flags, path)
                } else if let text = input.srtAddress, let url = try? SRTURL(text, for: .input) {
                    add(url, isInput: true, flags, path)
                }
            }
        }
        for (index, output) in configuration.outputs.enumerated() {
            switch output.address {
            case .listen(let url): add(url, certificate, flags, "outputs[\(index)]")
            case .srt(let url): add(url, isInput: false, flags, "outputs[\(index)]")
            default: break
            }
        }
    }

    private mutating func add(
        _ url: RTMPListenURL, _ certificate: String?, _ flags: ConfigurationReader.ChannelFlags, _ path: String
    ) {
        let use = Use.rtmp(url, certificate: url.isSecure ? certificate : nil)
        add(Place(owner: "\(flags.key).\(path)", host: url.host, port: Int(url.port), use: use), flags, path)
    }

    private mutating func add(
        _ url: SRTURL, isInput: Bool, _ flags: ConfigurationReader.ChannelFlags, _ path: String
    ) {
        guard url.mode == .listener else { return }
        let use = Use.srt(url, isInput: isInput)
        add(Place(owner: "\(flags.key).\(path)", host: url.host, port: Int(url.port), use: use), flags, path)
    }

    private mutating func add(_ place: Place, _ flags: ConfigurationReader.ChannelFlags, _ path: String) {
        let found = places.lazy.filter { $0.overlaps(place) }.compactMap { other in
            Self.contradiction(place, other).map { (other, $0) }
        }.first
        if let (other, text) = found {
            faults.append(
                .init(mark: flags.marks[path] ?? flags.mark, key: place.owner, text: "\(other.owner) \(text)."))
        }
        places.append(place)
    }

    /// Why two that overlap cannot listen at the same time, as what the other does; nil if they can.
    private static func contradiction(_ place: Place, _ other: Place) -> String? {
        if case .srt(let url, true) = place.use, case .srt(let otherURL, true) = other.use, place.host == other.host {
            if url.hasSameStream(as: otherURL) { return "has the same stream id, or none, at port \(place.port)" }
            return url.canShare(with: otherURL) ? nil : "has other options at port \(place.port), which is shared"
        }
        guard case .rtmp(let url, let certificate) = place.use,
            case .rtmp(let otherURL, let otherCertificate) = other.use
        else { return "listens at port \(place.port), too: each needs its own" }
        if url.host != otherURL.host {
            return
                "listens at port \(place.port) of \(otherURL.host), and this at that of \(url.host): name one address"
        }
        if url.isSecure != otherURL.isSecure { return "listens at port \(place.port), too, but not both with TLS" }
        if certificate != otherCertificate { return "shows another certificate at port \(place.port)" }
        return url.hasSameStream(as: otherURL) ? "has the same application and stream key at port \(place.port)" : nil
    }
}
