// SPDX-License-Identifier: Apache-2.0

package import Media

/// A codec in four characters, as Enhanced RTMP v2 names it.
package struct FourCC: Sendable, Hashable, CustomStringConvertible {
    /// The characters, the first in the most significant byte.
    package let code: UInt32

    /// The code of four ASCII characters.
    init(_ text: StaticString) {
        code = text.withUTF8Buffer { $0.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } }
    }

    /// The code of a codec that is not sent in the form of Adobe's FLV; nil for one that is, and for data.
    package init?(_ codec: Codec) {
        switch codec {
        case .hevc: self.init("hvc1")
        case .av1: self.init("av01")
        case .opus: self.init("Opus")
        case .ac3: self.init("ac-3")
        case .h264, .aac, .mp3, .scte35, .amf0: return nil
        }
    }

    package var description: String {
        String(decoding: [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: code >> $0) }, as: UTF8.self)
    }
}
