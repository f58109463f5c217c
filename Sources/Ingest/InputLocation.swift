// SPDX-License-Identifier: Apache-2.0

/// Where media comes from, as an operator writes it: `test:`, a path, a URL, or `<device>:<name>` such as
/// `v4l2:/dev/video0`, `alsa:default` or `lavfi:testsrc2`.
///
/// Its ``description`` may be shown: user info, query and stream key are masked.
public struct InputLocation: Sendable, Hashable, CustomStringConvertible {
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

    let place: Place
    /// The form that may be shown and logged.
    public let description: String

    private static let devices: Set<String> = [
        "v4l2", "alsa", "lavfi", "pulse", "x11grab", "kmsgrab", "fbdev", "jack", "oss", "sndio",
    ]
    private static let liveDevices: Set<String> = devices.subtracting(["lavfi"])
    private static let liveSchemes: Set<String> = [
        "rtmp", "rtmps", "rtmpt", "rtmpe", "rtsp", "rtsps", "srt", "udp", "rtp", "tcp",
    ]
    private static let bareSchemes: Set<String> = ["pipe", "concat", "data", "subfile", "crypto", "fd"]

    /// Reads `text`. A word and a colon are a scheme only where a scheme is known or `//` follows, so that
    /// `12:30 news.mp4` stays a file.
    public init(_ text: String) {
        guard let colon = text.firstIndex(of: ":"), Self.isScheme(text[..<colon]) else {
            place = .file(path: text)
            description = text
            return
        }
        let scheme = text[..<colon].lowercased()
        let rest = String(text[text.index(after: colon)...])
        switch scheme {
        case "test" where rest.isEmpty:
            (place, description) = (.test, "test:")
        case "file":
            let path = rest.hasPrefix("//") ? String(rest.dropFirst(2)) : rest
            (place, description) = (.file(path: path), path)
        case _ where Self.devices.contains(scheme):
            (place, description) = (.device(format: scheme, name: rest), text)
        case _ where rest.hasPrefix("//"):
            (place, description) = (.url(scheme: scheme, text: text), Self.masked(scheme, rest.dropFirst(2)))
        case _ where Self.bareSchemes.contains(scheme):
            (place, description) = (.url(scheme: scheme, text: text), scheme + ":…")
        default:
            (place, description) = (.file(path: text), text)
        }
    }

    /// Whether it is a path in the file system.
    public var isFile: Bool {
        if case .file = place { true } else { false }
    }

    /// Whether it is the built-in test pattern.
    public var isTest: Bool { place == .test }

    /// Whether media comes at its own pace by the nature of the place; nil when only the opened input can tell: over
    /// HTTP, what has no known duration is live.
    public var isLiveByNature: Bool? {
        switch place {
        case .test, .file: false
        case .device(let format, _): Self.liveDevices.contains(format)
        case .url(let scheme, _):
            if Self.liveSchemes.contains(scheme) { true } else { scheme == "http" || scheme == "https" ? nil : false }
        }
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
        let authority = shown.prefix { $0 != "/" }
        if let at = authority.lastIndex(of: "@") { shown = shown[shown.index(after: at)...] }
        var result = scheme + "://" + shown
        if scheme.hasPrefix("rtmp"), let slash = result.lastIndex(of: "/") {
            let key = result[result.index(after: slash)...]
            let hasPath = shown.contains("/")
            if hasPath, !key.isEmpty { result = result[...slash] + key.prefix(2) + "…" }
        }
        return rest.contains("?") ? result + "?…" : result
    }
}
