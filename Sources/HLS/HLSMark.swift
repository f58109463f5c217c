// SPDX-License-Identifier: Apache-2.0

internal import Media

/// A text at a moment in a playlist: `EXT-X-DATERANGE` (RFC 8216, 4.3.2.7) without a duration.
package struct HLSMark: Equatable {
    private static let family = "relay.marker"

    /// The identifier, which is unique in its playlist.
    private let id: String
    /// UTC in milliseconds since 1970.
    package let date: Int64
    /// The text, without characters that a quoted string must not contain.
    let text: String

    /// A mark with this text at the moment `date`, in milliseconds since 1970. Marks of one playlist with the same date
    /// must have different numbers.
    package init(_ text: String, at date: Int64, number: Int) {
        (id, self.date) = ("marker-\(date)-\(number)", date)
        self.text = Self.quotable(text)
    }

    /// Parses the value of a tag that ``line`` made; nil for any other text.
    init?(parsing value: Substring) {
        // Splits bytes, because a combining character could hide a quotation mark.
        let parts = value.utf8.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard parts.count == 9, parts[0] == "ID=", parts[2] == ",CLASS=", parts[3] == Self.family,
            parts[4] == ",START-DATE=", let date = HLSDate.milliseconds(parts[5]), parts[6] == ",X-TEXT=",
            parts[8].isEmpty
        else { return nil }
        (id, self.date, text) = (parts[1], date, parts[7])
    }

    /// The tag as a line of the playlist.
    package var line: String {
        let start = HLSDate.text(milliseconds: date)
        return "#EXT-X-DATERANGE:ID=\"\(id)\",CLASS=\"\(Self.family)\",START-DATE=\"\(start)\",X-TEXT=\"\(text)\""
    }

    /// Replaces characters that a quoted string or a playlist must not contain: quotation marks, line ends (4.2) and
    /// other control characters.
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

/// Collects marks until their segment is complete.
struct HLSMarks {
    private var marks: [HLSMark] = []
    private var count = 0

    /// Adds the text of `packet`, if it has one. `origin` contains the program time and the UTC time of the first
    /// frame, in nanoseconds. Before that frame there is no segment, so the mark is dropped.
    mutating func note(_ packet: EncodedPacket, since origin: (program: Int64, utc: Int64)?) {
        guard let origin, let text = packet.text else { return }
        count += 1
        let date = (origin.utc + packet.ptsNanoseconds - origin.program) / 1_000_000
        marks.append(HLSMark(text, at: date, number: count))
    }

    /// Removes and returns the marks before `end`, in milliseconds since 1970. A mark at the time of a keyframe arrives
    /// before that keyframe, and belongs to the segment that begins there.
    mutating func take(before end: Int64) -> [HLSMark] {
        defer { marks.removeAll { $0.date < end } }
        return marks.filter { $0.date < end }
    }
}
