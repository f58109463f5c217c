// SPDX-License-Identifier: Apache-2.0

/// Adds splice information (SCTE 35) to a transport stream from libavformat, which cannot write it: an entry in the
/// program map table, and packets with a PID of their own.
///
/// This type is a value, and does no I/O. Each stream needs its own.
package struct SpliceTables: Sendable {
    /// The PID of splice sections, between the PIDs of libavformat's tables and those of its streams
    /// (libavformat/mpegtsenc.c).
    static let pid: UInt16 = 0x01F0
    /// libavformat's PID of the program map table.
    private static let mapPID: UInt16 = 0x1000
    private static let size = 188

    private var continuity: UInt8 = 0
    /// This number is added to the version of the program map table, so that receivers notice the new content.
    /// libavformat does not know that the table was changed here.
    private let versions: UInt8

    /// Creates tables for a stream that has splice information from its beginning; with `isLate`, from a later moment.
    package init(isLate: Bool = false) { versions = isLate ? 1 : 0 }

    /// Returns `bytes`, which must be whole TS packets, with the splice stream added to each program map table that
    /// leaves enough room in its packet (SCTE 35, 8.1 and 8.2).
    package func announced(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for start in stride(from: 0, to: bytes.count - Self.size + 1, by: Self.size) {
            let header = (bytes[start], bytes[start + 1], bytes[start + 2])
            let pid = UInt16(header.1 & 0x1F) << 8 | UInt16(header.2)
            guard header.0 == 0x47, header.1 & 0x40 != 0, pid == Self.mapPID else { continue }
            let payload = start + 4 + (bytes[start + 3] & 0x20 == 0 ? 0 : 1 + Int(bytes[start + 4]))
            let end = start + Self.size
            guard payload < end, payload + 1 + Int(bytes[payload]) <= end,
                let section = announcing(bytes[payload + 1 + Int(bytes[payload])..<end]), section.count < end - payload
            else { continue }
            bytes[payload] = 0
            bytes.replaceSubrange(payload + 1..<payload + 1 + section.count, with: section)
            for place in payload + 1 + section.count..<end { bytes[place] = 0xFF }
        }
        return bytes
    }

    /// Returns the program map section in `bytes` (ISO/IEC 13818-1, 2.4.4.8) with the registration descriptor and the
    /// splice stream; nil if the section is not complete.
    private func announcing(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        let bytes = Array(bytes)
        guard bytes.count > 12, bytes[0] == 2 else { return nil }
        let length = 3 + Int(bytes[1] & 0x0F) << 8 + Int(bytes[2])
        let descriptors = Int(bytes[10] & 0x0F) << 8 + Int(bytes[11])
        guard length >= 16, length <= bytes.count, 12 + descriptors <= length - 4 else { return nil }
        // The registration descriptor "CUEI" says that the program's private stream type 0x86 is splice information.
        let registration: [UInt8] = [5, 4, 0x43, 0x55, 0x45, 0x49]
        let stream: [UInt8] = [0x86, 0xE0 | UInt8(Self.pid >> 8), UInt8(Self.pid & 0xFF), 0xF0, 0]
        var body = Array(bytes[..<12]) + registration + bytes[12..<length - 4] + stream
        let version = (body[5] >> 1 & 0x1F &+ versions) & 0x1F
        body[5] = body[5] & 0xC1 | version << 1
        let (whole, inner) = (body.count + 4 - 3, descriptors + registration.count)
        (body[1], body[2]) = (body[1] & 0xF0 | UInt8(whole >> 8), UInt8(whole & 0xFF))
        (body[10], body[11]) = (body[10] & 0xF0 | UInt8(inner >> 8), UInt8(inner & 0xFF))
        return SpliceSection.sealed(body)
    }

    /// Returns the TS packets that carry `section`.
    package mutating func packets(of section: [UInt8]) -> [UInt8] {
        var rest = [0] + section  // the pointer field: the section begins right after it
        var packets: [UInt8] = []
        var isFirst = true
        while !rest.isEmpty {
            let part = rest.prefix(Self.size - 4)
            packets += [0x47, UInt8(Self.pid >> 8) | (isFirst ? 0x40 : 0), UInt8(Self.pid & 0xFF), 0x10 | continuity]
            packets += part + [UInt8](repeating: 0xFF, count: Self.size - 4 - part.count)
            rest.removeFirst(part.count)
            continuity = (continuity + 1) & 0xF
            isFirst = false
        }
        return packets
    }
}
