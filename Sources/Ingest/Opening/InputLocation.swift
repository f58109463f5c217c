// SPDX-License-Identifier: Apache-2.0

internal import Media
package import Networking
internal import SRT

/// Where media comes from, as an operator writes it: `test:`, a path, a URL, or `<device>:<name>` such as
/// `v4l2:/dev/video0`, `alsa:default` or `lavfi:testsrc2`.
///
/// Its ``description`` may be shown: user info, query and stream key are masked, also where protocols are nested, as in
/// `cache:https://…`.
package struct InputLocation: Sendable, Hashable, CustomStringConvertible {
    /// The kinds of places.
    enum Place: Sendable, Hashable {
        /// The built-in test pattern.
        case test
        /// A file.
        case file(path: String)
        /// A device or generator of libavdevice.
        case device(format: String, name: String)
        /// Anything else that libavformat opens, with its scheme in lower case.
        case url(scheme: String, text: String)
    }

    /// What an option takes that is on or off.
    private enum Answer: String, CaseIterable {
        case yes
        case no
    }

    let place: Place
    /// The least time that a live source's media wait before they are shown, so that jitter does not show: what
    /// `#latency=` behind the address says; nil for the transport's own.
    package let latency: Duration?
    /// Which tracks are taken, and how the audio is: what else stands behind the address.
    package let tracks: TrackOptions
    /// Whether the program's clock is to follow the source: `reference=yes`.
    package let isReference: Bool
    private let optionFault: String?
    /// The form that may be shown and logged.
    package let description: String

    private static let longestLatency = Duration.seconds(30)
    private static let devices: Set<String> = [
        "v4l2", "alsa", "lavfi", "pulse", "x11grab", "kmsgrab", "fbdev", "jack", "oss", "sndio",
    ]
    private static let liveDevices: Set<String> = devices.subtracting(["lavfi"])
    private static let listeningSchemes: Set<String> = ["rtmp-listen", "rtmps-listen"]
    private static let liveSchemes: Set<String> = [
        "rtmp", "rtmps", "rtmpt", "rtmpe", "rtsp", "rtsps", "srt", "udp", "rtp", "tcp",
    ]
    /// Protocols of libavformat without an address of their own that could be shown.
    private static let bareSchemes: Set<String> = ["pipe", "concat", "concatf", "data", "subfile", "fd", "tee"]
    /// Protocols of libavformat that read through another, whose address follows their colon.
    private static let wrappingSchemes: Set<String> = ["cache", "async", "crypto"]
    /// Schemes that are nothing without `//`.
    private static let networkSchemes: Set<String> = liveSchemes.union(listeningSchemes)
        .union(["http", "https", "ftp", "sftp", "rist", "zmq"])

    /// Reads `text`, an address with options behind it or without. A word and a colon are a scheme only where a scheme is
    /// known or `//` follows, so that `12:30 news.mp4` stays a file. Where `text` holds secrets that were put into
    /// `original`, that is what is shown.
    package init(_ text: String, shownAs original: String? = nil) {
        let (address, fragment) = Self.split(text)
        let shown = original.map { Self.split($0).address }
        do {
            var options = try OptionList(behindMark: fragment, of: "input") { $0 }
            try self.init(address: address, taking: &options, shownAs: shown)
            try options.finish()
        } catch {
            self.init(
                address, shown, latency: nil, tracks: TrackOptions(), isReference: false,
                fault: "\(error) Options are written as in #latency=400ms.")
        }
    }

    /// Reads `address`, which has no options behind it, and takes those of an address out of `options`. Throws one sentence
    /// about an option that cannot be used.
    package init(
        address: String, taking options: inout OptionList, shownAs original: String? = nil
    ) throws(AddressError) {
        let tracks = try TrackOptions(taking: &options)
        let isReference = try options.takeChoice("reference", of: Answer.self) == .yes
        self.init(
            address, original, latency: try Self.latency(taking: &options), tracks: tracks, isReference: isReference,
            fault: nil)
    }

    private init(
        _ address: String, _ original: String?, latency: Duration?, tracks: TrackOptions, isReference: Bool,
        fault: String?
    ) {
        let (place, shown) = Self.read(address)
        self.place = place
        self.latency = latency
        self.tracks = tracks
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

    /// The address in `text` and the options behind it. They begin behind the first `#` that a name and `=` follow, so
    /// that the `#!` of SRT stream ids does not count. A file's name may have any character, so the first option
    /// behind it must be one of ``TrackOptions``, of those of a source, or of those in `known`. This does not apply to
    /// text that begins with a reference to a secret, because it may be an address.
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

    /// Whether there is an address in a device's name, such as the filter `movie=rtmp\://…`, or a credential. Filters want
    /// colons escaped, and allow it of slashes.
    private static func mayHoldSecrets(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        let plain = bytes.filter { !FilterGraphSecrets.isEscape($0) }
        return String(decoding: plain, as: UTF8.self).contains("://") || FilterGraphSecrets.start(in: bytes) != nil
    }

    /// Reads what begins with no scheme: a path, or a protocol with options, such as `subfile,,start,0,end,9,,:https://…`.
    private static func readUnnamed(_ text: String) -> (place: Place, shown: String) {
        guard let mark = text.firstRange(of: "://") else { return (.file(path: text), text) }
        let word = text.prefix { $0.isASCII && $0.isLetter }
        guard text[word.endIndex...].first == ",", bareSchemes.union(wrappingSchemes).contains(word.lowercased()) else {
            return (.file(path: text), text[..<mark.upperBound] + "…")
        }
        return (.url(scheme: word.lowercased(), text: text), word + ":…")
    }

    /// What is wrong with the address, in one sentence without any of it; nil if nothing is.
    package var fault: String? {
        if let optionFault { return optionFault }
        if isReference, isLiveByNature == false {
            return "\(description) waits for the program's clock: reference=yes is for live inputs."
        }
        if tracks != TrackOptions(), isTest || rtmpListenAddress != nil {
            return "\(description) has one track of each kind, which are taken as they are: leave its options out."
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

    private func srtFault(of address: String) -> String? {
        do throws(AddressError) {
            _ = try SRTURL(address, for: .input)
            return nil
        } catch {
            return error.description
        }
    }

    /// Whether it is a path in the file system.
    package var isFile: Bool {
        if case .file = place { true } else { false }
    }

    /// Whether it is the built-in test pattern.
    package var isTest: Bool { place == .test }

    /// Whether it is a device of this machine.
    package var isDevice: Bool {
        if case .device = place { true } else { false }
    }

    /// Whether media comes at its own pace by the nature of the place; nil when only the opened input can tell: over
    /// HTTP, what has no known duration is live.
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

    /// The protocol that reaches the network: of `cache:https://…` and `hls+https://…` it is `https`.
    private static func innermostScheme(_ text: String) -> String {
        let head = text.firstRange(of: "://").map { text[..<$0.lowerBound] } ?? text.prefix { $0 != ":" }
        let isPart = { (character: Character) in character.isASCII && (character.isLetter || character.isNumber) }
        return String(head.reversed().prefix(while: isPart).reversed()).lowercased()
    }

    /// The address, with its key, at which our own RTMP server receives the media; nil for any other place.
    package var rtmpListenAddress: String? {
        guard case .url(let scheme, let text) = place, Self.listeningSchemes.contains(scheme) else { return nil }
        return text
    }

    /// The address, with its passphrase, from which libsrt receives the media; nil for any other place.
    package var srtAddress: String? {
        guard case .url("srt", let text) = place, text.dropFirst(3).hasPrefix("://") else { return nil }
        return text
    }

    /// Whether the place waits to be called by its peer, which may take for ever.
    var listens: Bool {
        guard case .url(_, let text) = place, let mark = text.firstIndex(of: "?") else { return false }
        let pairs = text[text.index(after: mark)...].split(separator: "&")
        return pairs.contains("listen=1") || pairs.contains("mode=listener")
    }

    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.first, first.isASCII, first.isLetter else { return false }
        return text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+.-".contains($0)) }
    }

    /// `rest` is what follows `//`. The last path component of an RTMP address is its key.
    private static func masked(_ scheme: String, _ rest: Substring) -> String {
        var shown = rest.prefix { $0 != "?" && $0 != "#" }
        var authority = shown.prefix { $0 != "/" }
        // A password may have a slash that was not escaped. What follows a colon is a port, or else a password.
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
