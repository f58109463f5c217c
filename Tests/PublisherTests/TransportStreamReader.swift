// SPDX-License-Identifier: Apache-2.0

/// The content of a transport stream, parsed by ISO/IEC 13818-1 without libavformat.
struct TransportStreamReader {
    /// One TS packet.
    struct Packet {
        let pid: Int
        let continuity: Int
        let beginsUnit: Bool
        let isRandomAccess: Bool
        /// Whether counters and clock may be discontinuous here (discontinuity_indicator).
        let isDiscontinuous: Bool
        /// The PCR in ticks of 27 MHz; nil if the packet has none.
        let clock: Int64?
        let payload: [UInt8]
    }

    let packets: [Packet]

    init(_ bytes: [UInt8]) {
        packets = stride(from: 0, to: bytes.count - 187, by: 188).compactMap {
            Self.packet(Array(bytes[$0..<$0 + 188]))
        }
    }

    private static func packet(_ bytes: [UInt8]) -> Packet? {
        guard bytes[0] == 0x47 else { return nil }
        let (hasField, hasPayload) = (bytes[3] & 0x20 != 0, bytes[3] & 0x10 != 0)
        let field = hasField ? Int(bytes[4]) : -1
        let flags = field > 0 ? bytes[5] : 0
        var clock: Int64?
        if flags & 0x10 != 0 {
            let base = bytes[6...9].reduce(Int64(0)) { $0 << 8 | Int64($1) } << 1 | Int64(bytes[10] >> 7)
            clock = base * 300 + Int64(bytes[10] & 1) << 8 + Int64(bytes[11])
        }
        return Packet(
            pid: Int(bytes[1] & 0x1F) << 8 | Int(bytes[2]), continuity: Int(bytes[3] & 0x0F),
            beginsUnit: bytes[1] & 0x40 != 0, isRandomAccess: flags & 0x40 != 0,
            isDiscontinuous: flags & 0x80 != 0, clock: clock,
            payload: hasPayload ? Array(bytes[(5 + field)...]) : [])
    }

    /// The number of unannounced discontinuities: a continuity counter increases by one in a packet with a payload, and
    /// is unchanged in one without a payload.
    var continuityErrors: Int {
        var last: [Int: Int] = [:]
        var errors = 0
        for packet in packets where packet.pid != 0x1FFF {
            if let before = last[packet.pid], !packet.isDiscontinuous {
                let expected = packet.payload.isEmpty ? before : (before + 1) & 15
                if packet.continuity != expected { errors += 1 }
            }
            last[packet.pid] = packet.continuity
        }
        return errors
    }

    /// The intervals between PCRs, in milliseconds.
    var clockDistances: [Double] {
        let clocks = packets.compactMap(\.clock)
        return zip(clocks, clocks.dropFirst()).map { Double($1 - $0) / 27_000 }
    }

    /// For each random access point of the video, the types of the NAL units (ITU-T H.264, table 7-1) with which it
    /// begins, and whether PAT and PMT precede it.
    var randomAccessPoints: [(types: [UInt8], hasTables: Bool)] {
        packets.indices.filter { packets[$0].pid == 0x100 && packets[$0].isRandomAccess }.map { index in
            let before = packets[..<index].filter { $0.pid != 0x11 }.suffix(2).map(\.pid)
            return (Self.units(unit(at: index)).map { $0[0] & 0x1F }, before == [0, 0x1000])
        }
    }

    /// The SPS of each random access point of the video.
    var parameterSets: [[UInt8]] {
        packets.indices.filter { packets[$0].pid == 0x100 && packets[$0].isRandomAccess }.compactMap { index in
            Self.units(unit(at: index)).first { $0[0] & 0x1F == 7 }
        }
    }

    /// Returns the bytes of the video's PES packet that begins at `index`.
    private func unit(at index: Int) -> [UInt8] {
        let end = packets[(index + 1)...].firstIndex { $0.pid == 0x100 && $0.beginsUnit } ?? packets.count
        return packets[index..<end].filter { $0.pid == 0x100 }.flatMap(\.payload)
    }

    /// Returns the NAL units of a PES packet, each up to the next start code.
    private static func units(_ unit: [UInt8]) -> [[UInt8]] {
        // The PES header also begins with a start code: it has 9 bytes, and then as many as the last of them states
        // (ISO/IEC 13818-1, 2.4.3.6).
        guard unit.count > 9 else { return [] }
        let stream = Array(unit.dropFirst(9 + Int(unit[8])))
        let starts = stream.indices.dropLast(3)
            .filter { stream[$0] == 0 && stream[$0 + 1] == 0 && stream[$0 + 2] == 1 }
        return zip(starts, starts.dropFirst() + [stream.count]).map { Array(stream[($0 + 3)..<$1]) }
    }

    /// The versions of the program map tables, in order (ISO/IEC 13818-1, 2.4.4.8).
    var tableVersions: [Int] {
        packets.filter { $0.pid == 0x1000 && $0.beginsUnit && $0.payload.count > 6 }
            .map { Int($0.payload[6] >> 1) & 31 }
    }
}
