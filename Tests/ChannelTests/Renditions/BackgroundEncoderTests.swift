// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Encoder
import FanOut
import Ingest
import Kernels
import Media
import TestSupport
import Testing

@testable import Channel

@Suite("The encoder of a rendition")
struct BackgroundEncoderTests {
    private static let format = VideoFormat(width: 64, height: 48, frameRate: FrameRate(25))

    /// An encoder of small frames that has not started, its packets and its log.
    private final class Bench: Sendable {
        let encoder: BackgroundEncoder
        let packets = CollectedPackets()
        let log = CollectedLog()
        private let over = DispatchSemaphore(value: 0)

        init() throws {
            var settings = EncoderSettings()
            (settings.preset, settings.tune, settings.rateControl) = (.ultrafast, .zerolatency, .bitrate(200_000))
            let hub = PacketStream()
            encoder = try BackgroundEncoder(
                BackgroundEncoder.Name(subject: "the rendition small", thread: "relay.test"), settings,
                format: BackgroundEncoderTests.format, into: hub, clock: ManualClock(), logger: log.logger)
            hub.begin(encoder.description, keyframes: encoder)
            hub.add(packets)
        }

        func start() { encoder.start { [over] in over.signal() } }

        /// Gives the frames of these numbers to the encoder.
        func take(_ numbers: Range<Int64>, captions: [UInt8] = []) {
            var frame = SlatePattern.frame(BackgroundEncoderTests.format, lines: [])
            frame.captions = captions
            for number in numbers { encoder.take(frame, at: number) }
        }

        /// Waits until the encoder has encoded `frames` frames.
        func wait(for frames: Int64) throws {
            try eventually("\(frames) frames are encoded") { encoder.status.framesIn >= frames }
        }

        /// Lets the encoder encode what it has taken, and waits for its end.
        func finish() throws {
            encoder.finish()
            try waitForEnd()
        }

        func waitForEnd() throws {
            try eventually("the encoder ends") { over.wait(timeout: .now()) == .success }
        }

        /// The numbers of the frames that were published.
        var numbers: [Int64] { packets.frames.map(\.pts) }
        /// The log lines that tell at the end how many frames were dropped in total.
        var lastWords: [String] { log.lines(containing: "frames were left out of the rendition small") }
    }

    @Test("A rendition's encoder that keeps up publishes every frame, and logs no dropped frames")
    func complete() throws {
        let bench = try Bench()
        bench.take(0..<30)
        bench.start()
        try bench.finish()
        #expect(bench.numbers == Array(0..<30) && bench.encoder.dropped == 0)
        #expect(bench.log.lines.isEmpty && bench.encoder.failure == nil && bench.encoder.missing == nil)
    }

    @Test("If more than 60 frames wait for a rendition's encoder, the rest is dropped, and their number is logged")
    func drops() throws {
        let bench = try Bench()
        bench.take(0..<100)
        bench.start()
        try bench.finish()
        #expect(bench.numbers == Array(0..<60) && bench.encoder.dropped == 40)
        let text = "frames are left out of the rendition small: its encoder cannot keep up"
        #expect(bench.log.lines(containing: text) == ["\(text) frames=40"])
        let end = "frames were left out of the rendition small: its encoder could not keep up frames=40"
        #expect(bench.lastWords == [end])
    }

