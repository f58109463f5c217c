// SPDX-License-Identifier: Apache-2.0

import CFFmpeg
import Media
import Testing

@testable import Ingest
@testable import LibAV

@Suite("Extreme numbers in files")
struct HostileNumberTests {
    private static let bases = [TimeBase(1, .max), .nanoseconds, .mpegTS, TimeBase(3599, 1)]
    private static let ticks: [Int64] = [.min, .min + 1, -(1 << 62), -1, 0, 1, 1 << 61, 1 << 62, .max - 1, .max]

    @Test("No 64-bit timestamp crashes the timelines", arguments: bases)
    func timestamps(base: TimeBase) {
        let audio = TimeBase(1, 48_000)
        for first in Self.ticks {
            var timeline = SourceTimeline(timeBase: base, frameDuration: 1)
            var placing = AudioTimeline(sampleRate: 48_000)
            for next in [first] + Self.ticks {
                let pts = base.believed(next)
                let position = timeline.place(pts)
                #expect(base.rescale(position, to: .nanoseconds).magnitude < 1 << 62)
                let stated = pts.flatMap { timeline.position(of: $0, in: base, rate: audio) }
                _ = placing.place(stated: stated)
                placing.advance(to: stated ?? 0)
            }
        }
    }

    @Test("A time base with ticks that last 68 years is rejected")
    func coarseClock() {
        #expect(AVRational(num: .max, den: 1).asTimeBase == nil)
        #expect(AVRational(num: 600, den: 1).asTimeBase == TimeBase(600, 1))
    }

    @Test("Timestamps that count from 1970 are accepted, and implausible ones are rejected")
    func belief() {
        let now: Int64 = 1_800_000_000
        #expect(TimeBase(1, 1_000_000).believed(now * 1_000_000) == now * 1_000_000)
        #expect(TimeBase.nanoseconds.believed(now * 1_000_000_000) == now * 1_000_000_000)
        #expect(TimeBase.mpegTS.believed(.max) == nil)
        #expect(TimeBase.nanoseconds.believed(.min) == nil)
        #expect(TimeBase(1, 1).believed(1 << 40) == nil)
        #expect(TimeBase.mpegTS.believed(nil) == nil)
    }

    @Test(
        "No pixel aspect ratio crashes the process, and invalid ones are rejected",
        arguments: [(Int32.max, Int32.max - 1), (.max, 1), (1, .max), (.max, 3), (7, .max - 4), (0, 1), (-1, 1)])
    func shapes(across: Int32, down: Int32) {
        let shape = AVRational(num: across, den: down).asAspectRatio
        #expect(max(shape?.horizontal ?? 1, shape?.vertical ?? 1) <= 65_535)
        guard across > 0 else {
            #expect(shape == nil)
            return
        }
        let given = SampleAspectRatio(across, down)
        for own in [given, SampleAspectRatio(down, across), .square] {
            let target = VideoFormat(width: 8192, height: 8192, frameRate: FrameRate(25), sampleAspectRatio: own)
            let fit = FrameFit(width: 65_535, height: 65_535, aspect: given, target: target)
            #expect((2...8192).contains(fit.width))
            #expect((2...8192).contains(fit.height))
        }
    }
}
