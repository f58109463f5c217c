// SPDX-License-Identifier: Apache-2.0

/// The fields of an AC-3 frame header that MP4 needs (ETSI TS 102 366, 4.3 and 4.4).
package enum AC3Header {
    /// Sample rate and channels from the header of `frame`; nil if it is not an AC-3 frame.
    package static func format(_ frame: [UInt8]) -> AudioFormat? {
        guard let box = specificBox(frame) else { return nil }
        let channels = [2, 1, 2, 3, 3, 4, 4, 5][Int(frame[6] >> 5)] + Int(box[1] >> 2 & 1)
        return AudioFormat(sampleRate: [48_000, 44_100, 32_000][Int(frame[4] >> 6)], channels: channels)
    }

    /// The body of the `dac3` box (annex F, F.4) for a stream that contains `frame`; nil if it is not an AC-3 frame.
    package static func specificBox(_ frame: [UInt8]) -> [UInt8]? {
        guard frame.count >= 8, frame[0] == 0x0B, frame[1] == 0x77 else { return nil }
        let (rate, size) = (frame[4] >> 6, frame[4] & 0x3F)
        let (version, mode) = (frame[5] >> 3, frame[5] & 7)
        // A frame has one of 3 sample rates and one of 38 size codes. Versions above 8 are not accepted: 9 and 10 have
        // lower sample rates, and higher ones are E-AC-3.
        guard rate < 3, size < 38, version <= 8 else { return nil }
        let channels = frame[6] >> 5
        // The LFE bit follows the fields for the center level, the surround level and the surround mode. Each of these
        // has two bits, and is present only with certain channels.
        var skipped = 3
        if channels & 1 == 1, channels != 1 { skipped += 2 }
        if channels & 4 == 4 { skipped += 2 }
        if channels == 2 { skipped += 2 }
        let low = UInt16(frame[6]) << 8 | UInt16(frame[7])
        let hasLowFrequencies = UInt8(low >> (15 - skipped) & 1)
        let bits =
            UInt32(rate) << 22 | UInt32(version) << 17 | UInt32(mode) << 14 | UInt32(channels) << 11
            | UInt32(hasLowFrequencies) << 10 | UInt32(size >> 1) << 5
        return [16, 8, 0].map { UInt8(truncatingIfNeeded: bits >> $0) }
    }
}

/// The fields of an MP3 frame header (ISO/IEC 11172-3, 2.4.1.3; ISO/IEC 13818-3, 2.4.1.3).
package struct MP3Header: Sendable, Equatable {
    /// Sample rate and channels.
    package let format: AudioFormat
    /// Samples per frame.
    package let frameLength: Int

    /// Reads the header of `frame`; nil if it is not a layer III frame.
    package init?(_ frame: [UInt8]) {
        guard frame.count > 4, frame[0] == 0xFF, frame[1] & 0xE6 == 0xE2, frame[2] >> 2 & 3 < 3 else { return nil }
        // The MPEG versions are 1, 2 and 2.5. Each has half of the previous version's sample rates (ISO/IEC 11172-3,
        // 2.4.2.3).
        let halvings: Int32 = [4, 0, 2, 1][Int(frame[1] >> 3 & 3)]
        guard halvings > 0 else { return nil }
        let rate = [44_100, 48_000, 32_000][Int(frame[2] >> 2 & 3)] / halvings
        format = AudioFormat(sampleRate: rate, channels: frame[3] >> 6 == 3 ? 1 : 2)
        frameLength = halvings == 1 ? 1152 : 576
    }
}
