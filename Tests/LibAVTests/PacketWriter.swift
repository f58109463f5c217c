// SPDX-License-Identifier: Apache-2.0

import TestSupport

@testable import LibAV

/// Writes transport packets strictly by ISO/IEC 13818-1, 2.4.
enum PacketWriter {
    /// An elementary stream in a program map.
    struct Stream {
        var type: UInt8
        var pid: Int
        var descriptors: [UInt8] = []
    }

    /// A section with its checksum. `id` is the number of the transport stream or of the program.
    static func section(_ table: UInt8, _ body: [UInt8], id: UInt8 = 1, version: UInt8 = 0) -> [UInt8] {
        let length = body.count + 9
        let head = [table, 0xB0 | UInt8(length >> 8), UInt8(length & 0xFF), 0, id, 0xC1 | version << 1, 0, 0]
        return SpliceSection.sealed(head + body)
    }

    /// The program association section: the map of program 1 has the PID that libavformat uses.
    static let association = section(0, [0, 1, 0xF0, 0])

    /// The map of streams with these types.
    static func map(_ types: [UInt8]) -> [UInt8] { section(2, [0xE1, 0, 0xF0, 0] + streams(types)) }

    /// The map of these streams.
    static func map(of streams: [Stream], version: UInt8 = 0) -> [UInt8] {
        let body = streams.reduce([0xE1, 0, 0xF0, 0] as [UInt8]) { body, stream in
            let count = stream.descriptors.count
            return body + [stream.type, 0xE0 | UInt8(stream.pid >> 8), UInt8(stream.pid & 0xFF), 0xF0, UInt8(count)]
                + stream.descriptors
        }
        return section(2, body, version: version)
    }

    static func streams(_ types: [UInt8]) -> [UInt8] {
        types.indices.flatMap { index -> [UInt8] in [types[index], 0xE1, UInt8(index), 0xF0, 0] }
    }

    /// The packet that carries `section`, which must fit into it.
    static func packet(_ section: [UInt8], pid: Int) -> [UInt8] {
        [0x47, 0x40 | UInt8(pid >> 8), UInt8(pid & 0xFF), 0x10, 0] + section
            + [UInt8](repeating: 0xFF, count: 183 - section.count)
    }

    /// The packets that carry `section`: as few as possible, or more with stuffing.
    static func packets(_ section: [UInt8], pid: Int, using random: inout SeededRandom) -> [[UInt8]] {
        var (rest, packets): ([UInt8], [[UInt8]]) = ([0] + section, [])
        while !rest.isEmpty {
            let isLast = rest.count < 40 || (rest.count <= 184 && Bool.random(using: &random))
            let count = isLast ? rest.count : Int.random(in: 20...min(183, rest.count - 1), using: &random)
            var packet: [UInt8] = [0x47, UInt8(pid >> 8) | (packets.isEmpty ? 0x40 : 0), UInt8(pid & 0xFF)]
            if isLast {
                packet += [0x10] + rest + [UInt8](repeating: 0xFF, count: 184 - count)
            } else {
                let stuffing: [UInt8] = [0] + [UInt8](repeating: 0xFF, count: 182)
                packet += [0x30, UInt8(183 - count)]
                packet += stuffing.prefix(183 - count)
                packet += rest.prefix(count)
            }
            packets.append(packet)
            rest.removeFirst(count)
        }
        return packets
    }

    /// Up to four packets of a stream.
    static func content(using random: inout SeededRandom) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            bytes += [0x47, 1, 0, 0x10]
            for _ in 0..<184 { bytes.append(UInt8.random(in: 0...255, using: &random)) }
        }
        return bytes
    }

    /// `count` packets of a stream, with a payload that means nothing.
    static func filling(_ count: Int) -> [UInt8] {
        (0..<count).flatMap { _ in [0x47, 1, 0, 0x10] + [UInt8](repeating: 0xAA, count: 184) }
    }
}
