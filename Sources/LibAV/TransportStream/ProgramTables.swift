// SPDX-License-Identifier: Apache-2.0

/// Stores the program association and map tables of a transport stream from libavformat, so that they can be repeated
/// anywhere. They have continuity counters of their own.
///
/// This type is a value, and does no I/O. Each stream needs its own.
struct ProgramTables {
    /// The PIDs of the tables that libavformat makes (libavformat/mpegtsenc.c).
    private static let pids: [UInt16] = [0, 0x1000]
    /// The age, in 90 kHz ticks, from which on the tables are repeated after the next clock reference: 50 ms. The
    /// reference comes within 40 ms, so the tables are repeated within the 100 ms of ETSI TR 101 211, 4.4.
    private static let period: Int64 = 4500

    private var packets: [[UInt8]?] = [nil, nil]
    private var continuity: [UInt8] = [15, 15]
    /// The clock's time when the tables were last sent.
    private var sent: Int64?

    /// Stores the packet at `start` if it belongs to one of the tables, and returns whether it does.
    mutating func take(_ bytes: [UInt8], at start: Int) -> Bool {
        let pid = UInt16(bytes[start + 1] & 0x1F) << 8 | UInt16(bytes[start + 2])
        guard let index = Self.pids.firstIndex(of: pid) else { return false }
        packets[index] = Array(bytes[start..<start + ClockReference.packetBytes])
        return true
    }

    /// Whether the tables must be repeated when the clock is at `time`.
    func areDue(at time: Int64) -> Bool { sent.map { time < $0 || time - $0 > Self.period } ?? true }

    /// Returns the tables' packets, to be sent at the clock's time `time`. `splices` adds the splice information to
    /// them.
    mutating func sending(at time: Int64?, with splices: SpliceTables?) -> [UInt8] {
        sent = time ?? sent
        var result: [UInt8] = []
        for index in packets.indices {
            guard var packet = packets[index] else { continue }
            continuity[index] = (continuity[index] + 1) & 0x0F
            packet[3] = packet[3] & 0xF0 | continuity[index]
            result += splices?.announced(packet) ?? packet
            // The discontinuity indicator is sent only with the first copy of a table, and is cleared in the stored
            // copy.
            if packet[3] & 0x20 != 0, packet[4] > 0 { packet[5] &= 0x7F }
            packets[index] = packet
        }
        return result
    }
}
