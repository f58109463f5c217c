// SPDX-License-Identifier: Apache-2.0

import Foundation
import Ingest
import LibAV
import Logging
import Media
import Testing

/// The luma weights of a matrix of ITU-T H.273.
private struct Matrix: Sendable {
    let red: Double
    let blue: Double

    static let bt601 = Matrix(red: 0.299, blue: 0.114)
    static let bt709 = Matrix(red: 0.2126, blue: 0.0722)

    /// An RGB color, 0 to 1 each, as Y, Cb, Cr in limited or full range (H.273, equations 38 to 46).
    func values(of color: [Double], isFullRange: Bool = false) -> [Int] {
        let luma = red * color[0] + (1 - red - blue) * color[1] + blue * color[2]
        let chroma = [(color[2] - luma) / (2 - 2 * blue), (color[0] - luma) / (2 - 2 * red)]
        let (base, lumaScale, chromaScale) = isFullRange ? (0.0, 255.0, 255.0) : (16, 219, 224)
        return [Int((base + lumaScale * luma).rounded())] + chroma.map { Int((128 + chromaScale * $0).rounded()) }
    }
}

@Suite("Color of untagged videos")
struct ColorTests {
    private static let colors: [(name: String, value: [Double])] = [
        ("0xFF0000", [1, 0, 0]), ("0x00FF00", [0, 1, 0]), ("0x0000FF", [0, 0, 1]),
        ("0xC08040", [192.0 / 255, 128.0 / 255, 64.0 / 255]),
    ]

    /// A clip of one color without color tags, in the usual matrix of its size. AVI cannot store color tags.
    private func clip(_ color: String, size: String, matrix: String, options: String = "") throws -> Clip {
        try Clip(
            "-f", "lavfi", "-i", "color=c=\(color):s=\(size):r=25:d=0.2,format=gbrp", "-vf",
            "scale=out_color_matrix=\(matrix)\(options):flags=accurate_rnd,format=yuv420p,setparams=colorspace=unknown",
            "-c:v", "ffv1", suffix: ".avi")
    }

    private func expect(
        _ clip: Clip, in size: (Int, Int), color: ColorDescription?, is expected: [Int],
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let sink = CollectingSink()
        let target = VideoFormat(
            width: size.0, height: size.1, frameRate: FrameRate(25),
            color: (color ?? .unspecified).resolved(width: size.0, height: size.1))
        let source = try clip.play(into: sink, video: target)
        #expect(source.description.video?.color == .unspecified, sourceLocation: location)
        let frame = try #require(sink.taken.frames.first, sourceLocation: location)
        let found = [frame.luma[4], frame.middleU, frame.middleV].map(Int.init)
        #expect(zip(found, expected).allSatisfy { abs($0 - $1) <= 2 }, "\(found) \(expected)", sourceLocation: location)
    }

    @Test("Untagged SD video in an HD program is converted from BT.601 to BT.709", arguments: 0..<4)
    func upscaled(index: Int) throws {
        let (name, value) = Self.colors[index]
        for size in ["720x576", "720x480"] {
            let clip = try clip(name, size: size, matrix: "bt601")
            try expect(clip, in: (1280, 720), color: nil, is: Matrix.bt709.values(of: value))
        }
    }

    @Test("Untagged HD video in an SD program is converted from BT.709 to BT.601", arguments: 0..<4)
    func downscaled(index: Int) throws {
        let (name, value) = Self.colors[index]
        let clip = try clip(name, size: "1280x720", matrix: "bt709")
        try expect(clip, in: (1024, 576), color: nil, is: Matrix.bt601.values(of: value))
    }

    @Test("Untagged video keeps its color values in a program of the same class (SD or HD)")
    func sameClass() throws {
        let (name, value) = Self.colors[3]
        let small = try clip(name, size: "640x360", matrix: "bt601")
        try expect(small, in: (640, 360), color: nil, is: Matrix.bt601.values(of: value))
        try expect(small, in: (720, 576), color: nil, is: Matrix.bt601.values(of: value))
        let large = try clip(name, size: "1280x720", matrix: "bt709")
        try expect(large, in: (1920, 1080), color: nil, is: Matrix.bt709.values(of: value))
    }

    @Test("Untagged SD video of any size is converted to BT.709 if the program is BT.709")
    func stated() throws {
        let (name, value) = Self.colors[0]
        let clip = try clip(name, size: "640x360", matrix: "bt601")
        try expect(clip, in: (640, 360), color: .bt709, is: Matrix.bt709.values(of: value))
    }

