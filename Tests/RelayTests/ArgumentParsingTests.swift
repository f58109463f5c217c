// SPDX-License-Identifier: Apache-2.0

import Channel
import Media
import Segmenter
import Testing

@testable import Relay

@Suite("Flag values")
struct ArgumentParsingTests {
    private let range = 50_000...200_000_000

    @Test(
        "A bitrate is parsed in bits per second, with k and M for thousands and millions",
        arguments: [("4M", 4_000_000), ("2500k", 2_500_000), ("800000", 800_000), ("1.5m", 1_500_000), ("50K", 50_000)])
    func bitrate(text: String, bits: Int) throws {
        #expect(try EncodingText.bitrate(text, in: range) == bits)
    }

    @Test(
        "An invalid or unrealistic bitrate is refused",
        arguments: ["", "k", "M", "fast", "4MM", "-4M", "0", "49k", "201M", "nan", "inf", "1e9", "0x40000", "4 M"])
    func wrongBitrate(text: String) {
        #expect(throws: TextFailure.self) { try EncodingText.bitrate(text, in: range) }
    }

    @Test(
        "A frame size is parsed as width and height",
        arguments: [("1280x720", 1280, 720), ("32x32", 32, 32), ("8192X8192", 8192, 8192)])
    func size(text: String, width: Int, height: Int) throws {
        #expect(try EncodingText.size(text) == FrameSize(width: width, height: height))
    }

    @Test(
        "An odd, tiny, huge or invalid frame size is refused",
        arguments: [
            "", "x", "1280", "1280x", "x720", "1281x720", "1280x721", "30x30", "8194x720", "1280x720x2", "-2x-2",
        ])
    func wrongSize(text: String) {
        #expect(throws: TextFailure.self) { try EncodingText.size(text) }
    }

    @Test(
        "A frame rate is parsed as a number or a fraction, and 29.97 stands for 30000/1001",
        arguments: [
            ("30", 30, 1), ("25", 25, 1), ("30000/1001", 30000, 1001), ("29.97", 30000, 1001), ("23.976", 24000, 1001),
            ("59.94", 60000, 1001), ("1", 1, 1), ("120", 120, 1),
        ] as [(String, Int32, Int32)])
    func frameRate(text: String, numerator: Int32, denominator: Int32) throws {
        #expect(try EncodingText.frameRate(text) == FrameRate(numerator, denominator))
    }

    @Test(
        "An invalid frame rate, and one outside of 1 to 120 fps, is refused",
        arguments: ["", "0", "-30", "121", "30/0", "30/-1", "1/2", "30/1/1", "/", "25.5", "99999999999"])
    func wrongFrameRate(text: String) {
        #expect(throws: TextFailure.self) { try EncodingText.frameRate(text) }
    }

    @Test("A duration is parsed from text, and must be above zero")
    func duration() throws {
        #expect(try ArgumentParsing.duration("1h30m") == .seconds(5400))
        for text in ["0", "0s", "-1s", "soon", ""] {
            #expect(throws: TextFailure.self) { try ArgumentParsing.duration(text) }
        }
    }

    @Test("The length of a recording file is parsed as a duration or as a size in bytes")
    func segmentLength() throws {
        #expect(try SegmentLength(parsing: "30m") == .duration(.seconds(1800)))
        #expect(try SegmentLength(parsing: "2GB") == .bytes(2_000_000_000))
        for text in ["0", "500ms", "1kB", "2TBs", ""] {
            #expect(throws: TextFailure.self) { try SegmentLength(parsing: text) }
        }
    }

    @Test("A disk reserve is parsed as a size in bytes, and may be zero")
    func byteSize() throws {
        #expect(try ByteSize(parsing: "1GiB").bytes == 1 << 30)
        #expect(try ByteSize(parsing: "0").bytes == 0)
        #expect(throws: TextFailure.self) { try ByteSize(parsing: "-1") }
    }
}
