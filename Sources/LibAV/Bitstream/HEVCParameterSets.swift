// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The parameter sets of an `HEVCDecoderConfigurationRecord` (ISO/IEC 14496-15, 8.3.3.1.2). A writer that puts frames
/// of several files into one track needs them.
package struct HEVCParameterSets: Sendable, Equatable {
    /// All parameter sets, as NAL units.
    package let units: [[UInt8]]

    /// Reads the parameter sets of `record`; nil if it is not a record with 4-byte lengths, or lacks a VPS, an SPS or a
    /// PPS.
    package init?(record: [UInt8]) {
        guard record.count > 22, record[0] == 1, record[21] & 3 == 3 else { return nil }
        let found = ConfigurationRecord.sets(record, .hevc)
        let roles: [NALUnit.Role] = [.vps, .sps, .pps]
        guard roles.allSatisfy({ role in found.contains { NALUnit($0[...], .hevc).role == role } }) else { return nil }
        // Other units are left out: some, such as SEI with the encoder's name, differ between containers.
        units = found.filter { roles.contains(NALUnit($0[...], .hevc).role) }
    }

    /// Returns whether `payload`, a frame with 4-byte NAL unit lengths, starts a new sequence that is independent of
    /// earlier frames, and whether it contains, in front of its first slice, parameter sets that are not in ``units``.
    ///
    /// An IDR or a BLA frame starts a new sequence (ITU-T H.265, table 7-1: types 16 to 20). A CRA frame continues the
    /// order count (POC) of the earlier frames, and frames after it may refer to them.
    package func looks(at payload: [UInt8]) -> (isIndependent: Bool, hasOtherSets: Bool) {
        var hasOtherSets = false
        let slice = NALUnit.firstSlice(of: payload, .hevc) { role, unit in
            if [.vps, .sps, .pps].contains(role), !units.contains(Array(unit)) { hasOtherSets = true }
        }
        let type = (slice?.bytes.first ?? 0) >> 1 & 0x3F
        return ((16...20).contains(type), hasOtherSets)
    }
}
