// SPDX-License-Identifier: Apache-2.0

package import Media

/// Converts access units from the form of transport streams and RTP to the form of MP4 and FLV. In the first form
/// (ITU-T H.264 and H.265, annex B), start codes separate NAL units, and parameter sets are among them. In the second
/// form, each NAL unit follows its length, and parameter sets are outside the frames.
///
/// NAL units, including SEI, are copied without a change. New parameter sets in the middle of a GOP stay in front of
/// the frame that needs them, because the parameter sets outside the frames change only at a keyframe. Only one thread
/// may use a reader at a time.
package struct AnnexBReader: Sendable {
    /// One access unit.
    package struct AccessUnit: Sendable {
        /// The NAL units, each preceded by its length in 4 bytes.
        package let payload: SharedBytes
        /// Whether decoding can start at this unit.
        package let isKeyframe: Bool
        /// Whether no other frame refers to the frame of this unit.
        package let isDisposable: Bool
        /// Whether the active parameter sets change with this unit.
        package let changesConfiguration: Bool
    }

    /// The active parameter sets.
    package private(set) var sets: ParameterSets
    private var codec: Codec { sets.codec }

    /// Creates a reader of H.264 or HEVC.
    package init(_ codec: Codec) { sets = ParameterSets(codec) }

    /// Reads one access unit; returns nil if it contains no frame. Its parameter sets are stored in either case.
    /// `isRandomAccess` is true if decoding can start at this unit, even if the unit has no IDR frame.
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

    /// Splits `bytes` at the start codes into NAL units without trailing zeros.
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
            // If the third of the bytes from `index` on is above 1, no start code begins at any of these three bytes.
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

/// A coded frame as in MP4 and FLV: NAL units, each preceded by its length in 4 bytes.
package enum AccessUnit {
    /// Whether no other frame refers to the H.264 frame `payload`: `nal_ref_idc` of its first slice is 0 (ITU-T H.264,
    /// 7.4.1). False if the payload has no slice.
    package static func isDisposable(_ payload: SharedBytes) -> Bool {
        payload.withUnsafeBytes { bytes in
            var start = 0
            while start + 5 <= bytes.count {
                let length = bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
                let header = bytes[start + 4]
                // Types 1 and 5 are slices (table 7-1).
                if [1, 5].contains(header & 0x1F) { return header & 0x60 == 0 }
                start += 4 + length
            }
            return false
        }
    }
}
