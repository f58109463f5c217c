// SPDX-License-Identifier: Apache-2.0

internal import Media

/// A moment with words on it, as playlists have it: `EXT-X-DATERANGE` (RFC 8216, 4.3.2.7) without a length.
package struct HLSMark: Equatable {
    private static let family = "relay.marker"

    /// Unique in its playlist.
    private let id: String
    /// UTC in milliseconds since 1970.
    package let date: Int64
    /// The words, as far as a quoted string can hold them.
    let text: String

    /// The moment `date`, in milliseconds since 1970, with `text`. Moments of one playlist that have the same date have
    /// different numbers.
    package init(_ text: String, at date: Int64, number: Int) {
        (id, self.date) = ("marker-\(date)-\(number)", date)
        self.text = Self.quotable(text)
    }

    /// Reads back the value of a tag that ``line`` made; nil if it is anything else.
    init?(parsing value: Substring) {
        // By bytes: a letter that is combined with a quotation mark does not hide it.
        let parts = value.utf8.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard parts.count == 9, parts[0] == "ID=", parts[2] == ",CLASS=", parts[3] == Self.family,
            parts[4] == ",START-DATE=", let date = HLSDate.milliseconds(parts[5]), parts[6] == ",X-TEXT=",
            parts[8].isEmpty
        else { return nil }
        (id, self.date, text) = (parts[1], date, parts[7])
    }

    /// The tag.
    package var line: String {
        let start = HLSDate.text(milliseconds: date)
        return "#EXT-X-DATERANGE:ID=\"\(id)\",CLASS=\"\(Self.family)\",START-DATE=\"\(start)\",X-TEXT=\"\(text)\""
    }

    /// A quoted string holds neither quotation marks nor line ends (4.2), and other control characters do not belong
    /// into a playlist.
    private static func quotable(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: scalars.append(" ")
            default: scalars.append(scalar == "\"" ? "'" : scalar)
            }
        }
        return String(scalars)
    }
}

/// Gathers marks until the segment that they belong to is complete.
struct HLSMarks {
    private var marks: [HLSMark] = []
    private var count = 0

    /// Notes the words of `packet`, if it holds any. Before a frame is dated there is no segment that it could belong
    /// to; `origin` is the program time and UTC of that frame, in nanoseconds.
    mutating func note(_ packet: EncodedPacket, since origin: (program: Int64, utc: Int64)?) {
        guard let origin, let text = packet.text else { return }
        count += 1
        let date = (origin.utc + packet.ptsNanoseconds - origin.program) / 1_000_000
        marks.append(HLSMark(text, at: date, number: count))
    }

    /// Takes out the marks before `end`, in milliseconds since 1970: a mark on a keyframe comes before the segment that
    /// begins with it.
    mutating func take(before end: Int64) -> [HLSMark] {
        defer { marks.removeAll { $0.date < end } }
        return marks.filter { $0.date < end }
    }
}
