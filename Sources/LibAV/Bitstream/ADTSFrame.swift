// SPDX-License-Identifier: Apache-2.0

/// One AAC frame of a transport stream (ISO/IEC 13818-7, 6.2): a header, then the raw access unit.
package struct ADTSFrame: Sendable, Equatable {
    /// The `AudioSpecificConfig` (ISO/IEC 14496-3, 1.6.2.1) equivalent to the header.
    package let configuration: [UInt8]
    /// Samples per second.
    package let sampleRate: Int32
    /// Number of channels; 0 if a program config element in the payload defines them.
    package let channels: Int
    /// The raw access unit.
    package let payload: [UInt8]

    private static let rates: [Int32] = [
        96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
    ]

    /// The consecutive frames in `bytes`, up to the first bytes that are not a frame. A header with several access
    /// units does not count as a frame.
    package static func frames(_ bytes: [UInt8]) -> [ADTSFrame] {
        var frames: [ADTSFrame] = []
        var start = 0
        while start + 7 <= bytes.count, bytes[start] == 0xFF, bytes[start + 1] & 0xF6 == 0xF0 {
            let header = bytes[start..<start + 7].map { Int($0) }
            let length = (header[3] & 3) << 11 | header[4] << 3 | header[5] >> 5
            // A 16-bit checksum follows if the last bit of the second byte is 0.
            let size = header[1] & 1 == 1 ? 7 : 9
            let rate = header[2] >> 2 & 0xF
            guard length > size, start + length <= bytes.count, rate < rates.count, header[6] & 3 == 0 else { break }
            let channels = (header[2] & 1) << 2 | header[3] >> 6
            let type = (header[2] >> 6) + 1
            frames.append(
                ADTSFrame(
                    configuration: [UInt8(type << 3 | rate >> 1), UInt8((rate & 1) << 7 | channels << 3)],
                    sampleRate: rates[rate], channels: channels == 7 ? 8 : channels,
                    payload: Array(bytes[(start + size)..<(start + length)])))
            start += length
        }
        return frames
    }
}
