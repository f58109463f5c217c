// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// Makes an H.264 stream in which a parameter set comes in the middle of a GOP, as some encoders send it.
///
/// The stream has no CABAC, so the bits of its slices can be shifted. Some frames are changed so that they refer to
/// another picture parameter set. This set has the same content under another number, and is sent only before the first
/// of these frames.
enum ParameterSetChange {
    /// Rewrites `stream`, which has start codes and one slice per frame, so that the frames in `range` refer to the
    /// added set.
    static func apply(to stream: Data, frames range: Range<Int>) throws -> Data {
        var (result, number): (Data, Int) = (Data(), 0)
        var added: [UInt8]?
        for unit in units([UInt8](stream)) {
            let type = unit[0] & 0x1F
            if type == 8 { added = try renumbered(unit, skipping: 0) }
            guard type == 1 || type == 5 else {
                result += [0, 0, 0, 1] + unit
                continue
            }
            if number == range.lowerBound, let added { result += [0, 0, 0, 1] + added }
            result += [0, 0, 0, 1] + (range.contains(number) ? try renumbered(unit, skipping: 2) : unit)
            number += 1
        }
        return result
    }

    /// Returns the NAL units of `bytes`, which are separated by start codes.
    static func units(_ bytes: [UInt8]) -> [[UInt8]] {
        var (units, start, index): ([[UInt8]], Int?, Int) = ([], nil, 0)
        func close(_ end: Int) {
            guard let start else { return }
            var end = end
            while end > start, bytes[end - 1] == 0 { end -= 1 }
            units.append(Array(bytes[start..<end]))
        }
        while index + 2 < bytes.count {
            if bytes[index] == 0, bytes[index + 1] == 0, bytes[index + 2] == 1 {
                close(index)
                (start, index) = (index + 3, index + 3)
            } else {
                index += 1
            }
        }
        close(bytes.count)
        return units
    }

    /// Returns `unit` with the number 1 in place of 0 after this many Exp-Golomb codes (ITU-T H.264, 7.3.2.2 and
    /// 7.3.3).
    private static func renumbered(_ unit: [UInt8], skipping codes: Int) throws -> [UInt8] {
        var bits: [UInt8] = []
        var zeros = 0
        for byte in unit.dropFirst() {
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            bits += (0..<8).map { byte >> (7 - $0) & 1 }
        }
        var position = 0
        for _ in 0..<codes {
            let length = bits[position...].prefix { $0 == 0 }.count
            position += 2 * length + 1
        }
        guard bits[position] == 1 else { throw HarnessFailure("the parameter set has another number than 0") }
        bits.replaceSubrange(position...position, with: [0, 1, 0])
        // The stop bit moves to the end of the last byte that is still needed.
        while bits.last == 0 { bits.removeLast() }
        while bits.count % 8 != 0 { bits.append(0) }
        let bytes = stride(from: 0, to: bits.count, by: 8).map { start in
            bits[start..<start + 8].reduce(0) { $0 << 1 | $1 }
        }
        return [unit[0]] + escaped(bytes)
    }

    /// Returns `bytes` with the emulation prevention bytes that keep start codes out of them (ITU-T H.264, 7.4.1).
    static func escaped(_ bytes: [UInt8]) -> [UInt8] {
        var (result, zeros): ([UInt8], Int) = ([], 0)
        for byte in bytes {
            if zeros >= 2, byte <= 3 {
                result.append(3)
                zeros = 0
            }
            result.append(byte)
            zeros = byte == 0 ? zeros + 1 : 0
        }
        return result
    }
}
