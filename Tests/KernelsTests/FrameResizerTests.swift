// SPDX-License-Identifier: Apache-2.0

import FrameSamples
import Media
import Testing

@testable import Kernels

@Suite("Resized frames")
struct FrameResizerTests {
    private func format(_ width: Int, _ height: Int, _ pixel: SampleAspectRatio = .square) -> VideoFormat {
        VideoFormat(width: width, height: height, frameRate: FrameRate(25), sampleAspectRatio: pixel)
    }

    private func resized(_ frame: VideoFrame, to target: VideoFormat, from pixel: SampleAspectRatio = .square)
        -> PlainFrame
    {
        let resizer = FrameResizer(from: format(frame.width, frame.height, pixel), to: target)
        return PlainFrame(resizer.resized(frame))
    }

    @Test("At half the size each sample of a resized frame is the mean of four samples, without black bars")
    func half() {
        let plain = PlainFrame(width: 96, height: 56, seed: 3)
        let small = resized(plain.frame, to: format(48, 28))
        let means = PlainPlane(width: 48, height: 28) { x, y in
            sample(plain.y.mean(x: Double(2 * x), y: Double(2 * y), width: 2, height: 2))
        }
        #expect(small.y.difference(means) <= 1)
        // 72 by 42 is three quarters of the source, apart from rounding, so no bars are needed.
        #expect(resized(plain.frame, to: format(72, 42)).y.height == 42)
    }

    @Test("If aspect ratios differ, a resized frame shows the complete source between black bars")
    func bars() {
        let white = PlainFrame(width: 96, height: 54, PixelColor(y: 235, u: 128, v: 128))
        let square = resized(white.frame, to: format(96, 96))
        let column = (0..<96).map { square.y[40, $0] }
        #expect(column.prefix(20).allSatisfy { $0 == 16 } && column.suffix(20).allSatisfy { $0 == 16 })
        #expect(column[24..<72].allSatisfy { $0 == 235 })
        // 54 rows of pixels twice as high as wide are displayed as high as 108.
        let tall = resized(white.frame, to: format(96, 108), from: .init(1, 2))
        #expect(tall.y.samples.allSatisfy { $0 == 235 })
    }

    @Test("A frame is resized once for each requested size, and keeps the times and captions of the original")
    func shared() {
        let resizer = FrameResizer(from: format(96, 54), to: format(48, 28))
        var frame = PlainFrame(width: 96, height: 54, seed: 5).frame
        (frame.pts, frame.captions) = (7, [1, 2, 3])
        let shared = ResizedFrame(frame, by: resizer)
        let (one, two) = (shared.frame, shared.frame)
        #expect(one.storage === two.storage && one.pts == 7 && one.captions == [1, 2, 3] && one.width == 48)
    }
}
