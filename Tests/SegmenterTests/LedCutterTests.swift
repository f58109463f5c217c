// SPDX-License-Identifier: Apache-2.0

import Archive
import Media
import TestSupport
import Testing

@testable import Segmenter

@Suite("Recording files that end at requested times")
struct LedCutterTests {
    private let rate = FrameRate(25)

    private func starts(_ cutter: inout SegmentCutter, keyframes: Set<Int64>, frames: Int64) -> [Int64] {
        syntheticProgram(rate: rate, frames: frames) { keyframes.contains($0) }.flatMap { cutter.push($0) }.compactMap {
            if case .open(let start) = $0 { start.keyframe.pts } else { nil }
        }
    }

    @Test("Without a file length, files end only at the first keyframe at or after each requested time")
    func led() {
        var cutter = SegmentCutter(length: nil, stream: description(rate: rate))
        for frame: FrameIndex in [100, 50, 100, 160] { cutter.cut(at: rate.start(of: frame)) }
        let keyframes: Set<Int64> = [0, 25, 50, 75, 100, 125, 150, 170, 175]
        #expect(starts(&cutter, keyframes: keyframes, frames: 200) == [0, 50, 100, 170])
        #expect(cutter.nextBoundary == nil)
    }

    @Test("A requested time also ends a file that has a fixed length, and later cuts stay where they are")
    func besides() {
        var cutter = SegmentCutter(length: .duration(.seconds(4)), stream: description(rate: rate))
        cutter.cut(at: rate.start(of: 130))
        let found = starts(&cutter, keyframes: [0, 25, 50, 100, 130, 160, 200], frames: 250)
        #expect(found == [0, 100, 130, 200])
    }

    @Test("No file of a source begins before the requested start", arguments: [FrameRate(25), FrameRate(30000, 1001)])
    func waits(rate: FrameRate) {
        var cutter = SegmentCutter(length: nil, stream: description(rate: rate))
        cutter.wait(until: rate.start(of: 41))
        let found = syntheticProgram(rate: rate, frames: 90) { [0, 40, 41, 60].contains($0) }
            .flatMap { cutter.push($0) }
            .compactMap { if case .open(let start) = $0 { start.keyframe.pts } else { nil } }
        #expect(found == [41])
    }

    @Test("All recorders of a program date their files by the start time that the first of them has set")
    func epoch() {
        let epoch = ProgramEpoch()
        var first = SegmentDating(programStart: nil, epoch: epoch)
        var second = SegmentDating(programStart: nil, epoch: epoch)
        let packet = syntheticProgram(rate: rate, frames: 1) { _ in true }[0]
        first.begin(packet, now: UTCTime(milliseconds: 5000))
        second.begin(packet, now: UTCTime(milliseconds: 5007))
        #expect(first.time(of: 1_000_000_000) == second.time(of: 1_000_000_000))
    }
}
