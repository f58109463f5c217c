// SPDX-License-Identifier: Apache-2.0

internal import Media
public import Network

/// How an HLS output is cut and how much of it is kept.
public struct HLSOptions: Sendable, Equatable {
    /// What a segment lasts at most when keyframes allow it. 4 s is two GOPs of 2 s: players begin three segments
    /// behind, so it is a delay of some 12 s at a request rate that a plain web server bears.
    public private(set) var segmentDuration: Duration = .seconds(4)
    /// Segments that the playlist names; at least three (RFC 8216, 6.2.2).
    public private(set) var listSize = 6

    /// The usual options.
    public init() {}

    /// The options in `values`: `segment`, a whole number of seconds or milliseconds such as `4s` or `2500ms`, from 1 s
    /// to 60 s, and `list`, from 3 to 1000.
    public init(_ values: [String: String]) throws(PublisherURLError) {
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            switch name {
            case "segment": segmentDuration = try Self.duration(value)
            case "list":
                guard let count = Int(value), (3...1000).contains(count) else {
                    throw PublisherURLError("The HLS option list is a number from 3 to 1000.")
                }
                listSize = count
            default:
                // Not by its name, which may be a piece of something else.
                throw PublisherURLError("An option is unknown to HLS; there are segment and list.")
            }
        }
    }

    private static func duration(_ text: String) throws(PublisherURLError) -> Duration {
        let number = text.prefix { $0.isASCII && $0.isNumber }
        let factors: [Substring: Int64] = ["ms": 1, "s": 1000, "": 1000]
        guard let count = Int64(number), let factor = factors[text[number.endIndex...]], count <= 60_000,
            (1000...60_000).contains(count * factor)
        else { throw PublisherURLError("The HLS option segment is a length from 1s to 60s, such as 4s or 2500ms.") }
        return .milliseconds(count * factor)
    }
}
