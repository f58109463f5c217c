// SPDX-License-Identifier: Apache-2.0

/// Where frames of HEVC can follow frames of another stream.
package enum HEVCEntry {
    /// Whether `payload`, a frame whose NAL units have lengths of 4 bytes in front, begins anew whatever was before: an IDR
    /// or a BLA frame (ITU-T H.265, table 7-1: types 16 to 20). A CRA frame goes on counting from the frames before it and
    /// may be followed by frames that refer to them.
    package static func isIndependent(_ payload: [UInt8]) -> Bool {
        var position = 0
        while position + 5 <= payload.count {
            let length = payload[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
            let type = payload[position + 4] >> 1 & 0x3F
            if type < 32 { return (16...20).contains(type) }
            position += 4 + length
        }
        return false
    }
}
