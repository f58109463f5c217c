// SPDX-License-Identifier: Apache-2.0

internal import Media
package import Networking
internal import SRT

/// The address of an input, as an operator writes it: `test:`, a path, a URL, or `<device>:<name>` such as
/// `v4l2:/dev/video0`, `alsa:default` or `lavfi:testsrc2`.
///
/// The ``description`` is safe to show: user info, query and stream key are masked, even if protocols are nested, as in
/// `cache:https://…`.
package struct InputLocation: Sendable, Hashable, CustomStringConvertible {
    /// The kinds of addresses.
    enum Place: Sendable, Hashable {
        /// The built-in test pattern.
        case test
        /// A file.
        case file(path: String)
        /// A device or generator of libavdevice.
        case device(format: String, name: String)
        /// Any other address, with its scheme in lower case. libavformat opens it, unless relay itself receives the
        /// media, by SRT or with its RTMP server.
        case url(scheme: String, text: String)
    }

    /// The value of an option that is on or off.
    private enum Answer: String, CaseIterable {
        case yes
        case no
    }

    let place: Place
    /// The minimum time by which a live source's media is delayed before it is shown, so that jitter has no effect. It
    /// is the option `#latency=` after the address; nil means the transport's default.
    package let latency: Duration?
    /// Which tracks are used, and how the audio is treated: the options of ``TrackOptions`` after the address.
    package let tracks: TrackOptions
    /// How the input is opened: the options of ``ConnectionOptions`` after the address.
    package let connection: ConnectionOptions
    /// Whether the program's clock follows this source: `reference=yes`.
    package let isReference: Bool
    private let optionFault: String?
    /// The text that may be shown and logged.
    package let description: String

    private static let longestLatency = Duration.seconds(30)
    private static let devices: Set<String> = [
        "v4l2", "alsa", "lavfi", "pulse", "x11grab", "kmsgrab", "fbdev", "jack", "oss", "sndio",
    ]
    private static let liveDevices: Set<String> = devices.subtracting(["lavfi"])
    /// Devices of libavdevice that capture only video.
    private static let videoDevices: Set<String> = ["v4l2", "x11grab", "kmsgrab", "fbdev"]
    private static let listeningSchemes: Set<String> = ["rtmp-listen", "rtmps-listen"]
    private static let liveSchemes: Set<String> = [
        "rtmp", "rtmps", "rtmpt", "rtmpe", "rtsp", "rtsps", "srt", "udp", "rtp", "tcp",
    ]
    /// Protocols of libavformat whose addresses are shown without the part after the colon.
    private static let bareSchemes: Set<String> = ["pipe", "concat", "concatf", "data", "subfile", "fd", "tee"]
    /// Protocols of libavformat that read through another protocol, whose address follows after the colon.
    private static let wrappingSchemes: Set<String> = ["cache", "async", "crypto"]
    /// Schemes that must be followed by `//`.
    private static let networkSchemes: Set<String> = liveSchemes.union(listeningSchemes)
        .union(["http", "https", "ftp", "sftp", "rist", "zmq"])

    /// Parses `text`, an address with or without options. A word before a colon counts as a scheme only if the scheme
    /// is known or `//` follows, so that `12:30 news.mp4` is a file. If secrets were inserted into `original` to make
    /// `text`, the description shows `original`.
    package init(_ text: String, shownAs original: String? = nil) {
        let (address, fragment) = Self.split(text)
        let shown = original.map { Self.split($0).address }
        do {
            var options = try OptionList(behindMark: fragment, of: "input") { $0 }
            try self.init(address: address, taking: &options, shownAs: shown)
            try options.finish()
        } catch {
            self.init(
                address, shown, latency: nil, tracks: TrackOptions(), connection: ConnectionOptions(),
                isReference: false, fault: "\(error) Options are written as in #latency=400ms.")
        }
    }

    /// Parses `address`, which has no options after it. The input's options are taken from `options`, and removed
    /// there. `expand` inserts secrets into values that can be secret. Throws one sentence about an option that cannot
    /// be used.
    package init(
        address: String, taking options: inout OptionList, shownAs original: String? = nil,
        expand: (String) throws(AddressError) -> String = { (text) throws(AddressError) in text }
    ) throws(AddressError) {
        let tracks = try TrackOptions(taking: &options)
        let connection = try ConnectionOptions(taking: &options, expand: expand)
        let isReference = try options.takeChoice("reference", of: Answer.self) == .yes
        self.init(
            address, original, latency: try Self.latency(taking: &options), tracks: tracks, connection: connection,
            isReference: isReference, fault: nil)
    }

    private init(
        _ address: String, _ original: String?, latency: Duration?, tracks: TrackOptions,
        connection: ConnectionOptions, isReference: Bool, fault: String?
    ) {
        let (place, shown) = Self.read(address)
        self.place = place
        self.latency = latency
        self.tracks = tracks
        self.connection = connection
        self.isReference = isReference
        optionFault = fault
        description = original.map { Self.read($0).shown } ?? shown
    }

    private static func latency(taking options: inout OptionList) throws(AddressError) -> Duration? {
        guard let text = try options.take("latency") else { return nil }
        guard let duration = try? DurationText(parsing: text).duration, duration <= longestLatency else {
            throw AddressError(
                "#latency= takes a length of time from 0s to \(DurationText(longestLatency)), such as 400ms.")
        }
        return duration
    }

    /// Splits `text` into the address and the options after it. The options begin after the first `#` that is followed
    /// by a name and `=`, so that the `#!` of SRT stream ids does not count. The name of a file can contain any
    /// character. So after a file name, the first option must be an option of ``TrackOptions``, of a source, or in
    /// `known`. This does not apply to text that begins with a reference to a secret, because the secret might be an
    /// address.
    package static func split(
        _ text: String, knowing known: Set<String> = []
    ) -> (address: String, options: Substring) {
        guard let mark = text.firstRange(of: /#[a-z][a-z-]*=/), case let address = String(text[..<mark.lowerBound])
        else { return (text, "") }
        let options = text[text.index(after: mark.lowerBound)...]
        if case .file = read(address).place, !address.hasPrefix("${"),
            !(TrackOptions.names.union(["name", "when-off", "gain", "muted"]).union(known)).contains(
                String(options.prefix { $0 != "=" }))
        {
            return (text, "")
        }
        return (address, options)
    }

    private static func read(_ text: String) -> (place: Place, shown: String) {
        guard let colon = text.firstIndex(of: ":"), isScheme(text[..<colon]) else { return readUnnamed(text) }
        let scheme = text[..<colon].lowercased()
        let rest = String(text[text.index(after: colon)...])
        switch scheme {
        case "test" where rest.isEmpty: return (.test, "test:")
        case "file":
            let path = rest.hasPrefix("//") ? String(rest.dropFirst(2)) : rest
            return (.file(path: path), path)
        case _ where devices.contains(scheme):
            return (.device(format: scheme, name: rest), mayHoldSecrets(rest) ? scheme + ":…" : text)
        case _ where bareSchemes.contains(scheme): return (.url(scheme: scheme, text: text), scheme + ":…")
        case _ where rest.hasPrefix("//"):
            return (.url(scheme: scheme, text: text), masked(scheme, rest.dropFirst(2)))
        case _ where networkSchemes.contains(scheme): return (.url(scheme: scheme, text: text), scheme + ":…")
        case _ where wrappingSchemes.contains(scheme) || rest.contains("://"):
            return (.url(scheme: scheme, text: text), scheme + ":" + read(rest).shown)
        default: return (.file(path: text), text)
        }
    }

    /// Whether a device's name contains an address, such as the filter `movie=rtmp\\://…`, or a credential. Escape
    /// characters are ignored, because filters require them before colons and allow them before slashes.
    private static func mayHoldSecrets(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        let plain = bytes.filter { !FilterGraphSecrets.isEscape($0) }
        return String(decoding: plain, as: UTF8.self).contains("://") || FilterGraphSecrets.start(in: bytes) != nil
    }

    /// Parses text without a scheme before its first colon: a path, or a protocol with options, such as
    /// `subfile,,start,0,end,9,,:https://…`.
    private static func readUnnamed(_ text: String) -> (place: Place, shown: String) {
        guard let mark = text.firstRange(of: "://") else { return (.file(path: text), text) }
        let word = text.prefix { $0.isASCII && $0.isLetter }
        guard text[word.endIndex...].first == ",", bareSchemes.union(wrappingSchemes).contains(word.lowercased()) else {
            return (.file(path: text), text[..<mark.upperBound] + "…")
        }
        return (.url(scheme: word.lowercased(), text: text), word + ":…")
    }

    /// Describes what is wrong with the address, in one sentence without secret parts; nil if the address is valid.
    package var fault: String? {
        if let optionFault { return optionFault }
        if isReference, isLiveByNature == false {
            return "\(description) waits for the program's clock: reference=yes is for live inputs."
        }
        if tracks != TrackOptions(), isTest || rtmpListenAddress != nil {
            return "\(description) has one track of each kind, which are taken as they are: leave its options out."
        }
        if let (option, kind) = connection.misplaced(with: self.scheme) {
            return "\(option)= is for \(kind): leave it out of \(description)."
        }
        guard case .url(var scheme, var rest) = place else { return nil }
        if let srtAddress { return srtFault(of: srtAddress) }
        while let colon = rest.firstIndex(of: ":"), Self.wrappingSchemes.contains(scheme) {
            rest = String(rest[rest.index(after: colon)...])
            scheme = rest.prefix { $0 != ":" }.lowercased()
        }
        guard Self.networkSchemes.contains(scheme), !rest.dropFirst(scheme.count).hasPrefix("://") else { return nil }
        return "An address of this kind begins with \(scheme)://."
    }

    /// The kind of device, or the protocol that is used on the network; empty for a file and the test pattern.
    private var scheme: String {
        switch place {
        case .test, .file: ""
        case .device(let format, _): format
        case .url(_, let text): Self.innermostScheme(text)
        }
    }

    private func srtFault(of address: String) -> String? {
        do throws(AddressError) {
            _ = try SRTURL(address, for: .input)
            return nil
        } catch {
            return error.description
        }
    }

    /// Whether the input is a path in the file system.
    package var isFile: Bool {
        if case .file = place { true } else { false }
    }

    /// Whether the input is the built-in test pattern.
    package var isTest: Bool { place == .test }

    /// Whether the input is a device of this machine.
    package var isDevice: Bool {
        if case .device = place { true } else { false }
    }

    /// Whether the address or its options show that the input delivers no audio.
    package var hasNoAudio: Bool {
        if case .device(let format, _) = place, Self.videoDevices.contains(format) { return true }
        return !tracks.hasAudio
    }

    /// Whether the input's media arrives in real time, as far as the kind of address shows it. Nil if only the opened
    /// input shows it: an HTTP stream is live if its duration is unknown.
    package var isLiveByNature: Bool? {
        switch place {
        case .test, .file: false
        case .device(let format, _): Self.liveDevices.contains(format)
        case .url(let scheme, _) where Self.listeningSchemes.contains(scheme): true
        case .url(_, let text):
            switch Self.innermostScheme(text) {
            case "http", "https": nil
            case let scheme: Self.liveSchemes.contains(scheme)
            }
        }
    }

    /// The protocol that is used on the network, such as `https` for `cache:https://…` and `hls+https://…`.
    static func innermostScheme(_ text: String) -> String {
        let head = text.firstRange(of: "://").map { text[..<$0.lowerBound] } ?? text.prefix { $0 != ":" }
        let isPart = { (character: Character) in character.isASCII && (character.isLetter || character.isNumber) }
        return String(head.reversed().prefix(while: isPart).reversed()).lowercased()
    }

    /// The address, with its key, at which relay's own RTMP server receives the media; nil for any other input.
    package var rtmpListenAddress: String? {
        guard case .url(let scheme, let text) = place, Self.listeningSchemes.contains(scheme) else { return nil }
        return text
    }

    /// The address, with its passphrase, from which libsrt receives the media; nil for any other input.
    package var srtAddress: String? {
        guard case .url("srt", let text) = place, text.dropFirst(3).hasPrefix("://") else { return nil }
        return text
    }

    /// Whether libav or libsrt listens for a connection, which might never arrive: the address's query says so.
    var listens: Bool {
        guard case .url(_, let text) = place, let mark = text.firstIndex(of: "?") else { return false }
        let pairs = text[text.index(after: mark)...].split(separator: "&")
        return pairs.contains("listen=1") || pairs.contains("mode=listener")
    }

    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.first, first.isASCII, first.isLetter else { return false }
        return text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+.-".contains($0)) }
    }

    /// Returns the form of an address that may be shown. `rest` is the text after `//`. The last path component of an
    /// RTMP address is the stream key, and is masked.
    private static func masked(_ scheme: String, _ rest: Substring) -> String {
        var shown = rest.prefix { $0 != "?" && $0 != "#" }
        var authority = shown.prefix { $0 != "/" }
        // A password can contain an unescaped slash, so the user info can extend beyond the first slash. Digits after a
        // colon are a port; anything else is a password.
        if !authority.contains("@"), let colon = authority.lastIndex(of: ":"), shown.contains("@"),
            !authority.hasSuffix("]"), !authority[authority.index(after: colon)...].allSatisfy(\.isNumber)
        {
            authority = shown
        }
        if let at = authority.lastIndex(of: "@") { shown = shown[shown.index(after: at)...] }
        var result = scheme + "://" + shown
        if scheme.hasPrefix("rtmp"), let slash = result.lastIndex(of: "/") {
            let key = result[result.index(after: slash)...]
            let hasPath = shown.contains("/")
            if hasPath, !key.isEmpty { result = result[...slash] + URLParts.masked(String(key)) }
        }
        return rest.contains("?") ? result + "?…" : result
    }
}
