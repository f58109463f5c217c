// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

/// `AudioSpecificConfig` as in ISO/IEC 14496-3, 1.6.2.1.
@Suite struct AACHeaderTests {
    /// Packs each value into its number of bits, and pads with zeros to whole bytes.
    private func bytes(_ fields: (value: Int, bits: Int)...) -> [UInt8] { bytes(fields) }

    private func bytes(_ fields: [(value: Int, bits: Int)]) -> [UInt8] {
        let bits = fields.flatMap { field in (0..<field.bits).map { field.value >> (field.bits - 1 - $0) & 1 } }
        return stride(from: 0, to: bits.count, by: 8).map { start in
            (start..<start + 8).reduce(0) { $0 << 1 | UInt8($1 < bits.count ? bits[$1] : 0) }
        }
    }

    @Test(
        "An AAC header yields the sample rate, the channels and the frame length after decoding",
        arguments: [
            // AAC-LC from our encoder, and with an explicit rate.
            ([(2, 5), (3, 4), (2, 4)], 48_000, 2, 1024), ([(2, 5), (15, 4), (44_056, 24), (1, 4)], 44_056, 1, 1024),
            // HE-AAC: the coded rate, then the decoded one; version 2 decodes mono to stereo.
            ([(5, 5), (6, 4), (2, 4), (3, 4), (2, 5)], 48_000, 2, 2048),
            ([(29, 5), (6, 4), (1, 4), (3, 4), (2, 5)], 48_000, 2, 2048),
            // With frameLengthFlag, or with low delay, frames are shorter: AAC-LC and HE-AAC of DAB+, AAC-LD and
            // AAC-ELD.
            ([(2, 5), (3, 4), (2, 4), (1, 1)], 48_000, 2, 960),
            ([(5, 5), (6, 4), (2, 4), (3, 4), (2, 5), (1, 1)], 48_000, 2, 1920),
            ([(23, 5), (3, 4), (1, 4)], 48_000, 1, 512), ([(31, 5), (7, 6), (3, 4), (1, 4), (1, 1)], 48_000, 1, 480),
            // An object type above 30 without that flag, and the layouts of 7.1, 6.1 and 22.2.
            ([(31, 5), (10, 6), (3, 4), (2, 4), (1, 1)], 48_000, 2, 1024), ([(2, 5), (0, 4), (7, 4)], 96_000, 8, 1024),
            ([(2, 5), (12, 4), (11, 4)], 7350, 7, 1024), ([(2, 5), (12, 4), (12, 4)], 7350, 8, 1024),
            ([(2, 5), (12, 4), (13, 4)], 7350, 24, 1024), ([(2, 5), (12, 4), (14, 4)], 7350, 8, 1024),
            // The stream itself describes its channels.
            ([(2, 5), (4, 4), (0, 4)], 44_100, nil, 1024),
        ] as [([(Int, Int)], Int32, Int?, Int)])
    func reads(fields: [(Int, Int)], rate: Int32, channels: Int?, frameLength: Int) throws {
        let configuration = bytes(fields.map { (value: $0.0, bits: $0.1) })
        let header = try #require(AACHeader(configuration: configuration))
        #expect(header.sampleRate == rate && header.channels == channels && header.frameLength == frameLength)
        #expect(AACHeader(configuration: []) == nil && AACHeader(configuration: [configuration[0]]) == nil)
    }

    @Test("An AAC header with an undefined rate or layout, or a rate of 0, is refused")
    func reserved() {
        for rate in [13, 14] { #expect(AACHeader(configuration: bytes((2, 5), (rate, 4), (2, 4))) == nil) }
        for layout in [8, 9, 10, 15] {
            #expect(AACHeader(configuration: bytes((2, 5), (3, 4), (layout, 4))) == nil)
        }
        #expect(AACHeader(configuration: bytes((2, 5), (15, 4), (0, 24), (2, 4))) == nil)
        #expect(AACHeader(configuration: bytes((5, 5), (6, 4), (2, 4), (13, 4))) == nil)
    }

    @Test("An AAC header that is truncated inside its rate is refused")
    func short() {
        let whole = bytes((2, 5), (15, 4), (48_000, 24), (2, 4))
        #expect(AACHeader(configuration: whole)?.sampleRate == 48_000)
        for count in 0..<whole.count {
            #expect(AACHeader(configuration: Array(whole.prefix(count))) == nil, "\(count)")
        }
    }
}
