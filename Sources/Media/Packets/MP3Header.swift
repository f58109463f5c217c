// SPDX-License-Identifier: Apache-2.0

/// The fields of an MP3 frame header (ISO/IEC 11172-3, 2.4.1.3; ISO/IEC 13818-3, 2.4.1.3).
package struct MP3Header: Sendable, Equatable {
    /// Sample rate and channels.
    package let format: AudioFormat
    /// Samples per frame.
    package let frameLength: Int

    /// Reads the header of `frame`; nil if it is not a layer III frame.
    package init?(_ frame: [UInt8]) {
        guard frame.count > 4, frame[0] == 0xFF, frame[1] & 0xE6 == 0xE2, frame[2] >> 2 & 3 < 3 else { return nil }
        // Versions 1, 2 and 2.5: each has half of the previous version's sample rates (ISO/IEC 11172-3, 2.4.2.3).
        let halvings: Int32 = [4, 0, 2, 1][Int(frame[1] >> 3 & 3)]
        guard halvings > 0 else { return nil }
        let rate = [44_100, 48_000, 32_000][Int(frame[2] >> 2 & 3)] / halvings
        format = AudioFormat(sampleRate: rate, channels: frame[3] >> 6 == 3 ? 1 : 2)
        frameLength = halvings == 1 ? 1152 : 576
    }
}
