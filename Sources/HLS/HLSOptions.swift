// SPDX-License-Identifier: Apache-2.0

package import Networking

/// How an HLS output is cut and how much of it is kept.
package struct HLSOptions: Sendable, Equatable {
    /// What a segment lasts at most when keyframes allow it. 4 s is two GOPs of 2 s: players begin three segments
    /// behind, so it is a delay of some 12 s at a request rate that a plain web server bears.
    package private(set) var segmentDuration: Duration = .seconds(4)
    /// Segments that the playlist names; at least three (RFC 8216, 6.2.2). It names more while they are shorter than
    /// three target durations together.
    package private(set) var listSize = 6
    /// When the playlist says that nothing follows.
    package private(set) var endList = EndList.program

    /// When an output that ends writes `EXT-X-ENDLIST` (RFC 8216, 4.3.3.4), upon which players stop at the last segment and
    /// ask for nothing more.
    package enum EndList: String, Sendable, CaseIterable {
        /// It is written at the program's own end: its input ended or its length was reached.
        case program
        /// It is written at every clean end: at a signal, too, and when the output is paused, removed or goes to
        /// another address.
        case always
        /// It is never written.
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

    /// The options that say so.
    package static let options: [AddressOption] = [
        .init("segment", "segment", .time, help: "segment=4s"), .init("list", "list", help: "list=6"),
        .init(
            "endList", "endlist",
            help: "endlist=program, always or never (which ends close the playlist)"),
    ]

    /// The usual options.
    package init() {}

    /// The options in `values`: `segment`, a whole number of seconds or milliseconds such as `4s` or `2500ms`, from 1 s
    /// to 60 s; `list`, from 3 to 1000; and `endlist`, which is `program`, `always` or `never`.
    package init(_ values: [String: String]) throws(AddressError) {
        var list = OptionList(values, of: "HLS")
        try self.init(taking: &list)
        try list.finish()
    }

    /// The options of HLS in `list`, as in ``init(_:)``, which are taken out of it.
    package init(taking list: inout OptionList) throws(AddressError) {
        segmentDuration = try list.takeDuration("segment", in: 1...60) ?? segmentDuration
        listSize = try list.takeNumber("list", in: 3...1000).map(Int.init) ?? listSize
        endList = try list.takeChoice("endlist") ?? endList
    }
}
