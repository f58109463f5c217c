// SPDX-License-Identifier: Apache-2.0

/// A packet of a transport stream, parsed exactly as ISO/IEC 13818-1, 2.4.3 defines it.
package struct TransportPacket: Sendable {
    /// The number of bytes in a packet.
    package static let size = 188
    /// The PID of packets without content.
    package static let null = 0x1FFF

    package let pid: Int
    package let continuity: Int
    /// Whether a PES packet or a section begins in this packet.
    package let beginsUnit: Bool
    package let isRandomAccess: Bool
    /// The discontinuity indicator: whether the packet's continuity counter and clock do not continue the previous
    /// ones.
    package let isDiscontinuous: Bool
    /// The program clock reference in 27 MHz ticks, if the packet has one.
    package let clock: Int64?
    /// The bytes after the header and the adaptation field; nil if the header says that there is no payload.
    package let payload: ArraySlice<UInt8>?

    /// Parses the first 188 bytes of `bytes`; nil if they are not a packet.
    package init?(_ bytes: ArraySlice<UInt8>) {
        let first = bytes.startIndex
        guard bytes.count >= Self.size, bytes[first] == 0x47 else { return nil }
        let (hasField, hasPayload) = (bytes[first + 3] & 0x20 != 0, bytes[first + 3] & 0x10 != 0)
        let length = hasField ? Int(bytes[first + 4]) : -1
        guard length < Self.size - 4 else { return nil }
        let flags = length > 0 ? bytes[first + 5] : 0
        pid = Int(bytes[first + 1] & 0x1F) << 8 | Int(bytes[first + 2])
        continuity = Int(bytes[first + 3] & 0x0F)
        beginsUnit = bytes[first + 1] & 0x40 != 0
        isRandomAccess = flags & 0x40 != 0
        isDiscontinuous = flags & 0x80 != 0
        clock = flags & 0x10 != 0 && length >= 7 ? Self.clock(bytes[(first + 6)..<(first + 12)]) : nil
        payload = hasPayload ? bytes[(first + 5 + length)..<(first + Self.size)] : nil
    }

    private static func clock(_ bytes: ArraySlice<UInt8>) -> Int64 {
        let first = bytes.startIndex
        let base = bytes[first..<first + 4].reduce(Int64(0)) { $0 << 8 | Int64($1) } << 1 | Int64(bytes[first + 4] >> 7)
        return base * 300 + Int64(bytes[first + 4] & 1) << 8 + Int64(bytes[first + 5])
    }

    /// The presentation and decoding times of the PES packet that begins here, in 90 kHz ticks (2.4.3.6).
    package var times: (presentation: Int64, decoding: Int64)? {
        guard beginsUnit, let payload, payload.count >= 14, payload.starts(with: [0, 0, 1]) else { return nil }
        let first = payload.startIndex
        let flags = payload[first + 7]
        guard flags & 0x80 != 0 else { return nil }
        let presentation = Self.time(payload[(first + 9)..<(first + 14)])
        guard flags & 0x40 != 0, payload.count >= 19 else { return (presentation, presentation) }
        return (presentation, Self.time(payload[(first + 14)..<(first + 19)]))
    }

    private static func time(_ bytes: ArraySlice<UInt8>) -> Int64 {
        let parts = bytes.map { Int64($0) }
        return (parts[0] >> 1 & 7) << 30 | parts[1] << 22 | (parts[2] >> 1) << 15 | parts[3] << 7 | parts[4] >> 1
    }
}
