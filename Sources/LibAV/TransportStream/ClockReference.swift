// SPDX-License-Identifier: Apache-2.0

/// Program clock references (PCR) in TS packets (ISO/IEC 13818-1, 2.4.3.4 and 2.4.3.5). Times are 90 kHz ticks; the 27
/// MHz extension is always 0.
enum ClockReference {
    /// The size of a TS packet in bytes.
    static let packetBytes = 188
    /// The positions of the reference's bytes in a TS packet that has a reference.
    private static let place = 6..<12
    private static let (flag, discontinuity): (UInt8, UInt8) = (0x10, 0x80)

    /// Returns a packet of the stream `pid` that contains only the reference `time`. The packet has no payload, so it
    /// repeats the continuity counter of the stream's previous packet. `isDiscontinuous` marks the beginning of a new
    /// time base.
    static func packet(pid: UInt16, continuity: UInt8, time: Int64, isDiscontinuous: Bool = false) -> [UInt8] {
        var bytes = [UInt8](repeating: 0xFF, count: packetBytes)
        bytes[0] = 0x47
        bytes[1] = UInt8(pid >> 8) & 0x1F
        bytes[2] = UInt8(truncatingIfNeeded: pid)
        bytes[3] = 0x20 | continuity & 0x0F
        bytes[4] = UInt8(packetBytes - 5)  // the adaptation field fills the packet
        bytes[5] = flag | (isDiscontinuous ? discontinuity : 0)
        write(time, into: &bytes, at: 0)
        return bytes
    }

    /// Whether the TS packet at `start` has a clock reference.
    static func isIn(_ bytes: [UInt8], at start: Int) -> Bool {
        bytes[start + 3] & 0x20 != 0 && bytes[start + 4] >= 7 && bytes[start + 5] & flag != 0
    }

    /// Sets the clock reference of the TS packet at `start` to `time`. The packet must have a reference.
    static func write(_ time: Int64, into bytes: inout [UInt8], at start: Int) {
        let base = UInt64(bitPattern: time) & 0x1_FFFF_FFFF
        let first = [25, 17, 9, 1].map { UInt8(truncatingIfNeeded: base >> $0) }
        for (offset, byte) in zip(place, first + [UInt8(base & 1) << 7 | 0x7E, 0]) { bytes[start + offset] = byte }
    }

    /// Removes the clock reference of the TS packet at `start`; stuffing bytes replace it. The packet's adaptation
    /// field must have nothing else but flags.
    static func remove(from bytes: inout [UInt8], at start: Int) {
        bytes[start + 5] &= ~flag
        for offset in place { bytes[start + offset] = 0xFF }
    }
}
