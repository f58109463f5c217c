// SPDX-License-Identifier: Apache-2.0

internal import Media

/// A marker in a playlist: a text at a certain time, written as `EXT-X-DATERANGE` without a duration (RFC 8216,
/// 4.3.2.7).
package struct HLSMark: Equatable {
    private static let family = "relay.marker"

    /// The identifier of the marker, which is unique in its playlist.
    private let id: String
    /// The time of the marker, in milliseconds since 1970 (UTC).
    package let date: Int64
    /// The text of the marker. It has no characters that a quoted string must not contain.
    let text: String

    /// Creates a marker with `text` at `date`, in milliseconds since 1970. Markers in one playlist that have the same
    /// date must have different numbers.
    package init(_ text: String, at date: Int64, number: Int) {
        (id, self.date) = ("marker-\(date)-\(number)", date)
        self.text = Self.quotable(text)
    }

    /// Parses the attributes of a tag that ``line`` has written. Returns nil for any other text.
    init?(parsing value: Substring) {
        // The text is split byte by byte, because a combining character could hide a quotation mark.
        let parts = value.utf8.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard parts.count == 9, parts[0] == "ID=", parts[2] == ",CLASS=", parts[3] == Self.family,
            parts[4] == ",START-DATE=", let date = HLSDate.milliseconds(parts[5]), parts[6] == ",X-TEXT=",
            parts[8].isEmpty
        else { return nil }
        (id, self.date, text) = (parts[1], date, parts[7])
    }

    /// The marker as a line of the playlist.
    package var line: String {
        let start = HLSDate.text(milliseconds: date)
        return "#EXT-X-DATERANGE:ID=\"\(id)\",CLASS=\"\(Self.family)\",START-DATE=\"\(start)\",X-TEXT=\"\(text)\""
    }

    /// Replaces the characters that a quoted string or a playlist must not contain: quotation marks, line ends (RFC
    /// 8216, 4.2) and other control characters.
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

/// Collects markers until the segment to which they belong is complete.
struct HLSMarks {
    /// A marker whose date is not known yet.
    private struct Waiting {
        let text: String
        let time: ProgramInstant
        let number: Int
    }

    private var waiting: [Waiting] = []
    private var count = 0

    /// Adds the text of `packet` as a marker, if the packet has a text.
    mutating func note(_ packet: EncodedPacket) {
        guard let text = packet.text else { return }
        count += 1
        waiting.append(Waiting(text: text, time: packet.programPts, number: count))
    }

    /// Removes the markers before the time `end`, in milliseconds since 1970, and returns them with their dates by
    /// `dating`. A marker at the time of a keyframe arrives before that keyframe. It belongs to the segment that begins
    /// at the keyframe.
    mutating func take(before end: Int64, by dating: HLSDating) -> [HLSMark] {
        let due = waiting.filter { dating.date(of: $0.time) < end }
        waiting.removeAll { dating.date(of: $0.time) < end }
        return due.map { HLSMark($0.text, at: dating.date(of: $0.time), number: $0.number) }
    }
}
