// SPDX-License-Identifier: Apache-2.0

package import Networking

/// Options for the segments and the playlist of an HLS output.
package struct HLSOptions: Sendable, Equatable {
    /// Maximum segment duration, if the keyframes allow it. 4 s are two GOPs of 2 s. Players begin three segments
    /// before the end, so the delay is about 12 s, and a plain web server can handle the number of requests.
    package private(set) var segmentDuration: Duration = .seconds(4)
    /// Number of segments in the playlist; at least three (RFC 8216, 6.2.2). There are more segments as long as these
    /// are shorter than three target durations together.
    package private(set) var listSize = 6
    /// When the output closes the playlist.
    package private(set) var endList = EndList.program

    /// In which cases an output that ends writes `EXT-X-ENDLIST` (RFC 8216, 4.3.3.4). After this tag, players stop at
    /// the last segment and request nothing more.
    package enum EndList: String, Sendable, CaseIterable {
        /// When the program itself ends, because its input ended or its length was reached.
        case program
        /// Whenever the output ends without an error: also at a signal, and when it is paused, removed or gets another
        /// address.
        case always
        /// Never.
        case never

        /// Whether the tag is written; `isProgramOver` tells whether the program itself has ended.
        func closes(isProgramOver: Bool) -> Bool {
            switch self {
            case .program: isProgramOver
            case .always: true
            case .never: false
            }
        }
    }

    /// The options of an address that set these values.
    package static let options: [AddressOption] = [
        .init("segment", "segment", .time, help: "segment=4s"), .init("list", "list", help: "list=6"),
        .init("endList", "endlist", help: "endlist=program, always or never (which ends close the playlist)"),
    ]

    package init() {}

    /// Parses the options in `values`: `segment`, a whole number of seconds or milliseconds such as `4s` or `2500ms`,
    /// from 1 s to 60 s; `list`, from 3 to 1000; and `endlist`, which is `program`, `always` or `never`.
    package init(_ values: [String: String]) throws(AddressError) {
        var list = OptionList(values, of: "HLS")
        try self.init(taking: &list)
        try list.finish()
    }

    /// Takes the HLS options out of `list`, as in ``init(_:)``.
    package init(taking list: inout OptionList) throws(AddressError) {
        segmentDuration = try list.takeDuration("segment", in: 1...60) ?? segmentDuration
        listSize = try list.takeNumber("list", in: 3...1000).map(Int.init) ?? listSize
        endList = try list.takeChoice("endlist") ?? endList
    }
}

/// The directory of an HLS output: `hls:/var/www/live`, or `hls:live`, relative to the working directory.
package struct HLSLocation: Sendable, Equatable, CustomStringConvertible {
    /// The directory's path, without a trailing slash.
    package let path: String

    /// Parses `text`.
    package init(_ text: String) throws(AddressError) {
        guard let colon = text.firstIndex(of: ":"), text[..<colon].lowercased() == "hls" else {
            throw AddressError("The address must begin with hls: and go on with a directory.")
        }
        let rest = text[text.index(after: colon)...]
        guard !rest.hasPrefix("//") else {
            throw AddressError("hls: takes a directory of this host, such as hls:/var/www/live.")
        }
        guard !rest.isEmpty else { throw AddressError("The address hls: names no directory.") }
        guard rest.utf8.count <= 3000, !rest.unicodeScalars.contains(where: { $0.value < 0x20 }) else {
            throw AddressError("The directory's path is too long or contains a control character.")
        }
        var path = rest
        while path.count > 1, path.last == "/" { path.removeLast() }
        self.path = String(path)
    }

    package var description: String { "hls:\(path)" }
}
