// SPDX-License-Identifier: Apache-2.0

package import Media

/// Reads the parameter sets from decoder configurations: `AVCDecoderConfigurationRecord` (ISO/IEC 14496-15, 5.3.3.1.2)
/// and `HEVCDecoderConfigurationRecord` (8.3.3.1.2).
package enum ConfigurationRecord {
    /// Returns `payload`, a frame in the middle of a GOP, with additional parameter sets at its front: those that `new`
    /// has and `old` lacks. Each of them is preceded by its length in 4 bytes. A decoder that was configured with `old`
    /// can decode the result. Returns `payload` itself if `old` has all sets. Returns nil if the SPS changes, because
    /// that needs a keyframe.
    package static func payload(
        _ payload: SharedBytes, from old: SharedBytes, to new: [UInt8], _ codec: Codec
    ) -> SharedBytes? {
        let known = sets(old.array, codec)
        let added = sets(new, codec).filter { !known.contains($0) }
        guard !added.isEmpty else { return payload }
        if added.contains(where: { NALUnit($0[...], codec).role == .sps }) { return nil }
        return SharedBytes(joined(added) + payload.array)
    }

    /// Inserts the parameter sets of `configuration` into `keyframe`, an H.264 frame, before its SEI, because SEI may
    /// refer to them (ITU-T H.264, 7.4.1.2.3). Returns `keyframe` itself if it has no SEI before its slices, or already
    /// has parameter sets there.
    static func completed(_ keyframe: SharedBytes, by configuration: SharedBytes) -> SharedBytes {
        keyframe.withUnsafeBytes { bytes in
            var (place, position, hasInformation) = (0, 0, false)
            while position + 5 <= bytes.count {
                let type = bytes[position + 4] & 0x1F
                let next = position + 4 + bytes[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
                switch type {
                case 9: place = min(next, bytes.count)
                case 6: hasInformation = true
                case 7, 8: return keyframe
                default:
                    guard hasInformation else { return keyframe }
                    return SharedBytes(bytes[..<place] + joined(sets(configuration.array, .h264)) + bytes[place...])
                }
                position = next
            }
            return keyframe
        }
    }

    /// Joins NAL units, each preceded by its length in 4 bytes.
    private static func joined(_ units: [[UInt8]]) -> [UInt8] {
        units.flatMap { unit in (0..<4).map { UInt8(truncatingIfNeeded: unit.count >> (24 - 8 * $0)) } + unit }
    }

    /// The complete parameter sets in `record`; empty for codecs other than H.264 and HEVC.
    static func sets(_ record: [UInt8], _ codec: Codec) -> [[UInt8]] {
        var (sets, position): ([[UInt8]], Int) = ([], 0)
        // Reading ends at a truncated set, because the position of the next set is then unknown.
        func take(_ count: Int) {
            for _ in 0..<count {
                guard position + 2 <= record.count else { return position = record.count }
                let length = Int(record[position]) << 8 | Int(record[position + 1])
                guard length > 0, position + 2 + length <= record.count else { return position = record.count }
                sets.append(Array(record[position + 2..<position + 2 + length]))
                position += 2 + length
            }
        }
        switch codec {
        case .h264 where record.count > 6:
            position = 6
            take(Int(record[5] & 0x1F))
            guard position < record.count else { break }
            position += 1
            take(Int(record[position - 1]))
        case .hevc where record.count > 22:
            position = 23
            for _ in 0..<record[22] {
                guard position + 3 <= record.count else { break }
                position += 3
                take(Int(record[position - 2]) << 8 | Int(record[position - 1]))
            }
        default: break
        }
        return sets
    }
}
