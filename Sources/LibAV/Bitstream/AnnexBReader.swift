// SPDX-License-Identifier: Apache-2.0

package import Media

/// Turns access units as transport streams and RTP have them (ITU-T H.264 and H.265, annex B: start codes, parameter sets
/// among the frames) into what MP4 and FLV have: NAL units behind their lengths, parameter sets beside the frames.
///
/// NAL units are copied byte by byte, supplemental information included. Parameter sets that are new in the middle of a GOP
/// stay where they are, in front of the frame that needs them: what is beside the frames changes with a keyframe only.
/// Used by one thread at a time.
package struct AnnexBReader: Sendable {
    /// One access unit.
    package struct AccessUnit: Sendable {
        /// NAL units behind 4-byte lengths.
        package let payload: SharedBytes
        /// Whether decoding can start here.
        package let isKeyframe: Bool
        /// Whether no other frame refers to it.
        package let isDisposable: Bool
        /// Whether the parameter sets are others from this unit on.
        package let changesConfiguration: Bool
    }

    /// The parameter sets that are in force.
    package private(set) var sets: ParameterSets
    private var codec: Codec { sets.codec }

    /// A reader of H.264 or HEVC.
    package init(_ codec: Codec) { sets = ParameterSets(codec) }

    /// Reads one access unit; nil if there is no frame in it. Its parameter sets are taken in either way.
    /// `isRandomAccess` says that decoding can start there although there is no IDR frame.
    package mutating func read(_ bytes: [UInt8], isRandomAccess: Bool = false) -> AccessUnit? {
        let units = Self.units(bytes)
        let before = sets
        sets.take(units)
        var kept: [ArraySlice<UInt8>] = []
        var (hasSlice, isReference) = (false, false)
        let isKeyframe = isRandomAccess || units.contains { NALUnit($0, codec).isKeyframe }
        for unit in units {
            let header = NALUnit(unit, codec)
            switch header.role {
            case .slice:
                hasSlice = true
                isReference = isReference || header.isReference
                kept.append(unit)
            case .other: kept.append(unit)
            case .vps, .sps, .pps: if !isKeyframe, !before.holds(unit) { kept.append(unit) }
            case .delimiter: break
            }
        }
        guard hasSlice else { return nil }
        return AccessUnit(
            payload: Self.joined(kept), isKeyframe: isKeyframe, isDisposable: !isReference,
            changesConfiguration: before != sets)
    }

    /// The NAL units between start codes, without the zeros behind them.
    static func units(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var units: [ArraySlice<UInt8>] = []
        var (start, index) = (Int?.none, 0)
        func end(_ limit: Int) {
            guard let start else { return }
            var limit = limit
            while limit > start, bytes[limit - 1] == 0 { limit -= 1 }
            if limit > start { units.append(bytes[start..<limit]) }
        }
        while index + 2 < bytes.count {
            // A third byte over 1 is not part of a start code, whatever comes before it.
            if bytes[index + 2] > 1 {
                index += 3
            } else if bytes[index] == 0, bytes[index + 1] == 0, bytes[index + 2] == 1 {
                end(index)
                (start, index) = (index + 3, index + 3)
            } else {
                index += 1
            }
        }
        end(bytes.count)
        return units
    }

    private static func joined(_ units: [ArraySlice<UInt8>]) -> SharedBytes {
        SharedBytes(count: units.reduce(0) { $0 + $1.count + 4 }) { memory in
            var position = 0
            for unit in units {
                memory.storeBytes(of: UInt32(unit.count).bigEndian, toByteOffset: position, as: UInt32.self)
                UnsafeMutableRawBufferPointer(rebasing: memory[(position + 4)...]).copyBytes(from: unit)
                position += 4 + unit.count
            }
        }
    }
}
