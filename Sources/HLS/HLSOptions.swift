// SPDX-License-Identifier: Apache-2.0

package import Networking

/// The options for the segments and the playlist of an HLS output.
package struct HLSOptions: Sendable, Equatable {
    /// The maximum duration of a segment. Segments are longer if keyframes are further apart. The default of 4 s is two
    /// GOPs of 2 s. Players begin three segments before the end, so the delay is then about 12 s. A plain web server
    /// can handle the number of requests.
    package private(set) var segmentDuration: Duration = .seconds(4)
    /// The number of segments in the playlist, at least three (RFC 8216, 6.2.2). The playlist has more segments if this
    /// number of segments lasts less than three target durations.
    package private(set) var listSize = 6
    /// In which cases the output writes `EXT-X-ENDLIST` when it ends.
    package private(set) var endList = EndList.program

    /// The cases in which an output that ends writes `EXT-X-ENDLIST` (RFC 8216, 4.3.3.4). After this tag players stop
    /// at the last segment and request nothing more.
    package enum EndList: String, Sendable, CaseIterable {
        /// `EXT-X-ENDLIST` is written when the program itself ends, because its input has ended or its length was
        /// reached.
        case program
        /// `EXT-X-ENDLIST` is written whenever the output ends without an error. That includes a signal, and an output
        /// that is paused, removed or gets another address.
        case always
        /// `EXT-X-ENDLIST` is never written.
        case never

        /// Whether `EXT-X-ENDLIST` is written when the output ends. `isProgramOver` tells whether the program itself
        /// has ended.
        func closes(isProgramOver: Bool) -> Bool {
            switch self {
            case .program: isProgramOver
            case .always: true
            case .never: false
            }
        }
    }

    /// The options that the address of an HLS output may contain: `segment`, `list` and `endlist`.
    package static let options: [AddressOption] = [
        .init("segment", "segment", .time, help: "segment=4s"), .init("list", "list", help: "list=6"),
        .init("endList", "endlist", help: "endlist=program, always or never (which ends close the playlist)"),
    ]

    package init() {}

    /// Parses `values`. The option `segment` is a whole number of seconds or milliseconds such as `4s` or `2500ms`,
    /// from 1 s to 60 s. `list` is a number from 3 to 1000. `endlist` is `program`, `always` or `never`.
    package init(_ values: [String: String]) throws(AddressError) {
        var list = OptionList(values, of: "HLS")
        try self.init(taking: &list)
        try list.finish()
    }

    /// Parses the HLS options in `list` as ``init(_:)`` does, and removes them from `list`.
    package init(taking list: inout OptionList) throws(AddressError) {
        segmentDuration = try list.takeDuration("segment", in: 1...60) ?? segmentDuration
        listSize = try list.takeNumber("list", in: 3...1000).map(Int.init) ?? listSize
        endList = try list.takeChoice("endlist") ?? endList
    }
}

/// The directory of an HLS output. Its address is `hls:/var/www/live` or, relative to the working directory,
/// `hls:live`.
package struct HLSLocation: Sendable, Equatable, CustomStringConvertible {
    /// The path of the directory, without a slash at its end unless the path is `/`.
    package let path: String

    /// Parses `text` as the address of an HLS output.
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
