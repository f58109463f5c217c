// SPDX-License-Identifier: Apache-2.0

internal import Media
public import Network

/// How an HLS output is cut and how much of it is kept.
public struct HLSOptions: Sendable, Equatable {
    /// What a segment lasts at most when keyframes allow it. 4 s is two GOPs of 2 s: players begin three segments
    /// behind, so it is a delay of some 12 s at a request rate that a plain web server bears.
    public private(set) var segmentDuration: Duration = .seconds(4)
    /// Segments that the playlist names; at least three (RFC 8216, 6.2.2). It names more while they are shorter than
    /// three target durations together.
    public private(set) var listSize = 6
    /// When the playlist says that nothing follows.
    public private(set) var endList = EndList.program

    /// When an output that ends writes `EXT-X-ENDLIST` (RFC 8216, 4.3.3.4), upon which players stop at the last segment and
    /// ask for nothing more.
    public enum EndList: String, Sendable, CaseIterable {
        /// At the program's own end: its input ended or its length was reached.
        case program
        /// At every clean end: at a signal, too, and when the output is paused, removed or goes to another address.
        case always
        /// Never.
        case never

        /// Whether it is written at an end that is the program's own, or one that is not.
        func closes(isProgramOver: Bool) -> Bool {
            switch self {
            case .program: isProgramOver
            case .always: true
            case .never: false
            }
        }
    }

    /// The usual options.
    public init() {}

    /// The options in `values`: `segment`, a whole number of seconds or milliseconds such as `4s` or `2500ms`, from 1 s
    /// to 60 s; `list`, from 3 to 1000; and `endlist`, which is `program`, `always` or `never`.
    public init(_ values: [String: String]) throws(PublisherURLError) {
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            switch name {
            case "segment": segmentDuration = try Self.duration(value)
            case "list":
                guard let count = Int(value), (3...1000).contains(count) else {
                    throw PublisherURLError("The HLS option list is a number from 3 to 1000.")
                }
                listSize = count
            case "endlist":
                guard let choice = EndList(rawValue: value) else {
                    throw PublisherURLError("The HLS option endlist is program, always or never.")
                }
                endList = choice
            default:
                // Not by its name, which may be a piece of something else.
                throw PublisherURLError("An option is unknown to HLS; there are segment, list and endlist.")
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
