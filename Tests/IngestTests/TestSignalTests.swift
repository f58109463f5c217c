// SPDX-License-Identifier: Apache-2.0

import Logging
import Media
import TestSupport
import Testing

@testable import Ingest

@Suite("Built-in test signal")
struct TestSignalTests {
    @Test(
        "The test signal's frame counter can be read even from a noisy frame",
        arguments: [(1280, 720), (1920, 1080), (640, 360), (320, 180), (160, 90)])
    func counterRoundTrip(width: Int, height: Int) throws {
        let layout = try #require(FrameCounterCode.layout(width: width, height: height))
        var random = SeededRandom()
        for number: UInt32 in [0, 1, 30, 123_456, .max] {
            let bits = FrameCounterCode.bits(of: number)
            var luma = [UInt8](repeating: 16, count: width * height)
            for index in 0..<40 where bits >> UInt64(39 - index) & 1 == 1 {
                for row in 0..<layout.block {
                    for column in 0..<layout.block {
                        let x = index % layout.columns * layout.block + column
                        luma[(layout.top + index / layout.columns * layout.block + row) * width + x] = 235
                    }
                }
            }
            for index in luma.indices {
                luma[index] = UInt8(clamping: Int(luma[index]) + Int.random(in: -90...90, using: &random))
            }
            #expect(FrameCounterCode.decode(luma: luma, width: width, height: height, stride: width) == number)
        }
    }

    @Test("No number is read from a frame whose counter is missing or damaged")
    func noCode() {
        for grey: UInt8 in [16, 128, 235] {
            let luma = [UInt8](repeating: grey, count: 640 * 360)
            #expect(FrameCounterCode.decode(luma: luma, width: 640, height: 360, stride: 640) == nil)
        }
        for bit: UInt64 in 0..<40 {
            let damaged = FrameCounterCode.bits(of: 4711) ^ 1 << bit
            #expect(FrameCounterCode.number(from: damaged) == nil)
        }
    }

    @Test("The blocks of the frame counter have at least 16 pixels if the frame has at least 160 columns")
    func blocks() throws {
        for (width, height) in [(160, 160), (320, 180), (640, 360), (854, 480), (1280, 720)] {
            #expect(try #require(FrameCounterCode.layout(width: width, height: height)).block >= 16)
        }
    }

    @Test(
        "Flash and beep of the test signal begin and end together, exact to the sample",
        arguments: [FrameRate(30), FrameRate(30_000, 1001), FrameRate(25), FrameRate(60), FrameRate(24_000, 1001)])
    func alignment(rate: FrameRate) {
        let clock = TestClock(frameRate: rate, sampleRate: 48_000)
        for second: Int64 in 0..<200 {
            let first = clock.firstFrame(of: second)
            let beep = clock.beep(in: second)
            #expect(clock.flashes(first))
            #expect(clock.flashes(first + clock.flashLength - 1))
            #expect(!clock.flashes(first + clock.flashLength))
            #expect(beep.lowerBound == clock.sample(of: first))
            #expect(beep.upperBound == clock.sample(of: first + clock.flashLength))
        }
    }

    @Test("The test tone does not depend on the portions in which it is requested")
    func toneByPosition() {
        let tone = TestTone(format: .program, clock: TestClock(frameRate: FrameRate(30_000, 1001), sampleRate: 48_000))
        var pieces = tone.audio(at: 0, count: 0)
        for position in stride(from: Int64(0), to: 100_000, by: 1000) {
            pieces.append(tone.audio(at: position, count: 1000))
        }
        #expect(tone.audio(at: 0, count: 100_000).channels == pieces.channels)
        #expect(pieces.channels[0].dropFirst(1).allSatisfy { abs($0) < 0.5 })
    }

    @Test("All frames of the test signal are numbered and have the right times, with audio in sync")
    func source() throws {
        let sink = CollectingSink(frames: 90, audio: 96_000, readsCounter: true)
        let source = try SourceOpener.open(
            InputLocation("test:"), options: IngestOptions(size: FrameSize(width: 640, height: 360)),
            logger: Logger(label: "test"))
        #expect(!source.description.isLive)
        source.start(into: sink, video: source.description.video, audio: .program)
        #expect(sink.waitUntilDone())
        source.stop()
        let taken = sink.taken
        #expect(taken.frames.map(\.counter) == (0..<90).map { UInt32($0) })
        #expect(taken.frames[30].nanoseconds == 1_000_000_000)
        #expect(taken.jumps.isEmpty)
        #expect(taken.audio.count >= 96_000)
    }

    @Test("The timecode of the test signal counts frames at the rate rounded up to an integer")
    func timecode() {
        let clock = TestClock(frameRate: FrameRate(30_000, 1001), sampleRate: 48_000)
        #expect(clock.timecode(of: 30 * 3661 + 29) == "01:01:01:29")
    }

    private func open(_ width: Int, _ height: Int) throws(IngestError) -> any MediaSource {
        let options = IngestOptions(size: FrameSize(width: width, height: height))
        return try SourceOpener.open(InputLocation("test:"), options: options, logger: quiet)
    }

    @Test(
        "A test signal with an odd, too small or too large width or height is refused",
        arguments: [(161, 90), (160, 91), (158, 90), (160, 88), (8194, 90), (160, 8194), (0, 90), (160, -90)])
    func refusedSize(width: Int, height: Int) {
        let error = #expect(throws: IngestError.self) { try open(width, height) }
        let reason = "its size must be even and between 160x90 and 8192x8192"
        #expect(error == .invalidOption(input: "test:", reason: reason))
    }

    @Test(
        "A test signal has the requested size, from the smallest to the largest",
        arguments: [(160, 90), (8192, 8192), (160, 8192), (8192, 90), (642, 362)])
    func sizes(width: Int, height: Int) throws {
        let source = try open(width, height)
        #expect(source.description.video?.width == width && source.description.video?.height == height)
        #expect(FrameCounterCode.layout(width: width, height: height) != nil, "the frame number is readable")
    }
}
