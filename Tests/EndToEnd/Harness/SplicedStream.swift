// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// Makes a transport stream with splice information (SCTE 35), and reads this information from a stream. It shares no
/// code with relay.
enum SplicedStream {
    /// One announced break.
    struct Splice: Equatable {
        var event: UInt32
        /// `pts_time` plus `pts_adjustment`, in 33 bits and units of 90 kHz.
        var time: Int64
    }

    private static let size = 188
    private static let pid = 0x0777

    /// Inserts `splices` into `stream`, which libavformat made, in order. `part` is the position of each as a fraction
    /// of the stream's length.
    static func make(_ stream: Data, _ splices: [(part: Double, Splice)]) -> Data {
        var (result, continuity): (Data, UInt8) = (Data(), 0)
        var waiting = splices[...]
        let bytes = [UInt8](stream)
        for start in stride(from: 0, to: bytes.count, by: size) {
            var packet = Array(bytes[start..<start + size])
            let pid = Int(packet[1] & 0x1F) << 8 | Int(packet[2])
            if pid == 0x1000, packet[1] & 0x40 != 0 { packet = announced(packet) }
            if let next = waiting.first, Double(start) >= next.part * Double(bytes.count) {
                let content = [0] + section(next.1)
                result += [0x47, 0x40 | UInt8(Self.pid >> 8), UInt8(Self.pid & 0xFF), 0x10 | continuity] + content
                result += [UInt8](repeating: 0xFF, count: size - 4 - content.count)
                continuity = (continuity + 1) & 15
                waiting.removeFirst()
            }
            result += packet
        }
        return result
    }

    /// Returns a `splice_insert` (SCTE 35, 9.7.3) with half of its time in `pts_adjustment`.
    private static func section(_ splice: Splice) -> [UInt8] {
        let half = splice.time / 2
        let rest = splice.time - half
        func bytes(_ value: Int64) -> [UInt8] {
            (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * Int64($0))) }
        }
        var body: [UInt8] = [0xFC, 0x30, 0, 0, UInt8(half >> 32 & 1)] + bytes(half)
        body += [0, 0xFF, 0xF0, 15, 5] + bytes(Int64(splice.event)) + [0x7F, 0xCF, 0xFE | UInt8(rest >> 32 & 1)]
        body += bytes(rest) + [0, 1, 0, 0, 0, 0]
        body[2] = UInt8(body.count + 4 - 3)
        return body + bytes(Int64(checksum(body)))
    }

    private static func announced(_ packet: [UInt8]) -> [UInt8] {
        let start = 5 + (packet[3] & 0x20 == 0 ? 0 : 1 + Int(packet[4]))
        let length = 3 + Int(packet[start + 1] & 15) << 8 + Int(packet[start + 2])
        var body = Array(packet[start..<start + length - 4])
        body.insert(contentsOf: [5, 4, 0x43, 0x55, 0x45, 0x49], at: 12)
        body[11] += 6
        body += [0x86, 0xE0 | UInt8(pid >> 8), UInt8(pid & 0xFF), 0xF0, 0]
        body[2] += 11
        let sum = checksum(body)
        body += (0..<4).map { UInt8(truncatingIfNeeded: sum >> (24 - 8 * UInt32($0))) }
        return packet[..<start] + body + [UInt8](repeating: 0xFF, count: size - start - body.count)
    }

    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var sum: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            for bit in (0..<8).reversed() {
                let carry = sum >> 31 ^ UInt32(byte >> UInt8(bit) & 1)
                sum = sum << 1 ^ (carry == 1 ? 0x04C1_1DB7 : 0)
            }
        }
        return sum
    }

    /// Returns the breaks that a stream announces, on the PID that its program map table contains.
    static func splices(_ path: String) throws -> [Splice] {
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        var (found, pid): ([Splice], Int?) = ([], nil)
        for start in stride(from: 0, to: bytes.count - size + 1, by: size) {
            let packet = Array(bytes[start..<start + size])
            guard packet[0] == 0x47, packet[1] & 0x40 != 0 else { continue }
            let here = Int(packet[1] & 0x1F) << 8 | Int(packet[2])
            let place = 5 + (packet[3] & 0x20 == 0 ? 0 : 1 + Int(packet[4]))
            guard [0x1000, pid].contains(here), place + 3 < size else { continue }
            let length = 3 + Int(packet[place + 1] & 15) << 8 + Int(packet[place + 2])
            guard place + length <= size else { continue }
            let section = Array(packet[place..<place + length])
            guard checksum(section) == 0 else { throw HarnessFailure("\(path): a section's checksum is wrong") }
            func number(_ range: Range<Int>) -> Int64 { section[range].reduce(0) { $0 << 8 | Int64($1) } }
            if section[0] == 2 {
                pid = try stream(section, path)
            } else if section[0] == 0xFC, section[13] == 5 {
                let time = number(5..<9) + number(21..<25) + Int64(section[4] & 1 + section[20] & 1) << 32
                found.append(Splice(event: UInt32(number(14..<18)), time: time % (1 << 33)))
            }
        }
        return found
    }

    /// Returns the PID of splice information in a program map section.
    private static func stream(_ section: [UInt8], _ path: String) throws -> Int? {
        let descriptors = Int(section[10] & 15) << 8 + Int(section[11])
        var place = 12 + descriptors
        while place + 5 <= section.count - 4 {
            if section[place] == 0x86 {
                guard Array(section[12..<12 + descriptors]).suffix(6) == [5, 4, 0x43, 0x55, 0x45, 0x49] else {
                    throw HarnessFailure("\(path): splice information is not registered")
                }
                return Int(section[place + 1] & 0x1F) << 8 | Int(section[place + 2])
            }
            place += 5 + Int(section[place + 3] & 15) << 8 + Int(section[place + 4])
        }
        return nil
    }
}
