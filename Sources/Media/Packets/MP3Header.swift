// SPDX-License-Identifier: Apache-2.0

/// What the header of an MP3 frame says (ISO/IEC 11172-3, 2.4.1.3; ISO/IEC 13818-3, 2.4.1.3).
package struct MP3Header: Sendable, Equatable {
    /// Sample rate and channels.
    package let format: AudioFormat
    /// Samples in a frame.
    package let frameLength: Int

    /// Reads the header of `frame`; nil for what is no frame of layer III.
    package init?(_ frame: [UInt8]) {
        guard frame.count > 4, frame[0] == 0xFF, frame[1] & 0xE6 == 0xE2, frame[2] >> 2 & 3 < 3 else { return nil }
        // Version 1, 2 or 2.5, the rates of each being half of those before (ISO/IEC 11172-3, 2.4.2.3).
        let halvings: Int32 = [4, 0, 2, 1][Int(frame[1] >> 3 & 3)]
        guard halvings > 0 else { return nil }
        let rate = [44_100, 48_000, 32_000][Int(frame[2] >> 2 & 3)] / halvings
        format = AudioFormat(sampleRate: rate, channels: frame[3] >> 6 == 3 ? 1 : 2)
        frameLength = halvings == 1 ? 1152 : 576
    }
}
