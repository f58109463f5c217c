// SPDX-License-Identifier: Apache-2.0

/// A caller's stream ID: plain text, or `#!::` with pairs such as `r=name,m=request` (SRT Access Control Guidelines,
/// `docs/features/access-control.md` of libsrt).
package struct SRTStreamID: Equatable {
    /// The direction that the caller requests.
    enum Mode: String {
        case request, publish, bidirectional
    }

    /// The maximum length of the text in the library, in bytes.
    static let maximumBytes = 512

    /// The stream's name: the key `r`, or the whole plain text.
    var resource = ""
    /// The key `u`.
    var user: String?
    /// The key `h`.
    var host: String?
    /// The key `s`, which the caller chooses for its own log.
    var session: String?
    /// The key `m`, if there is one.
    var mode: Mode?
    /// The key `t`: whether the caller wants live media and not a file.
    var isStream = true

    /// Parses `text`. A text that does not follow the rules is a plain name; unknown keys are ignored.
    package init(_ text: String) {
        let prefix = "#!::"
        let bounded = String(decoding: text.utf8.prefix(Self.maximumBytes), as: UTF8.self)
        guard bounded.hasPrefix(prefix) else {
            resource = bounded
            return
        }
        for pair in bounded.dropFirst(prefix.count).split(separator: ",") {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2 else { continue }
            let value = String(sides[1])
            switch sides[0] {
            case "r": resource = value
            case "u": user = value
            case "h": host = value
            case "s": session = value
            case "m": mode = Mode(rawValue: value)
            case "t": isStream = value == "stream"
            default: continue
            }
        }
    }

    /// Whether a caller with the stream ID `other` matches this one: the same resource, and the same user and host if
    /// this one has them. Comparing a wrong name of the same length takes the same time as comparing the right one.
    func isAnswered(by other: SRTStreamID) -> Bool {
        let isSameName = Self.isEqual(other.resource, resource)
        return isSameName && (user == nil || user == other.user) && (host == nil || host == other.host)
    }

    /// Compares all bytes of `given`, so that the time does not depend on where they differ.
    private static func isEqual(_ given: String, _ secret: String) -> Bool {
        let (given, secret) = (Array(given.utf8), Array(secret.utf8))
        var difference = given.count ^ secret.count
        for index in given.indices {
            difference |= Int(given[index] ^ (secret.isEmpty ? 0 : secret[index % secret.count]))
        }
        return difference == 0
    }
}
