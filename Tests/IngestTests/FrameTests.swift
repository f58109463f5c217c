// SPDX-License-Identifier: Apache-2.0

import Foundation
import Ingest
import LibAV
import Media
import Testing

@Suite("Conversion of frames")
struct FrameTests {
    /// A frame that is white in its left half and black in its right half.
    private let halves = "color=white:s=160x180:r=25:d=0.4[a];color=black:s=160x180:r=25:d=0.4[b];[a][b]hstack"

    @Test("A video with a rotation is shown upright", arguments: [90, 180, 270])
    func rotation(degrees: Int) throws {
        let flat = try Clip("-filter_complex", halves, "-pix_fmt", "yuv420p", suffix: ".mp4")
        let clip = try Clip(
            "-i", flat.path, "-c", "copy", "-metadata:s:v", "rotate=\(degrees)", suffix: ".mp4")
        let sink = CollectingSink()
        let source = try clip.play(into: sink)
        let quarter = degrees != 180
        let frame = try #require(sink.taken.frames.first)
        #expect(sink.taken.frames.count == 10)
        #expect(source.description.video?.width == (quarter ? 180 : 320))
        #expect((frame.width, frame.height) == (quarter ? (180, 320) : (320, 180)))
        // The quarters in which the white half is after the rotation; it was on the left before.
        let isWhite = frame.luma.prefix(4).map { $0 > 128 }
        switch degrees {
        case 90: #expect(isWhite == [true, true, false, false] || isWhite == [false, false, true, true])
        case 180: #expect(isWhite == [false, true, false, true])
        default: #expect(isWhite == [true, true, false, false] || isWhite == [false, false, true, true])
        }
    }

