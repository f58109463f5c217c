// SPDX-License-Identifier: Apache-2.0

/// Converts H.264 parameter sets to the form of MP4, FLV and TS.
enum AVCConfiguration {
    /// An `AVCDecoderConfigurationRecord` (ISO/IEC 14496-15, 5.3.3.1.2) with one SPS and one PPS, for NAL units with
    /// 4-byte lengths; nil if a set is too short or too long to be valid.
    static func record(sps: [UInt8], pps: [UInt8]) -> [UInt8]? {
        guard sps.count >= 4, sps.count <= 0xFFFF, !pps.isEmpty, pps.count <= 0xFFFF else { return nil }
        let profile = sps[1]
        var record: [UInt8] = [1, profile, sps[2], sps[3], 0xFC | 3, 0xE0 | 1]
        record += [UInt8(sps.count >> 8), UInt8(sps.count & 0xFF)] + sps
        record += [1, UInt8(pps.count >> 8), UInt8(pps.count & 0xFF)] + pps
        // Records of high profiles repeat the chroma format and the bit depths; ours are always 4:2:0 and 8 bits.
        if ![66, 77, 88].contains(profile) { record += [0xFC | 1, 0xF8, 0xF8, 0] }
        return record
    }

    /// The text of a user data SEI message (ITU-T H.264, D.1.7: type 5, a 16-byte UUID, then the data), in which x264
    /// writes its version and settings; empty if the unit has no such text.
    static func userDataText(inSEI unit: [UInt8]) -> String {
        guard unit.count > 2, unit[1] == 5 else { return "" }
        var index = 2
        var size = 0
        while index < unit.count, unit[index] == 0xFF {
            size += 255
            index += 1
        }
        guard index < unit.count else { return "" }
        size += Int(unit[index])
        let text = unit.dropFirst(index + 1).prefix(size).dropFirst(16).prefix { $0 != 0 }
        return String(decoding: text, as: UTF8.self)
    }
}