    @Test(
        "HLG video is tone-mapped in an SDR program, and unchanged in an HLG program",
        .enabled(if: ToneMapping.isPossible))
    func highDynamicRange() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "color=c=0x20C020:s=320x180:r=25:d=0.2,format=gbrp", "-vf",
            "scale=out_color_matrix=bt2020:flags=accurate_rnd,format=yuv420p10le", "-c:v", "ffv1", "-color_primaries",
            "bt2020", "-color_trc", "arib-std-b67", "-colorspace", "bt2020nc", "-color_range", "tv", suffix: ".mkv")
        let hlg = ColorDescription(primaries: 9, transfer: 18, matrix: 9, isFullRange: false)
        for (color, expected) in [(hlg, [137, 77, 63]), (ColorDescription.bt709, try toneMapped(clip))] {
            let sink = CollectingSink()
            let source = try clip.play(
                into: sink, video: VideoFormat(width: 320, height: 180, frameRate: FrameRate(25), color: color))
            #expect(source.description.video?.color == hlg)
            let frame = try #require(sink.taken.frames.first)
            let found = [frame.luma[4], frame.middleU, frame.middleV].map(Int.init)
            #expect(zip(found, expected).allSatisfy { abs($0 - $1) <= 3 }, "\(found) \(expected)")
        }
    }

    @Test(
        "SDR white has 203 nits in an HDR program: 58 % of PQ, 75 % of HLG (ITU-R BT.2408, table 1)",
        .enabled(if: ToneMapping.isPossible), arguments: [(UInt8(16), 143), (18, 180)])
    func standardRange(transfer: UInt8, luma: Int) throws {
        let clips = [
            try Clip(
                "-f", "lavfi", "-i", "color=white:s=320x180:r=25:d=0.2,format=yuv420p", "-c:v", "ffv1", suffix: ".mkv"),
            try Clip(
                "-f", "lavfi", "-i", "color=white:s=320x180:r=25:d=0.2,format=bgr0", "-c:v", "ffv1", suffix: ".mkv"),
        ]
        let color = ColorDescription(primaries: 9, transfer: transfer, matrix: 9, isFullRange: false)
        for clip in clips {
            let sink = CollectingSink()
            try clip.play(
                into: sink, video: VideoFormat(width: 320, height: 180, frameRate: FrameRate(25), color: color))
            let frame = try #require(sink.taken.frames.first)
            let found = [frame.luma[4], frame.middleU, frame.middleV].map(Int.init)
            #expect(zip(found, [luma, 128, 128]).allSatisfy { abs($0 - $1) <= 3 }, "\(found)")
        }
    }

    @Test(
        "White of an image has 203 nits in an HDR program", .enabled(if: ToneMapping.isPossible),
        arguments: [".png", ".jpg"])
    func image(suffix: String) throws {
        let image = try Clip("-f", "lavfi", "-i", "color=white:s=320x180", "-frames:v", "1", suffix: suffix)
        let color = ColorDescription(primaries: 9, transfer: 16, matrix: 9, isFullRange: false)
        let (frame, isVideo) = try StillFrame.load(
            InputLocation(image.path),
            format: VideoFormat(width: 320, height: 180, frameRate: FrameRate(25), color: color),
            logger: Logger(label: "test"))
        let luma = frame.storage.withPlanes { planes in
            planes.y.bytes.load(fromByteOffset: 90 * planes.y.stride + 160, as: UInt8.self)
        }
        #expect(abs(Int(luma) - 143) <= 3 && !isVideo, "\(luma)")
    }

    /// The values that ffmpeg makes from a clip of 320x180 with the filters of tone mapping. The values depend on the
    /// processor, because zimg has separate code for each kind of processor.
    private func toneMapped(_ clip: Clip) throws -> [Int] {
        let raw = try Clip(
            "-i", clip.path, "-frames:v", "1", "-vf",
            "zscale=t=linear:npl=100,format=gbrpf32le,zscale=p=bt709,tonemap=hable,zscale=t=bt709:m=bt709:r=tv",
            "-pix_fmt", "yuv420p", "-f", "rawvideo", suffix: ".yuv")
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: raw.path)))
        let (size, middle) = (320 * 180, 45 * 160 + 80)
        return [4, size + middle, size * 5 / 4 + middle].map { Int(bytes[$0]) }
    }

    @Test("An untagged full-range pixel format (yuvj420p) is treated as full range")
    func range() throws {
        let (name, value) = Self.colors[3]
        let clip = try Clip(
            "-f", "lavfi", "-i", "color=c=\(name):s=640x480:r=25:d=0.2,format=gbrp", "-vf",
            "scale=out_color_matrix=bt601:out_range=full:flags=accurate_rnd,format=yuvj420p", "-c:v", "mjpeg", "-q:v",
            "1", suffix: ".avi")
        let sink = CollectingSink()
        let source = try clip.play(into: sink, video: VideoFormat(width: 1280, height: 720, frameRate: FrameRate(25)))
        #expect(source.description.video?.color.isFullRange == true)
        let frame = try #require(sink.taken.frames.first)
        let found = [frame.luma[4], frame.middleU, frame.middleV].map(Int.init)
        let expected = Matrix.bt709.values(of: value)
        #expect(zip(found, expected).allSatisfy { abs($0 - $1) <= 2 }, "\(found) \(expected)")
    }
}
