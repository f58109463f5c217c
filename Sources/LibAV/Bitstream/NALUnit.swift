// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The header of a NAL unit (ITU-T H.264, 7.3.1; H.265, 7.3.1.2).
struct NALUnit {
    /// The role of a NAL unit. Roles that relay need not distinguish are combined.
    enum Role: Equatable {
        /// A slice of a frame; `isKeyframe` says whether decoding can start at this frame. Data partitions of H.264,
        /// and slices of further layers of HEVC, are not among them: no frame consists of these alone, and frames of
        /// the other codec look like them.
        case slice(isKeyframe: Bool)
        case vps, sps, pps
        /// An access unit delimiter, end of sequence, end of stream or filler, which containers do not need.
        case delimiter
        /// SEI, or any other unit that belongs to a frame.
        case other
    }

    let role: Role
    /// Whether other frames may refer to the frame to which the unit belongs.
    let isReference: Bool

    /// Whether the unit is a slice of a frame at which decoding can start.
    var isKeyframe: Bool { if case .slice(let isKeyframe) = role { isKeyframe } else { false } }

    /// Reads the unit `bytes`, which must not be empty.
    init(_ bytes: ArraySlice<UInt8>, _ codec: Codec) {
        let first = bytes.first ?? 0
        if codec == .hevc {
            let type = first >> 1 & 0x3F
            // Units of even types below 16 are not referenced within their sub-layer (table 7-1).
            isReference = type > 15 || type & 1 == 1
            role =
                switch type {
                case 0...31 where Self.isBaseLayer(bytes): .slice(isKeyframe: (16...21).contains(type))
                case 32: .vps
                case 33: .sps
                case 34: .pps
                case 35...38: .delimiter
                default: .other
                }
        } else {
            let type = first & 0x1F
            isReference = first & 0x60 != 0
            role =
                switch type {
                case 1, 5: .slice(isKeyframe: type == 5)
                case 7: .sps
                case 8: .pps
                case 9...12: .delimiter
                default: .other
                }
        }
    }

    /// Whether a unit of HEVC is of layer 0, and of a valid sub-layer.
    private static func isBaseLayer(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard let first = bytes.first, first & 1 == 0 else { return false }
        guard let second = bytes.dropFirst().first else { return true }
        return second & 0xF8 == 0 && second & 7 != 0
    }

    /// Returns the first slice in `payload`, whose units have 4-byte lengths, and calls `visit` with each unit before
    /// it. Nil if `payload` has no slice.
    static func firstSlice(
        of payload: [UInt8], _ codec: Codec, visit: (Role, ArraySlice<UInt8>) -> Void
    ) -> (bytes: ArraySlice<UInt8>, isKeyframe: Bool)? {
        var position = 0
        while position + 5 <= payload.count {
            let length = payload[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
            let end = min(payload.count, position + 4 + length)
            guard length > 0 else { return nil }
            let bytes = payload[position + 4..<end]
            let role = NALUnit(bytes, codec).role
            if case .slice(let isKeyframe) = role { return (bytes, isKeyframe) }
            visit(role, bytes)
            position = end
        }
        return nil
    }
}