    @Test("Video with an odd size loses its last column and row")
    func oddSize() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=321x181:r=25:d=0.4", "-c:v", "ffv1", "-pix_fmt", "yuv420p",
            suffix: ".mkv")
        let sink = CollectingSink()
        let source = try clip.play(into: sink)
        #expect(source.description.video?.width == 320)
        #expect(source.description.video?.height == 180)
        #expect(sink.taken.frames.count == 10)
    }

    @Test("Anamorphic video keeps its pixel aspect ratio in its own format, and gets black bars in another")
    func anamorphic() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "color=white:s=720x576:r=25:d=0.4", "-vf", "setsar=16/15", "-pix_fmt", "yuv420p",
            suffix: ".mp4")
        let own = CollectingSink()
        let source = try clip.play(into: own)
        #expect(source.description.video?.sampleAspectRatio == SampleAspectRatio(16, 15))
        let same = try #require(own.taken.frames.first)
        #expect(same.luma[5] > 200 && same.region == nil)
        let wide = CollectingSink()
        try clip.play(
            into: wide, video: VideoFormat(width: 1280, height: 720, frameRate: FrameRate(25), color: .unspecified))
        let frame = try #require(wide.taken.frames.first)
        #expect((frame.width, frame.height) == (1280, 720))
        // 4:3 in 16:9 has bars of 160 columns left and right, and no bars at the top and bottom.
        #expect(frame.luma[5] == 16)
        #expect(frame.luma[6] > 200)
        #expect(frame.luma[4] > 200)
        #expect(frame.region == FrameRegion(x: 160, y: 0, width: 960, height: 720))
    }

    @Test("RGB video becomes BT.709 in limited range")
    func rgb() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "color=red:s=320x180:r=25:d=0.4", "-c:v", "png", "-pix_fmt", "rgb24", suffix: ".mov")
        let sink = CollectingSink()
        let source = try clip.play(into: sink)
        #expect(source.description.video?.color == .bt709)
        let frame = try #require(sink.taken.frames.first)
        #expect(abs(Int(frame.luma[4]) - 63) <= 1)
        #expect(abs(Int(frame.middleV) - 240) <= 1)
    }

    @Test("Full-range video becomes limited range if that is requested, and otherwise stays full range")
    func range() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "color=white:s=320x180:r=25:d=0.4", "-vf", "scale=out_range=full", "-c:v", "mjpeg",
            "-pix_fmt", "yuvj420p", suffix: ".mov")
        let own = CollectingSink()
        let source = try clip.play(into: own)
        #expect(source.description.video?.color.isFullRange == true)
        #expect(own.taken.frames.first?.luma[4] ?? 0 >= 254)
        var target = try #require(source.description.video)
        target.color.isFullRange = false
        let limited = CollectingSink()
        try clip.play(into: limited, video: target)
        #expect(abs(Int(limited.taken.frames.first?.luma[4] ?? 0) - 235) <= 1)
    }

    @Test("BT.601 video becomes BT.709 if that is requested, and otherwise stays BT.601")
    func matrix() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "color=red:s=320x180:r=25:d=0.4", "-vf", "scale=out_color_matrix=bt601",
            "-colorspace", "smpte170m", "-color_primaries", "smpte170m", "-color_trc", "smpte170m", "-c:v", "libx264",
            "-qp", "1", "-pix_fmt", "yuv420p", suffix: ".mp4")
        let own = CollectingSink()
        let source = try clip.play(into: own)
        #expect(source.description.video?.color.matrix == 6)
        #expect(abs(Int(own.taken.frames.first?.luma[4] ?? 0) - 81) <= 2)
        var target = try #require(source.description.video)
        target.color = .bt709
        let converted = CollectingSink()
        try clip.play(into: converted, video: target)
        #expect(abs(Int(converted.taken.frames.first?.luma[4] ?? 0) - 63) <= 2)
    }

    @Test("A pixel aspect ratio that changes in mid-stream applies from the first frame that states it")
    func changedAspect() throws {
        func clip(_ aspect: String) throws -> Clip {
            try Clip(
                "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=1", "-vf", "setsar=\(aspect)", "-c:v", "libx264", "-bf",
                "0", "-pix_fmt", "yuv420p", suffix: ".ts")
        }
        let (square, wide) = (try clip("1/1"), try clip("2/1"))
        let parts = try [square, wide, square].map { try Data(contentsOf: URL(fileURLWithPath: $0.path)) }
        try (parts[0] + parts[1] + parts[2]).write(to: URL(fileURLWithPath: wide.path))
        let sink = CollectingSink()
        try wide.play(
            into: sink, video: VideoFormat(width: 320, height: 180, frameRate: FrameRate(25), color: .bt709))
        let regions = sink.taken.frames.map(\.region)
        #expect(regions.count == 75)
        #expect(regions.prefix(25).allSatisfy { $0 == nil } && regions.suffix(25).allSatisfy { $0 == nil })
        let middle = FrameRegion(x: 0, y: 44, width: 320, height: 90)
        #expect(regions.dropFirst(25).prefix(25).allSatisfy { $0 == middle })
    }

    @Test("Deinterlacing loses no frame")
    func interlaced() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=50:d=1", "-vf", "interlace", "-flags", "+ilme+ildct",
            "-c:v", "mpeg2video", "-q:v", "2", suffix: ".ts")
        let sink = CollectingSink()
        try clip.play(into: sink)
        let frames = sink.taken.frames
        #expect(frames.count == 25)
        #expect(frames.last?.nanoseconds == 960_000_000)
    }

    @Test("In a program with twice the video's frame rate, interlaced video is shown field by field")
    func fields() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=50:d=1", "-vf", "interlace", "-flags", "+ilme+ildct",
            "-c:v", "mpeg2video", "-q:v", "2", suffix: ".ts")
        let sink = CollectingSink()
        try clip.play(
            into: sink, video: VideoFormat(width: 320, height: 180, frameRate: FrameRate(50), color: .bt709))
        let times = sink.taken.frames.map(\.nanoseconds)
        #expect(times == (0..<50).map { Int64($0) * 20_000_000 })
    }

    @Test(
        "Interlaced video is deinterlaced to fields if the program has at least 1.5 frames for each frame of the video",
        arguments: [
            (FrameRate(25), FrameRate(25), Deinterlacing.toFrames), (FrameRate(25), FrameRate(30), .toFrames),
            (FrameRate(25), FrameRate(50), .toFields), (FrameRate(30000, 1001), FrameRate(50), .toFields),
            (FrameRate(50), FrameRate(50), .toFields), (FrameRate(50), FrameRate(25), .toFrames),
        ])
    func deinterlacing(rate: FrameRate, program: FrameRate, expected: Deinterlacing) {
        #expect(Deinterlacing(of: rate, in: program) == expected)
    }

    @Test("Video of 10 bits is converted to 8 bits")
    func tenBits() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "color=white:s=320x180:r=25:d=0.4", "-c:v", "ffv1", "-pix_fmt", "yuv422p10le",
            suffix: ".mkv")
        let sink = CollectingSink()
        try clip.play(into: sink)
        #expect(sink.taken.frames.count == 10)
        #expect(abs(Int(sink.taken.frames.first?.luma[4] ?? 0) - 235) <= 1)
    }
}
