// SPDX-License-Identifier: Apache-2.0

/// A TS packet with a program clock reference and nothing else (ISO/IEC 13818-1, 2.4.3.4 and 2.4.3.5).
enum ClockReference {
    /// The size of a TS packet.
    static let packetBytes = 188

    /// A packet of the stream `pid` that says `time`, in 90 kHz ticks. It has no payload, so its continuity counter is
    /// that of the stream's packet before it.
    static func packet(pid: UInt16, continuity: UInt8, time: Int64) -> [UInt8] {
        let base = UInt64(bitPattern: time) & 0x1_FFFF_FFFF
        var bytes: [UInt8] = [
            0x47, UInt8(pid >> 8) & 0x1F, UInt8(truncatingIfNeeded: pid), 0x20 | continuity & 0x0F,
            183, 0x10,  // the adaptation field fills the packet and has a PCR
        ]
        bytes += [25, 17, 9, 1].map { UInt8(truncatingIfNeeded: base >> $0) }
        bytes += [UInt8(base & 1) << 7 | 0x7E, 0]
        return bytes + [UInt8](repeating: 0xFF, count: packetBytes - bytes.count)
    }

    /// The continuity counter of the newest packet of `pid` in `message`, if one is in it.
    static func continuity(of pid: UInt16, in message: [UInt8]) -> UInt8? {
        for start in stride(from: message.count - packetBytes, through: 0, by: -packetBytes)
        where message[start + 1] & 0x1F == UInt8(pid >> 8) && message[start + 2] == UInt8(truncatingIfNeeded: pid) {
            return message[start + 3] & 0x0F
        }
        return nil
    }
}
