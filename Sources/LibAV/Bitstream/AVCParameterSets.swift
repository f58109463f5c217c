// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The parameter sets of an `AVCDecoderConfigurationRecord` (ISO/IEC 14496-15, 5.3.3.1.2). A writer that puts frames of
/// several encoders into one track needs them.
package struct AVCParameterSets: Sendable, Equatable {
    /// The record's first four bytes: version, profile, constraints, level.
    private let head: [UInt8]
    private let sps: [[UInt8]]
    private let pps: [[UInt8]]

    /// Reads the parameter sets of `record`; nil if it is not a record with 4-byte lengths, or lacks an SPS or a PPS.
    package init?(record: [UInt8]) {
        guard record.count > 6, record[0] == 1, record[4] & 3 == 3 else { return nil }
        let sets = ConfigurationRecord.sets(record, .h264)
        head = Array(record[..<4])
        sps = sets.filter { NALUnit($0[...], .h264).role == .sps }
        pps = sets.filter { NALUnit($0[...], .h264).role == .pps }
        guard !sps.isEmpty, !pps.isEmpty else { return nil }
    }

    /// All parameter sets, as NAL units.
    package var units: [[UInt8]] { sps + pps }

    /// The IDs by which slices and PPSs refer to the parameter sets (ITU-T H.264, 7.4.2.1.1 and 7.4.2.2).
    package var numbers: Set<Int> {
        let sps = self.sps.map { unit in
            var reader = BitReader(unit[...], header: 1)
            reader.skip(24)
            return Int(reader.golomb())
        }
        let pps = self.pps.map { unit in
            var reader = BitReader(unit[...], header: 1)
            return Int(reader.golomb())
        }
        return Set(sps + pps)
    }

    /// Whether the frames that use these sets are 8-bit 4:2:0, like those of relay's encoder.
    package var is8Bit420: Bool {
        sps.allSatisfy { unit in
            guard let found = SequenceParameters(avc: unit[...]) else { return false }
            return found.chroma == 1 && found.lumaDepth == 8 && found.chromaDepth == 8
        }
    }

    /// Returns whether `payload`, a frame with 4-byte lengths, begins with an IDR frame (7.4.1.2.4), and whether it
    /// contains, in front of its first slice, SPSs or PPSs that are not in this object.
    package func looks(at payload: [UInt8]) -> (isIDR: Bool, hasOtherSets: Bool) {
        var hasOtherSets = false
        let slice = NALUnit.firstSlice(of: payload, .h264) { role, unit in
            if role == .sps, !sps.contains(Array(unit)) { hasOtherSets = true }
            if role == .pps, !pps.contains(Array(unit)) { hasOtherSets = true }
        }
        return (slice?.isKeyframe ?? false, hasOtherSets)
    }

    /// Merges the parameter sets of both records into one record with the higher profile and the higher level of the
    /// two. Sets of the two records that differ must have different IDs; equal sets are stored once. Returns nil if
    /// there are more sets than a record can hold.
    package func joined(with other: AVCParameterSets) -> [UInt8]? {
        let sps = Self.distinct(sps + other.sps)
        let pps = Self.distinct(pps + other.pps)
        guard sps.count <= 31, pps.count <= 255 else { return nil }
        // Ranks the profiles by what a decoder must support: baseline, then main, then high.
        let ranks: [UInt8: Int] = [66: 0, 77: 1, 88: 1, 100: 2]
        func rank(_ sets: AVCParameterSets) -> Int { ranks[sets.head[1]] ?? 3 }
        let leading = rank(other) > rank(self) ? other : self
        var record = leading.head
        record[2] = head[2] & other.head[2]
        record[3] = max(head[3], other.head[3])
        record += [0xFC | 3, 0xE0 | UInt8(sps.count)]
        record += sps.flatMap(Self.counted)
        record.append(UInt8(pps.count))
        record += pps.flatMap(Self.counted)
        // Records of high profiles also contain the chroma format and the bit depths: here 4:2:0 and 8 bits.
        if ![66, 77, 88].contains(record[1]) { record += [0xFC | 1, 0xF8, 0xF8, 0] }
        return record
    }

    private static func distinct(_ sets: [[UInt8]]) -> [[UInt8]] {
        var known: Set<[UInt8]> = []
        return sets.filter { known.insert($0).inserted }
    }

    private static func counted(_ unit: [UInt8]) -> [UInt8] {
        [UInt8(unit.count >> 8), UInt8(unit.count & 0xFF)] + unit
    }
}