    @Test("At the end all dropped frames are logged, even those within 10 s of the previous log line")
    func bursts() throws {
        var random = SeededRandom()
        for _ in 0..<5 {
            let bench = try Bench()
            bench.start()
            var taken: Int64 = 0
            for _ in 0..<8 {
                let count = Int64.random(in: 1...120, using: &random)
                let before = bench.encoder.dropped
                bench.take(taken..<taken + count)
                taken += count
                // A burst that finds the queue empty and fits into it loses nothing.
                if count <= 60 { #expect(bench.encoder.dropped == before) }
                try bench.wait(for: taken - Int64(bench.encoder.dropped))
            }
            try bench.finish()
            let (numbers, dropped) = (bench.numbers, bench.encoder.dropped)
            #expect(Int64(numbers.count + dropped) == taken)
            #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
            #expect(bench.lastWords.count == (dropped > 0 ? 1 : 0))
            #expect(bench.lastWords.allSatisfy { $0.hasSuffix(" frames=\(dropped)") })
            // The clock of the test stands still, so that only the first drops are logged before the end.
            #expect(bench.log.lines(containing: "cannot keep up").count == (dropped > 0 ? 1 : 0))
        }
    }

    @Test("Up to 64 MiB of 1080p frames wait for a rendition's encoder, which publishes them in its own size")
    func large() throws {
        let bench = try Bench()
        let source = VideoFormat(width: 1920, height: 1080, frameRate: FrameRate(25))
        let (frame, resizer) = (SlatePattern.frame(source, lines: []), FrameResizer(from: source, to: Self.format))
        let resized = ResizedFrame(frame, by: resizer)
        for number in 0..<30 as Range<Int64> { bench.encoder.take(frame, resized, at: number) }
        bench.start()
        try bench.finish()
        #expect(bench.numbers == Array(0..<21) && bench.encoder.dropped == 9)
        #expect(resized.frame.width == 64 && bench.encoder.description.video?.frameFormat?.height == 48)
    }

    @Test("Frames that still wait when a rendition's encoder is cancelled are counted and logged as dropped")
    func cancelled() throws {
        let bench = try Bench()
        bench.take(0..<50)
        bench.encoder.cancel()
        bench.take(50..<60)
        bench.start()
        try bench.waitForEnd()
        #expect(bench.numbers.isEmpty && bench.encoder.dropped == 50)
        #expect(bench.lastWords.count == 1 && bench.lastWords.first?.hasSuffix(" frames=50") == true)
    }

    @Test("A rendition's encoder accepts no frame after its end, and a second end has no effect")
    func ended() throws {
        let bench = try Bench()
        bench.take(0..<10)
        bench.encoder.finish()
        bench.take(10..<20)
        bench.encoder.take(AudioBuffer.silence(at: 0, count: 960, format: .program))
        bench.start()
        try bench.finish()
        #expect(bench.numbers == Array(0..<10) && bench.encoder.dropped == 0)
        #expect(bench.packets.all.allSatisfy { $0.track == .video })
    }

    @Test("Captions of dropped frames are moved to the next frame that is encoded")
    func captions() throws {
        let bench = try Bench()
        bench.take(0..<60)
        for number in 60..<70 as Range<Int64> {
            bench.take(number..<number + 1, captions: [0xFC, UInt8(number), 0x81])
        }
        bench.start()
        try bench.wait(for: 60)
        bench.take(70..<71, captions: [0xFC, 70, 0x81])
        try bench.finish()
        let expected: [UInt8] = (60...70).flatMap { [0xFC, UInt8($0), 0x81] }
        #expect(bench.encoder.dropped == 10 && bench.numbers.last == 70)
        #expect(bench.packets.frames.last?.payload.array.firstRange(of: expected) != nil)
        #expect(bench.packets.frames.dropLast().allSatisfy { $0.payload.array.firstRange(of: expected) == nil })
    }

    @Test("A keyframe requested of a rendition's encoder is the frame at the requested time, and begins a GOP")
    func keyframe() throws {
        let bench = try Bench()
        bench.encoder.requestKeyframe(at: ProgramInstant(milliseconds: 30 * 40))
        bench.take(0..<60)
        bench.start()
        try bench.finish()
        #expect(bench.packets.frames.filter(\.isKeyframe).map(\.pts) == [0, 30])
    }

    // MARK: Audio

    /// The packets of audio follow each other without a hole from `start` to `end` at least, in samples.
    private func isComplete(_ packets: CollectedPackets, from start: Int64, to end: Int64) -> Bool {
        let audio = packets.all.filter { $0.track == .audio }
        guard let first = audio.first, let last = audio.last else { return false }
        // The encoder's priming is in front of the first sample.
        return first.pts == start - 1024 && last.pts + 1024 >= end
            && zip(audio, audio.dropFirst()).allSatisfy { $1.pts - $0.pts == 1024 }
    }

    @Test("A gap in a rendition's audio becomes silence, and the audio begins where its first buffer does")
    func gap() throws {
        let bench = try Bench()
        for position in [4800, 5760, 52_800] as [Int64] {
            bench.encoder.take(AudioBuffer.silence(at: position, count: 960, format: .program))
        }
        bench.start()
        try bench.finish()
        #expect(isComplete(bench.packets, from: 4800, to: 53_760))
    }

    @Test("If more than 600 audio buffers wait, the rest becomes silence, so that the following audio is in time")
    func audioOverflow() throws {
        let bench = try Bench()
        for piece in 0..<700 as Range<Int64> {
            bench.encoder.take(AudioBuffer.silence(at: piece * 100, count: 100, format: .program))
        }
        bench.start()
        // The frame is queued behind the audio, so it is encoded last.
        bench.take(0..<1)
        try bench.wait(for: 1)
        bench.encoder.take(AudioBuffer.silence(at: 70_000, count: 960, format: .program))
        try bench.finish()
        #expect(isComplete(bench.packets, from: 0, to: 70_960))
    }
}
