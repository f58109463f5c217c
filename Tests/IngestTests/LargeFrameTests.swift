// SPDX-License-Identifier: Apache-2.0

import LibAV
import Media
import Testing

@testable import Ingest

@Suite("Frames that are too large", .timeLimit(.minutes(2)))
struct LargeFrameTests {
    private func clip(_ encoder: String, size: String = "320x180") throws -> Clip {
        try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=\(size):r=25:d=2", "-c:v", encoder, "-g", "25", "-pix_fmt", "yuv420p",
            suffix: ".ts")
    }

    private func demuxer(_ clip: Clip, mostPixels: Int64? = nil) throws -> Demuxer {
        var options = Demuxer.Options()
        options.mostPixels = mostPixels
        return try Demuxer(url: clip.path, options: options, interrupter: Interrupter(), subject: "in")
    }

    @Test("An input whose frames are too large is not opened, and the error gives their size and the limit")
    func opening() throws {
        for encoder in ["libx264", "libx265"] {
            let clip = try clip(encoder)
            let failure = #expect(throws: AVFailure.self) { try demuxer(clip, mostPixels: 320 * 180 - 1) }
            #expect(failure?.message == "its frames have 320x180 pixels, which is more than 57599")
            #expect(throws: Never.self) { try demuxer(clip, mostPixels: 320 * 180) }
        }
    }

    @Test("A decoder refuses too large frames, both at opening and in mid-stream, with an error that gives their size")
    func decoding() throws {
        for encoder in ["libx264", "libx265"] {
            let (small, large) = (try demuxer(clip(encoder, size: "160x90")), try demuxer(clip(encoder)))
            let (first, second) = (try #require(small.bestVideo), try #require(large.bestVideo))
            let refused = #expect(throws: AVFailure.self) {
                try Decoder(second, threading: .slices, mostPixels: 320 * 180 - 1, subject: "in")
            }
            #expect(refused?.message == "its frames have 320x180 pixels, which is more than 57599")
            let decoder = try Decoder(first, threading: .slices, mostPixels: 320 * 180 - 1, subject: "in")
            let packet = try #require(try large.readPacket())
            let failure = #expect(throws: AVFailure.self) { try decoder.send(packet) }
            #expect(failure?.message == "its frames have 320x180 pixels, which is more than 57599")
        }
    }

    @Test("No track description is made from a keyframe that is too large")
    func describing() throws {
        let demuxer = try demuxer(clip("libx264"))
        let packet = try #require(try demuxer.readPacket())
        var reader = AnnexBReader(.h264)
        let read = reader.read(packet.content)
        let unit = try #require(read)
        let configuration = try #require(reader.sets.configuration)
        func describe(_ limit: Int64) throws -> CodedShape {
            try CodedShape(
                of: .h264, configuration: configuration, keyframe: unit.payload, mostPixels: limit, subject: "in")
        }
        #expect(try describe(320 * 180).frames.width == 320)
        let failure = #expect(throws: AVFailure.self) { try describe(320 * 180 - 1) }
        #expect(failure?.message == "its frames have 320x180 pixels, which is more than 57599")
    }

    @Test("Frames of network inputs may be as large as level 6.2 allows, and those of files may be larger")
    func limits() {
        #expect(LargestFrame.pixels == 8192 * 4352)
        for address in ["udp://@:5000", "rtsp://a/b", "http://a/b.m3u8", "srt://:9000"] {
            let settings = InputLocation(address).demuxerSettings(IngestOptions()).options
            #expect(settings.mostPixels == LargestFrame.pixels)
        }
        #expect(InputLocation("a.mp4").demuxerSettings(IngestOptions()).options.mostPixels == nil)
    }
}
