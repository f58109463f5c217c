// SPDX-License-Identifier: Apache-2.0

internal import Networking

/// The stream ID that an SRT caller sends. It is plain text, or `#!::` followed by pairs such as `r=name,m=request`
/// (SRT Access Control Guidelines, `docs/features/access-control.md` of libsrt).
package struct SRTStreamID: Equatable {
    /// The direction of the media that the caller requests.
    enum Mode: String {
        case request, publish, bidirectional
    }

    /// The maximum length of a stream ID in libsrt, in bytes.
    static let maximumBytes = 512

    /// The name of the stream: the value of the key `r`, or the whole plain text.
    var resource = ""
    /// The value of the key `u`: the name of a user.
    var user: String?
    /// The value of the key `h`: the name of a host.
    var host: String?
    /// The value of the key `s`, which the caller chooses for its own log.
    var session: String?
    /// The value of the key `m`: the direction that the caller requests; nil if the key is missing or has another
    /// value.
    var mode: Mode?
    /// Whether the caller requests live media, and not a file. The key `t` tells this.
    var isStream = true

    /// Parses the first 512 bytes of `text`. If the text does not begin with `#!::`, it is the name of the stream.
    /// Unknown keys, and parts that are not pairs, are ignored.
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

    /// Whether a caller with the stream ID `other` may use the stream with this ID. The stream's name must be equal,
    /// and so must user and host if this ID has them. Comparing with a wrong name of the same length takes the same
    /// time as with the right one.
    func isAnswered(by other: SRTStreamID) -> Bool {
        let isSameName = ConstantTime.isEqual(other.resource, resource)
        return isSameName && (user == nil || user == other.user) && (host == nil || host == other.host)
    }
}
