// SPDX-License-Identifier: Apache-2.0

import Logging
import Media
import SourceClock
import TestSupport
import Testing

@testable import Ingest

@Suite("Overload of a live source's decoding")
struct DecodingWatchTests {
    private let log = CollectedLog(from: .notice)
    private let clock = ManualClock(now: 1_000_000_000_000)
    private let monitor: SourceMonitor
    private let timing: SourceTiming
    private let watch: DecodingWatch

    init() throws {
        monitor = SourceMonitor(logger: log.logger)
        monitor.mayReduce = true
        timing = SourceTiming(
            SourceClock(.rtmp, tracks: [.video: (.mpegTS, 33)]), frameRate: FrameRate(25), programTime: ProgramTime(),
            name: "cam", monitor: monitor)
        watch = DecodingWatch(timing, monitor: monitor, name: "cam", clock: clock)
        // All frames were due long before the clock's time.
        for number in 0..<150 as Range<Int64> {
            let arrival = MonotonicInstant(nanoseconds: number * 40_000_000)
            _ = timing.note(.init(.video, dts: number * 3600, pts: number * 3600, duration: 3600), arrival: arrival)
            timing.advance(to: arrival)
        }
        try #require(timing.isPlaced)
    }

    /// Decodes frames of 40 ms, each in 60 ms and without a pause. Returns the number of the frame after which only
    /// keyframes are decoded; nil if that does not happen within 100 frames.
    private func decode() -> Int64? {
        var frame = SlatePattern.frame(
            VideoFormat(width: 64, height: 64, frameRate: FrameRate(25), color: .bt709), lines: [])
        frame.timeBase = .milliseconds
        for number in 0..<100 as Range<Int64> {
            clock.advance(by: .milliseconds(60))
            frame.pts = 40 * number
            watch.note(frame)
            if monitor.isReduced { return number }
        }
        return nil
    }

    @Test("An input that is opened again is decoded in full at first, and reduced to keyframes after 2 s of overload")
    func begins() {
        #expect(decode() == 34)
        #expect(monitor.status.overload != nil && monitor.decodesKeyframesOnly)
        watch.begin()
        #expect(monitor.status.overload == nil && !monitor.decodesKeyframesOnly)
        #expect(log.lines(containing: "all of the input is decoded again").count == 1)
        // The new opening has its own 2 s, and its own first pause of 10 s.
        #expect(decode() == 34)
        clock.advance(by: .milliseconds(9_999))
        watch.rest()
        #expect(monitor.isReduced)
        clock.advance(by: .milliseconds(1))
        watch.rest()
        #expect(!monitor.isReduced && monitor.status.overload == nil)
    }

    @Test("If decoding was not reduced to keyframes, reopening the input logs no return to full decoding")
    func inTime() {
        watch.begin()
        watch.begin()
        #expect(log.lines.isEmpty && !monitor.isReduced)
    }

    @Test("If a source must be decoded in full, its late frames are counted, and all of its frames are decoded")
    func counted() {
        monitor.mayReduce = false
        #expect(decode() == nil)
        #expect(monitor.status.framesOverdue == 98 && monitor.status.overload == nil && !monitor.decodesKeyframesOnly)
    }
}
