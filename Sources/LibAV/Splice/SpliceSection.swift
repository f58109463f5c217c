// SPDX-License-Identifier: Apache-2.0

/// A `splice_info_section` (SCTE 35, 9.6), which announces for example an ad break. Its times are on the clock of the
/// stream that carries it.
package enum SpliceSection {
    /// The value at which `pts_adjustment` wraps: 33 bits of a 90 kHz clock.
    private static let wrap: Int64 = 1 << 33
    /// The minimum length of a section in bytes: the header up to the splice command, and the checksum.
    private static let shortest = 18
    /// The maximum length of a section in bytes: `section_length` is at most 4093 (SCTE 35, 9.6.1), and three bytes
    /// precede what it counts.
    private static let longest = 4093 + 3

    /// Adapts `section` to a stream whose times are later by `ticks` of 90 kHz; returns nil if it is not a valid
    /// section.
    ///
    /// Only `pts_adjustment` and the checksum change. Receivers add `pts_adjustment` to every time in the section, also
    /// to encrypted ones (9.6.1).
    package static func shifted(_ section: [UInt8], by ticks: Int64) -> [UInt8]? {
        guard let length = length(of: section), checksum(section[..<length]) == 0 else { return nil }
        var section = Array(section[..<length])
        let before = section[5..<9].reduce(Int64(section[4] & 1)) { $0 << 8 | Int64($1) }
        let sum = (before + ticks % wrap + wrap) % wrap
        section[4] = section[4] & 0xFE | UInt8(sum >> 32)
        for place in 5..<9 { section[place] = UInt8(truncatingIfNeeded: sum >> (8 * Int64(8 - place))) }
        return sealed(Array(section.dropLast(4)))
    }

    /// Returns `body` followed by its checksum.
    package static func sealed(_ body: [UInt8]) -> [UInt8] {
        let sum = checksum(body[...])
        return body + (0..<4).map { UInt8(truncatingIfNeeded: sum >> (24 - 8 * $0)) }
    }

    /// The section's length including its header; nil if the section is not valid.
    private static func length(of section: [UInt8]) -> Int? {
        guard section.count >= shortest, section[0] == 0xFC else { return nil }
        let length = 3 + Int(section[1] & 0x0F) << 8 + Int(section[2])
        return (shortest...min(longest, section.count)).contains(length) ? length : nil
    }

    /// `CRC_32` of sections (ISO/IEC 13818-1, annex A); over a section with its checksum, the result is 0.
    package static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.reduce(0xFFFF_FFFF) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte) << 24) { sum, _ in
                sum & 0x8000_0000 == 0 ? sum << 1 : sum << 1 ^ 0x04C1_1DB7
            }
        }
    }
}
