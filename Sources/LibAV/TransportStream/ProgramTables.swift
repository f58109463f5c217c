// SPDX-License-Identifier: Apache-2.0

/// The program association and map tables of a transport stream that libavformat makes, so that they can be sent again at
/// any place. They have continuity counters of their own.
///
/// A value without I/O; it belongs to one stream.
struct ProgramTables {
    /// The PIDs of the tables that libavformat makes (libavformat/mpegtsenc.c).
    private static let pids: [UInt16] = [0, 0x1000]
    /// How old the tables may get, in ticks of 90 kHz, before they are sent behind the next clock reference: 50 ms, which
    /// together with the 40 ms to the next reference are less than 100 ms (ETSI TR 101 211, 4.4).
    private static let period: Int64 = 4500

    private var packets: [[UInt8]?] = [nil, nil]
    private var continuity: [UInt8] = [15, 15]
    /// What the clock said when they were sent.
    private var sent: Int64?

    /// Whether the packet at `start` belongs to a table; it is remembered then.
    mutating func take(_ bytes: [UInt8], at start: Int) -> Bool {
        let pid = UInt16(bytes[start + 1] & 0x1F) << 8 | UInt16(bytes[start + 2])
        guard let index = Self.pids.firstIndex(of: pid) else { return false }
        packets[index] = Array(bytes[start..<start + ClockReference.packetBytes])
        return true
    }

    /// Whether the tables are to be sent again when the clock says `time`.
    func areDue(at time: Int64) -> Bool { sent.map { time < $0 || time - $0 > Self.period } ?? true }

    /// The tables' packets, which are sent when the clock says `time`. `splices` names splice information in them.
    mutating func sending(at time: Int64?, with splices: SpliceTables?) -> [UInt8] {
        sent = time ?? sent
        var result: [UInt8] = []
        for index in packets.indices {
            guard var packet = packets[index] else { continue }
            continuity[index] = (continuity[index] + 1) & 0x0F
            packet[3] = packet[3] & 0xF0 | continuity[index]
            result += splices?.announced(packet) ?? packet
            // That the counter does not continue is said once.
            if packet[3] & 0x20 != 0, packet[4] > 0 { packet[5] &= 0x7F }
            packets[index] = packet
        }
        return result
    }
}
