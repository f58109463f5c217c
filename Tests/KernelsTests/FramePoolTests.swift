// SPDX-License-Identifier: Apache-2.0

import FrameSamples
import Media
import Testing

@testable import Kernels

@Suite("Frame pool")
struct FramePoolTests {
    private let pool = FramePool(width: 34, height: 18, keeping: 2)

    private func drawn(_ value: UInt8) -> VideoFrame {
        var canvas = pool.canvas()
        canvas.fill(PixelColor(y: value, u: value, v: value))
        return canvas.finish(pts: Int64(value), timeBase: .milliseconds)
    }

    private func address(of frame: VideoFrame) -> UnsafeRawPointer { frame.storage.withPlanes { $0.y.bytes } }

    @Test("A frame's memory returns to the pool when its last owner releases the frame, and is reused")
    func comesBack() {
        var frame: VideoFrame? = drawn(1)
        let first = frame.map(address(of:))
        var other = frame
        frame = nil
        #expect(pool.spareCount == 0)
        #expect(other?.pts == 1)
        other = nil
        #expect(pool.spareCount == 1)
        #expect(address(of: drawn(2)) == first)
    }

    @Test("A canvas that is released before it is finished returns to the pool")
    func letGo() {
        do { _ = pool.canvas() }
        #expect(pool.spareCount == 1)
    }

    @Test("Frames in use do not share memory, and are not overwritten")
    func shareNothing() {
        for _ in 0..<3 {
            let frames = (1...5).map { drawn(UInt8($0)) }
            #expect(Set(frames.map(address(of:))).count == 5)
            for (index, frame) in frames.enumerated() {
                let value = UInt8(index + 1)
                #expect(
                    PlainFrame(frame)
                        == PlainFrame(width: 34, height: 18, PixelColor(y: value, u: value, v: value)))
            }
        }
    }

    @Test("The frame pool keeps no more unused frames than its limit")
    func isBounded() {
        do { _ = (0..<6).map { drawn(UInt8($0)) } }
        #expect(pool.spareCount == 2)
    }

    @Test("Drawing on a frame with a single owner changes that frame without a copy")
    func inPlace() {
        var frame: VideoFrame? = drawn(7)
        let place = frame.map(address(of:))
        let canvas = pool.canvas(taking: &frame)
        #expect(frame == nil)
        let again = canvas.finish(pts: 0, timeBase: .milliseconds)
        #expect(address(of: again) == place)
        #expect(PlainFrame(again).y[3, 3] == 7)
    }

    @Test("Drawing on a frame with several owners changes a copy, and the original stays unchanged")
    func shared() {
        let kept = drawn(7)
        var frame: VideoFrame? = kept
        var canvas = pool.canvas(taking: &frame)
        canvas.fill(.black)
        _ = canvas.finish(pts: 0, timeBase: .milliseconds)
        #expect(PlainFrame(kept) == PlainFrame(width: 34, height: 18, PixelColor(y: 7, u: 7, v: 7)))
    }

    @Test("Drawing on a frame whose memory is not from the pool changes a copy")
    func foreign() {
        let noise = PlainFrame(width: 34, height: 18, seed: 1)
        let foreign = noise.frame
        var frame: VideoFrame? = foreign
        let canvas = pool.canvas(taking: &frame)
        #expect(frame == nil)
        #expect(PlainFrame(canvas.finish(pts: 0, timeBase: .milliseconds)) == noise)
    }

    @Test("Frames that several threads release return to the pool")
    func threads() async {
        let pool = FramePool(width: 16, height: 16, keeping: 100)
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask {
                    for round in 0..<200 {
                        var canvas = pool.canvas()
                        let color = PixelColor(y: UInt8(task), u: UInt8(round), v: 0)
                        canvas.fill(color)
                        let frame = canvas.finish(pts: 0, timeBase: .milliseconds)
                        #expect(PlainFrame(frame) == PlainFrame(width: 16, height: 16, color))
                    }
                }
            }
        }
        #expect(pool.spareCount <= 4)
        #expect(pool.spareCount >= 1)
    }
}

@Suite("Colors of a program")
struct PixelColorTests {
    @Test("Black and white are the lowest and highest values of the color range")
    func ends() {
        #expect(PixelColor(.black, in: .bt709) == .black)
        #expect(PixelColor(.white, in: .bt709) == PixelColor(y: 235, u: 128, v: 128))
        var full = ColorDescription.bt601With625Lines
        full.isFullRange = true
        #expect(PixelColor(.black, in: full) == PixelColor(y: 0, u: 128, v: 128))
        #expect(PixelColor(.white, in: full) == PixelColor(y: 255, u: 128, v: 128))
    }

    @Test("The primary colors of a program have the values of color bars")
    func primaries() {
        let red = RGBColor(red: 255, green: 0, blue: 0)
        let blue = RGBColor(red: 0, green: 0, blue: 255)
        #expect(PixelColor(red, in: .bt709) == PixelColor(y: 63, u: 102, v: 240))
        #expect(PixelColor(blue, in: .bt709) == PixelColor(y: 32, u: 240, v: 118))
        #expect(PixelColor(red, in: .bt601With525Lines) == PixelColor(y: 81, u: 90, v: 240))
    }

    @Test("A color is parsed from text and written in lower case, and other texts are refused")
    func text() {
        #expect(RGBColor("#0a64ff") == RGBColor(red: 10, green: 100, blue: 255))
        #expect(RGBColor("black") == .black)
        #expect(RGBColor("#0A64FF")?.description == "#0a64ff")
        for text in ["", "#", "#12345", "#1234567", "0a64ff", "#+12345", "#00000g", "blue"] {
            #expect(RGBColor(text) == nil, "\(text)")
        }
    }
}
