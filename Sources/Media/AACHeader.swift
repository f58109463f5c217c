// SPDX-License-Identifier: Apache-2.0

/// What the header of AAC says: an `AudioSpecificConfig` (ISO/IEC 14496-3, 1.6.2.1), or the ADTS header (1.A.2.2.1) from
/// which one can be made.
package struct AACHeader: Sendable, Equatable {
    /// Samples a second of what is heard.
    package let sampleRate: Int32
    /// Channels; nil where the stream describes them itself.
    package let channels: Int?
    /// Samples that a packet holds: 1024, or 2048 where half of the spectrum is replicated.
    package let frameLength: Int

    private static let rates: [Int32] = [
        96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
    ]

    /// What `configuration`, an `AudioSpecificConfig`, says; nil if that is none.
    package init?(configuration: [UInt8]) {
        var bits = BitReader(configuration)
        guard var type = bits.read(5) else { return nil }
        if type == 31 {
            guard let more = bits.read(6) else { return nil }
            type = 32 + more
        }
        guard let core = Self.rate(&bits), let layout = bits.read(4), layout <= 7 || (11...12).contains(layout) else {
            return nil
        }
        // With spectral band replication, 5 and 29, the rate of what is heard follows.
        let isReplicated = type == 5 || type == 29
        guard let rate = isReplicated ? Self.rate(&bits) : core else { return nil }
        sampleRate = rate
        frameLength = isReplicated ? 2048 : 1024
        // Type 29 makes stereo of what is coded as mono.
        channels = type == 29 && layout == 1 ? 2 : Self.channels(layout)
    }

    /// The length of the ADTS header of `frame` in bytes, and the `AudioSpecificConfig` that says the same; nil if the
    /// frame has none, or holds several frames.
    package static func adts(_ frame: UnsafeRawBufferPointer) -> (length: Int, configuration: [UInt8])? {
        guard frame.count > 7, frame[0] == 0xFF, frame[1] & 0xF6 == 0xF0, frame[6] & 3 == 0 else { return nil }
        let (profile, rate) = (frame[2] >> 6, frame[2] >> 2 & 0x0F)
        let layout = (frame[2] & 1) << 2 | frame[3] >> 6
        guard rate < rates.count else { return nil }
        let length = frame[1] & 1 == 1 ? 7 : 9
        guard frame.count > length else { return nil }
        return (length, [(profile + 1) << 3 | rate >> 1, rate << 7 | layout << 3])
    }

    private static func rate(_ bits: inout BitReader) -> Int32? {
        guard let index = bits.read(4) else { return nil }
        if index == 15 { return bits.read(24).flatMap { $0 > 0 ? Int32($0) : nil } }
        return index < rates.count ? rates[index] : nil
    }

    private static func channels(_ layout: Int) -> Int? {
        switch layout {
        case 0: nil
        case 7, 12: 8
        case 11: 7
        default: layout
        }
    }
}
