// SPDX-License-Identifier: Apache-2.0

internal import Channel
internal import Control
internal import Ingest
internal import Media
internal import Publisher
internal import RTMP
internal import SRT
internal import Studio

/// The addresses at which the channels of a file and the HTTP server listen, and the conflicts between them.
struct ListeningPlan {
    private enum Use {
        /// RTMP: one listener serves all inputs and outputs at the same address, if their TLS settings are the same.
        case rtmp(RTMPListenURL, certificate: String?)
        /// SRT: one listener serves all inputs with the same address, and distinguishes them by their stream IDs.
        case srtInput(SRTURL)
        /// Any other use. The address cannot be shared.
        case alone
    }

    private struct Place {
        let owner: String
        let host: String
        let port: Int
        var transport = ListeningPort.Transport.tcp
        let use: Use

        /// Whether this place and `other` use the same port of the same address.
        func overlaps(_ other: Place) -> Bool {
            let any: Set = ["0.0.0.0", "::"]
            return transport == other.transport && port == other.port
                && (host == other.host || any.contains(host) || any.contains(other.host))
        }
    }

    private var places: [Place] = []
    private(set) var faults: [ConfigurationFailure.Fault] = []

    /// Adds the address of the HTTP server.
    mutating func add(_ http: ControlSettings) {
        guard let address = http.address else { return }
        let host = address.host == "localhost" ? "127.0.0.1" : address.host
        places.append(Place(owner: "http.address", host: host, port: address.port, use: .alone))
    }

    /// Adds the addresses of a channel, and the conflicts between them and the addresses that were added before.
    mutating func add(_ channel: ConfiguredChannel, _ flags: ChannelFlags) {
        let configuration = channel.configuration
        let certificate = configuration.certificate?.certificate
        for (index, source) in configuration.sources.enumerated() {
            let option = OptionReference("--input", .number(index + 1))
            for input in source.inputs { add(input, certificate, flags, option) }
        }
        if let audio = configuration.audioInput { add(audio, certificate, flags, OptionReference("--audio-input")) }
        for (index, output) in configuration.outputs.enumerated() {
            guard let place = output.address.destination.listening else { continue }
            let option = OptionReference("--output", .number(index + 1))
            if let url = place.offer {
                add(url, certificate, flags, option)
            } else {
                add(place.host, Int(place.port), place.transport, .alone, flags, option)
            }
        }
    }

    private mutating func add(
        _ input: InputLocation, _ certificate: String?, _ flags: ChannelFlags, _ option: OptionReference
    ) {
        if let text = input.rtmpListenAddress, let url = try? RTMPListenURL(text, for: .input) {
            add(url, certificate, flags, option)
        } else if let text = input.srtAddress, let url = try? SRTURL(text, for: .input), url.mode == .listener {
            add(url.host, Int(url.port), .udp, .srtInput(url), flags, option)
        }
    }

    private mutating func add(
        _ url: RTMPListenURL, _ certificate: String?, _ flags: ChannelFlags, _ option: OptionReference
    ) {
        let use = Use.rtmp(url, certificate: url.isSecure ? certificate : nil)
        add(url.host, Int(url.port), .tcp, use, flags, option)
    }

    private mutating func add(
        _ host: String, _ port: Int, _ transport: ListeningPort.Transport, _ use: Use,
        _ flags: ChannelFlags, _ option: OptionReference
    ) {
        let node = flags.place(of: option)
        let owner = [flags.key, node?.key].compactMap(\.self).joined(separator: ".")
        let place = Place(owner: owner, host: host, port: port, transport: transport, use: use)
        let found = places.lazy.filter { $0.overlaps(place) }.compactMap { other in
            Self.contradiction(place, other).map { (other, $0) }
        }.first
        if let (other, text) = found {
            faults.append(
                .init(mark: node?.mark ?? flags.mark, key: place.owner, text: "\(other.owner) \(text)."))
        }
        places.append(place)
    }

    /// Returns why two overlapping addresses cannot be used at the same time; nil if they can. The text is the end of a
    /// sentence that begins with the owner of `other`.
    private static func contradiction(_ place: Place, _ other: Place) -> String? {
        if case .srtInput(let url) = place.use, case .srtInput(let otherURL) = other.use, place.host == other.host {
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
