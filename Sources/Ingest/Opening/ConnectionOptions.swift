// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Networking

/// How an input is opened: the options `pixel-format=`, `sample-rate=`, `capture-channels=`, `header=` and `transport=`
/// after the address. Headers can be secret.
package struct ConnectionOptions: Sendable, Hashable {
    /// The transport of the media of an RTSP server.
    package enum Transport: String, Sendable, CaseIterable {
        /// Media on the TCP connection to the server.
        case tcp
        /// Media in separate UDP packets, which can be lost.
        case udp
    }

    /// The format in which a V4L2 device delivers frames, as libavformat calls it; nil means the first format that the
    /// driver offers.
    package private(set) var pixelFormat: String?
    /// Samples per second of an audio device; nil means libavformat's default.
    package private(set) var sampleRate: Int?
    /// Number of channels of an audio device; nil means libavformat's default.
    package private(set) var captureChannels: Int?
    /// Lines that are added to HTTP requests, such as `Authorization: Bearer …`.
    private var headers: [String] = []
    /// The transport of RTSP; nil means TCP, or UDP if the server refuses TCP.
    package private(set) var transport: Transport?

    private static let audioDevices: Set<String> = ["alsa", "pulse", "oss", "sndio"]
    private static let longestHeader = 8192

    /// Creates the default options, without any value.
    package init() {}

    /// Takes the connection options from `options`, and removes them there. `expand` inserts secrets into a header.
    /// Throws one sentence about an option that cannot be used, without its value.
    init(
        taking options: inout OptionList, expand: (String) throws(AddressError) -> String
    ) throws(AddressError) {
        if let text = try options.take("pixel-format") {
            guard let name = CaptureFormat.name(of: text) else {
                throw options.error(in: "pixel-format", "is a format as relay devices lists it, such as MJPG or YUYV")
            }
            pixelFormat = name
        }
        sampleRate = try options.takeNumber("sample-rate", in: 8000...192_000).map { Int($0) }
        captureChannels = try options.takeNumber("capture-channels", in: 1...64).map { Int($0) }
        for text in options.takeAll("header") {
            let header = try expand(text)
            guard Self.isHeader(header) else {
                throw options.error(in: "header", "is one line of an HTTP request, such as Authorization: Bearer TOKEN")
            }
            headers.append(header)
        }
        transport = try options.takeChoice("transport", of: Transport.self)
    }

    /// Whether `text` is a field name, a colon and a value without control characters (RFC 9110, 5.1 and 5.5), and is
    /// not too long.
    private static func isHeader(_ text: String) -> Bool {
        let sides = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard sides.count == 2, !sides[0].isEmpty, text.utf8.count <= longestHeader else { return false }
        let isName = sides[0].allSatisfy {
            $0.isASCII && ($0.isLetter || $0.isNumber || "!#$%&'*+-.^_`|~".contains($0))
        }
        return isName && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
    }

    /// The first option that does not apply to an address with `scheme`, and the addresses to which this option
    /// applies; nil if all options apply. `scheme` is the protocol that is used on the network, or the device's kind.
    func misplaced(with scheme: String) -> (option: String, place: String)? {
        if pixelFormat != nil, scheme != "v4l2" { return ("pixel-format", "v4l2: devices") }
        let isAudio = Self.audioDevices.contains(scheme)
        if sampleRate != nil, !isAudio { return ("sample-rate", "audio devices such as alsa:") }
        if captureChannels != nil, !isAudio { return ("capture-channels", "audio devices such as alsa:") }
        if !headers.isEmpty, scheme != "http", scheme != "https" { return ("header", "http:// and https://") }
        if transport != nil, scheme != "rtsp", scheme != "rtsps" { return ("transport", "rtsp://") }
        return nil
    }

    /// The options under libavformat's names.
    var values: [String: String] {
        var values: [String: String] = [:]
        values["input_format"] = pixelFormat
        values["sample_rate"] = sampleRate.map { "\($0)" }
        values["channels"] = captureChannels.map { "\($0)" }
        values["headers"] = httpHeaders
        // On a connection that is kept open, libavformat's `hls` demuxer would follow redirections itself and send the
        // headers, so connections are not kept open.
        values["http_persistent"] = headers.isEmpty ? nil : "0"
        values["rtsp_transport"] = transport?.rawValue
        return values
    }

    /// The names and values of the additional lines of an HTTP request.
    var headerFields: [(name: String, value: String)] {
        headers.map { header in
            let name = header.prefix { $0 != ":" }
            let value = header[name.endIndex...].dropFirst().drop { $0 == " " }
            return (String(name), String(value))
        }
    }

    /// The additional lines of an HTTP request; nil without additional lines.
    var httpHeaders: String? { headers.isEmpty ? nil : headers.map { $0 + "\r\n" }.joined() }
}
