// SPDX-License-Identifier: Apache-2.0

package import Media

/// H.264 and HEVC as a byte stream, whose NAL units have start codes in front (ITU-T H.264 and H.265, annex B), made what
/// MP4 and FLV hold: NAL units with their lengths in front, and parameter sets beside them. No NAL unit is changed.
package enum ByteStream {
    /// Where the NAL units of an access unit lie, without start codes and without the zeros behind them.
    package static func units(in bytes: UnsafeRawBufferPointer) -> [Range<Int>] {
        var units: [Range<Int>] = []
        var (start, index) = (-1, 0)
        while index + 2 < bytes.count {
            // Two steps at a time would do, but what follows this loop takes longer.
            guard bytes[index + 2] <= 1 else {
                index += 3
                continue
            }
            guard bytes[index] == 0, bytes[index + 1] == 0, bytes[index + 2] == 1 else {
                index += 1
                continue
            }
            close(start, index, bytes, &units)
            start = index + 3
            index = start
        }
        close(start, bytes.count, bytes, &units)
        return units
    }

    private static func close(
        _ start: Int, _ end: Int, _ bytes: UnsafeRawBufferPointer, _ units: inout [Range<Int>]
    ) {
        guard start >= 0 else { return }
        var end = end
        while end > start, bytes[end - 1] == 0 { end -= 1 }
        if end > start { units.append(start..<end) }
    }

    /// What an access unit of `codec`, H.264 or HEVC, consists of.
    package struct Parts {
        /// The parameter sets, in order of their types and then as they come, each once.
        package var parameterSets: [[UInt8]] = []
        /// The NAL units with their lengths in front, without delimiters and without the parameter sets in `known`.
        package var payload: SharedBytes
    }

    /// Takes an access unit apart. Parameter sets in `known` are left out of the payload, because they stand beside it.
    package static func parts(
        of bytes: UnsafeRawBufferPointer, codec: Codec, without known: [[UInt8]]?
    ) -> Parts {
        var (sets, kept): ([[UInt8]], [Range<Int>]) = ([], [])
        for unit in units(in: bytes) {
            switch kind(of: bytes[unit.lowerBound], codec) {
            case .delimiter: continue
            case .parameterSet:
                let set = Array(bytes[unit])
                if !sets.contains(set) { sets.append(set) }
                if known?.contains(set) ?? true { continue }
            case .other: break
            }
            kept.append(unit)
        }
        let payload = SharedBytes(count: kept.reduce(0) { $0 + 4 + $1.count }) { target in
            var place = 0
            for unit in kept {
                withUnsafeBytes(of: UInt32(unit.count).bigEndian) { length in
                    for index in 0..<4 { target[place + index] = length[index] }
                }
                UnsafeMutableRawBufferPointer(rebasing: target[(place + 4)...])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[unit]))
                place += 4 + unit.count
            }
        }
        return Parts(parameterSets: sets.sorted { type(of: $0, codec) < type(of: $1, codec) }, payload: payload)
    }

    private enum Kind { case delimiter, parameterSet, other }

    private static func kind(of header: UInt8, _ codec: Codec) -> Kind {
        if codec == .hevc {
            return switch header >> 1 & 0x3F {
            case 32, 33, 34: .parameterSet
            case 35: .delimiter
            default: .other
            }
        }
        return switch header & 0x1F {
        case 7, 8: .parameterSet
        case 9: .delimiter
        default: .other
        }
    }

    private static func type(of set: [UInt8], _ codec: Codec) -> UInt8 {
        codec == .hevc ? set[0] >> 1 & 0x3F : set[0] & 0x1F
    }

    /// The decoder configuration record with these parameter sets: `AVCDecoderConfigurationRecord` (ISO/IEC 14496-15,
    /// 5.3.3.1.2); nil if one is missing, or if it is HEVC.
    package static func configuration(_ sets: [[UInt8]], codec: Codec) -> [UInt8]? {
        guard codec == .h264 else { return nil }
        let (sequences, frames) = (sets.filter { $0[0] & 0x1F == 7 }, sets.filter { $0[0] & 0x1F == 8 })
        guard let first = sequences.first, first.count >= 4, !frames.isEmpty, sequences.count < 32, frames.count < 256
        else { return nil }
        var record: [UInt8] = [1, first[1], first[2], first[3], 0xFF, 0xE0 | UInt8(sequences.count)]
        for set in sequences { record += length(set) + set }
        record.append(UInt8(frames.count))
        for set in frames { record += length(set) + set }
        // Profiles that may have more than 8 bits or other than 4:2:0 say so (5.3.3.1.2).
        guard [100, 110, 122, 144].contains(first[1]) else { return record }
        guard let depths = depths(of: first) else { return nil }
        return record + depths + [0]
    }

    /// Chroma format and bit depths of a sequence parameter set, as the record has them.
    private static func depths(of set: [UInt8]) -> [UInt8]? {
        var bits = BitReader(plain(set.prefix(64).dropFirst(4)))
        guard bits.readExponential() != nil, let chroma = bits.readExponential(), chroma <= 3 else { return nil }
        if chroma == 3 { _ = bits.read(1) }
        guard let luma = bits.readExponential(), let color = bits.readExponential(), luma <= 6, color <= 6 else {
            return nil
        }
        return [0xFC | UInt8(chroma), 0xF8 | UInt8(luma), 0xF8 | UInt8(color)]
    }

    /// The bytes without those that keep start codes from appearing in them (7.4.1.1).
    private static func plain(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var (plain, zeros): ([UInt8], Int) = ([], 0)
        for byte in bytes {
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            plain.append(byte)
        }
        return plain
    }

    private static func length(_ set: [UInt8]) -> [UInt8] {
        [UInt8(truncatingIfNeeded: set.count >> 8), UInt8(truncatingIfNeeded: set.count)]
    }
}
