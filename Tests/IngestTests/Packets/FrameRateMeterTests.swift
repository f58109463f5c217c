// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Ingest

/// Tests the frame rate of publishers that announce none.
@Suite struct FrameRateMeterTests {
    private func rate(of times: some Sequence<Int64>) -> FrameRate? {
        var meter = FrameRateMeter()
        for time in times { meter.note(time) }
        return meter.rate
    }

    @Test(
        "A steady frame rate is measured from times in milliseconds, whether rounded or truncated",
        arguments: [5, 10, 15, 24, 25, 30, 48, 50, 60, 100, 120] as [Int64])
    func steady(frames: Int64) {
        let expected = FrameRate(Int32(frames))
        #expect(rate(of: (0..<20).map { 7000 + $0 * 1000 / frames }) == expected)
        #expect(rate(of: (0..<20).map { 7000 + ($0 * 1000 + frames / 2) / frames }) == expected)
    }

    @Test("A frame rate of 29.97 is measured as 30, which the program's clock corrects")
    func fraction() {
        #expect(rate(of: (0..<20).map { Int64($0) * 1_001_000 / 30_000 }) == FrameRate(30))
    }

    @Test("A missing frame, a repeated time or a pause does not change the measured frame rate")
    func disturbed() {
        let times = (0..<20).map { Int64($0) * 1000 / 30 }
        for missing in 1..<12 { #expect(rate(of: times.filter { $0 != times[missing] }) == FrameRate(30)) }
        #expect(rate(of: times.flatMap { [$0, $0] }) == FrameRate(30))
        #expect(rate(of: Array(times.prefix(6)) + times.map { $0 + 90_000 }) == FrameRate(30))
    }

    @Test("Times with random deviations of up to 3 ms still give the sender's frame rate")
    func uneven() {
        var random = SeededRandom()
        for _ in 0..<50 {
            let times = (0..<20).map { Int64($0) * 40 + Int64.random(in: -3...3, using: &random) }
            #expect(rate(of: times) == FrameRate(25), "\(times)")
        }
    }

    @Test("Too few frames, or frames at long intervals, give no frame rate")
    func unknown() {
        #expect(rate(of: [0, 33, 66] as [Int64]) == nil)
        #expect(rate(of: (0..<20).map { Int64($0) * 320 }) == nil)
    }
}
