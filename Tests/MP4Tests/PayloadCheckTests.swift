// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import MP4

@Suite struct PayloadCheckTests {
    private static let description = StreamDescription(
        video: .init(
            format: VideoFormat(width: 320, height: 180, frameRate: FrameRate(25)),
            decoderConfiguration: SharedBytes([1, 100, 0, 31, 255, 224, 0]), bitrate: 500_000, reorderDepth: 0,
            encoderSettings: ""),
        audio: .init(
            format: .program, decoderConfiguration: SharedBytes([0x11, 0x90]), bitrate: 128_000, frameLength: 1024))

    private func sampleDescription(_ kind: TrackKind) throws -> [UInt8] {
        let layout = MovieLayout(description: Self.description, creationTime: 0, userData: [])
        return try #require(layout.tracks.first { $0.kind == kind }).sampleDescription
    }

    private func isWhole(_ bytes: [UInt8], _ kind: TrackKind = .video) throws -> Bool {
        let layout = MovieLayout(description: Self.description, creationTime: 0, userData: [])
        let sample = SampleEntry(
            decodeTime: 0, duration: 1, compositionOffset: 0, size: UInt32(bytes.count), isSync: true)
        return try PayloadCheck(layout).isWhole(
            [sample], of: kind, at: 5, in: MemorySource(bytes: [9, 9, 9, 9, 9] + bytes))
    }

    private let frame: [UInt8] =
        [0, 0, 0, 3, 0x67, 1, 2] + [0, 0, 0x10, 0] + [UInt8](repeating: 0x65, count: 4096)

    @Test func `A frame of complete NAL units counts as intact`() throws {
        #expect(try isWhole(frame))
        #expect(try isWhole([UInt8](repeating: 3, count: 300), .audio))
        // A silent packet can be short.
        #expect(try isWhole([0, 0], .audio))
    }

    // Recovery used to count every fragment that was long enough, even if a power loss had destroyed its media.
    @Test(arguments: [0, 4, 7, 11, 512, 3000])
    func `A disk sector of zeros anywhere in a frame is detected`(place: Int) throws {
        var torn = frame
        for index in place..<min(place + 512, torn.count) { torn[index] = 0 }
        #expect(try !isWhole(torn))
    }

    @Test func `NAL unit lengths beyond the frame, and audio of zeros, count as damage`() throws {
        var wrong = frame
        wrong[2] = 0xFF
        #expect(try !isWhole(wrong))
        #expect(try !isWhole(Array(frame.dropLast())))
        #expect(try !isWhole([UInt8](repeating: 0, count: 300), .audio))
    }

    @Test func `The size of NAL unit length fields is read from the decoder configuration`() throws {
        let stsd = try sampleDescription(.video)
        #expect(try SampleDescription.lengthSize(stsd) == 4)
        let place = try #require(BoxReader.positions(of: Array("avcC".utf8), in: stsd).first) + 8
        var short = stsd
        short[place] = 0xFC | 1
        #expect(try SampleDescription.lengthSize(short) == 2)
        #expect(throws: MP4Failure.self) {
            try SampleDescription.lengthSize(sampleDescription(.audio))
        }
    }
}
