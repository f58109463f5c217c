// SPDX-License-Identifier: Apache-2.0

package import Media

/// The parameter sets that H.264 or HEVC video has sent in the stream, and the decoder configuration made of them.
package struct ParameterSets: Sendable, Equatable {
    /// H.264 or HEVC.
    package let codec: Codec
    /// The VPSs, which only HEVC has.
    private var vps: [[UInt8]] = []
    private var sps: [[UInt8]] = []
    private var pps: [[UInt8]] = []

    /// Starts without sets. `codec` must be H.264 or HEVC.
    package init(_ codec: Codec) { self.codec = codec }

    /// Stores the parameter sets of one access unit. If there is an SPS among them, they replace all earlier sets,
    /// because encoders repeat all sets in front of keyframes; only if the unit has no VPS or no PPS, the earlier sets
    /// of that kind stay. Without an SPS, each set is added, or replaces the earlier set with the same ID. A set that
    /// occurs twice in the unit is stored once.
    mutating func take(_ units: [ArraySlice<UInt8>]) {
        var found = ParameterSets(codec)
        for unit in units {
            switch NALUnit(unit, codec).role {
            case .vps: found.put(vps: Array(unit))
            case .sps: found.put(sps: Array(unit))
            case .pps: found.put(pps: Array(unit))
            default: break
            }
        }
        if !found.sps.isEmpty {
            if found.vps.isEmpty { found.vps = vps }
            if found.pps.isEmpty { found.pps = pps }
            self = found
        } else {
            for set in found.vps { put(vps: set) }
            for set in found.pps { put(pps: set) }
        }
    }

    private mutating func put(vps set: [UInt8]) {
        Self.put(set, into: &vps) { $0.dropFirst(2).first.map { UInt32($0 >> 4) } }
    }

    /// Ignores an SPS if there are 32 already, the number of possible IDs (ITU-T H.264, 7.4.2.1.1; H.265, 7.4.3.2.1).
    /// More of them mean that the data is damaged.
    private mutating func put(sps set: [UInt8]) {
        guard sps.count < 32, !sps.contains(set) else { return }
        sps.append(set)
    }

    /// Ignores a PPS with an impossible ID (ITU-T H.264, 7.4.2.2; H.265, 7.4.3.3.1). Otherwise damaged or hostile data
    /// could add ever more sets.
    private mutating func put(pps set: [UInt8]) {
        guard number(ofPPS: set) ?? 0 <= (codec == .hevc ? 63 : 255) else { return }
        Self.put(set, into: &pps, number: number)
    }

    /// Whether `unit` is one of the active sets.
    func holds(_ unit: ArraySlice<UInt8>) -> Bool {
        switch NALUnit(unit, codec).role {
        case .vps: vps.contains { $0[...] == unit }
        case .sps: sps.contains { $0[...] == unit }
        case .pps: pps.contains { $0[...] == unit }
        default: false
        }
    }

    /// The ID of a PPS, `pic_parameter_set_id` (ITU-T H.264, 7.3.2.2; H.265, 7.3.2.3.1); nil if the PPS is too short.
    private func number(ofPPS set: [UInt8]) -> UInt32? {
        var reader = BitReader(set[...], header: codec == .hevc ? 2 : 1)
        let number = reader.golomb()
        return reader.isExhausted ? nil : number
    }

    private static func put(_ set: [UInt8], into sets: inout [[UInt8]], number: ([UInt8]) -> UInt32?) {
        guard !sets.contains(set) else { return }
        if let place = sets.firstIndex(where: { number($0) == number(set) }) {
            sets[place] = set
        } else {
            sets.append(set)
        }
    }

    /// Width and height of the frames in pixels, after cropping; nil without a readable SPS.
    package var size: (width: Int, height: Int)? { parameters.map { ($0.width, $0.height) } }

    private var parameters: SequenceParameters? {
        sps.first.flatMap {
            codec == .hevc ? SequenceParameters(hevc: $0[...]) : SequenceParameters(avc: $0[...])
        }
    }

    /// The decoder configuration for NAL units with 4-byte lengths: an `AVCDecoderConfigurationRecord` (ISO/IEC
    /// 14496-15, 5.3.3.1.2) or an `HEVCDecoderConfigurationRecord` (8.3.3.1.2). Nil while a kind of parameter set is
    /// missing, if the first SPS cannot be read, or if there are more or longer sets than a record can hold.
    package var configuration: [UInt8]? {
        guard let parameters, let first = sps.first, !pps.isEmpty,
            (vps + sps + pps).allSatisfy({ $0.count <= 0xFFFF }), sps.count < 32, pps.count < 256
        else { return nil }
        return codec == .hevc ? hevc(parameters, first) : avc(parameters, first)
    }

    private static func sized(_ sets: [[UInt8]]) -> [UInt8] {
        sets.flatMap { [UInt8($0.count >> 8), UInt8($0.count & 0xFF)] + $0 }
    }

    private func avc(_ parameters: SequenceParameters, _ first: [UInt8]) -> [UInt8] {
        var record: [UInt8] = [1, first[1], first[2], first[3], 0xFC | 3, 0xE0 | UInt8(sps.count)]
        record += Self.sized(sps) + [UInt8(pps.count)] + Self.sized(pps)
        if SequenceParameters.highProfiles.contains(first[1]) {
            record += [
                0xFC | UInt8(parameters.chroma), 0xF8 | UInt8(parameters.lumaDepth - 8),
                0xF8 | UInt8(parameters.chromaDepth - 8), 0,
            ]
        }
        return record
    }

    private func hevc(_ parameters: SequenceParameters, _ first: [UInt8]) -> [UInt8]? {
        guard !vps.isEmpty, vps.count < 256 else { return nil }
        // Profile, compatibility, constraints and level follow the first byte of the SPS payload.
        var reader = BitReader(first[...], header: 3)
        var record: [UInt8] = [1] + (0..<12).map { _ in UInt8(reader.bits(8)) }
        // Spatial segmentation, parallelism and frame rate are given as unspecified.
        record += [0xF0, 0, 0xFC, 0xFC | UInt8(parameters.chroma)]
        record += [0xF8 | UInt8(parameters.lumaDepth - 8), 0xF8 | UInt8(parameters.chromaDepth - 8), 0, 0]
        record += [UInt8(parameters.subLayers + 1) << 3 | (parameters.isNested ? 4 : 0) | 3, 3]
        for (type, sets) in [(UInt8(32), vps), (33, sps), (34, pps)] {
            // The bit 0x80 says that the record has all sets of this type, and that the frames contain no others.
            record += [0x80 | type, UInt8(sets.count >> 8), UInt8(sets.count & 0xFF)] + Self.sized(sets)
        }
        return record
    }
}
