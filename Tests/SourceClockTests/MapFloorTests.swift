// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import SourceClock

@Suite("Minimum delay of a source with two tracks")
struct MapFloorTests {
    private static let second: Int64 = 1_000_000_000

    private func floor() -> MapFloor {
        MapFloor(bucketLength: Self.second, bucketsForRate: 30, pathStep: 15_000_000)
    }

    /// Video of 25 frames and audio of 50 packets per second, whose delays are functions of the time; `seen` is called
    /// after each second.
    private func play(
        _ floor: inout MapFloor, _ seconds: Range<Int64>, video: ((Int64) -> Int64)?, audio: ((Int64) -> Int64)?,
        seen: (MapFloor, Int64) -> Void = { _, _ in }
    ) {
        for index in seconds.lowerBound * 50..<seconds.upperBound * 50 {
            let time = index * Self.second / 50
            if let audio { _ = floor.note(.audio, delay: audio(time), arrival: time) }
            if let video, index % 2 == 0 { _ = floor.note(.video, delay: video(time), arrival: time) }
            if index % 50 == 49 { seen(floor, time) }
        }
    }

    @Test("If the last audio of a bundle sometimes arrives early, rate and minimum delay do not change")
    func bundles() {
        var random = SeededRandom()
        var (map, worst) = (floor(), 0.0)
        var floors: [Int64] = []
        play(
            &map, 0..<400, video: { _ in 33_000_000 + Int64.random(in: 0...10_000_000, using: &random) },
            audio: { $0 % (37 * Self.second) == 0 ? 8_000_000 : 31_000_000 + $0 % 7_000_000 }
        ) { map, time in
            guard time > 60 * Self.second else { return }
            worst = max(worst, abs(map.rate))
            floors += [map.delay(at: time)].compactMap(\.self)
        }
        #expect(map.isRateKnown && worst < 20e-6)
        #expect(floors.allSatisfy { (31_500_000..<34_500_000).contains($0) })
    }

    @Test("If video yields no clock rate, the audio determines the rate, and the minimum delay stays the same")
    func unfit() {
        var random = SeededRandom()
        var map = floor()
        var floors: [Int64] = []
        play(
            &map, 0..<300, video: { $0 / Self.second % 8 < 4 ? 900_000_000 : 940_000_000 },
            audio: { _ in 50_000_000 + Int64.random(in: 0...2_000_000, using: &random) }
        ) { map, time in floors += [map.delay(at: time)].compactMap(\.self) }
        #expect(map.isRateKnown && abs(map.rate) < 5e-6)
        #expect(floors.dropFirst(5).allSatisfy { (890_000_000..<945_000_000).contains($0) })
        #expect(abs(floors[299] - floors[150]) < 2_000_000)
    }

    @Test("Audio without video has a minimum delay, which does not change when video begins or ends")
    func joining() {
        var map = floor()
        play(&map, 0..<50, video: nil, audio: { $0 / 5000 })
        #expect(map.isRateKnown && abs(map.rate - 200e-6) < 1e-6)
        let before = map.delay(at: 50 * Self.second) ?? 0
        play(&map, 50..<100, video: { 80_000_000 + $0 / 5000 }, audio: { $0 / 5000 })
        let after = map.delay(at: 100 * Self.second) ?? 0
        #expect(abs(after - before - 10_000_000) < 1_500_000)
        play(&map, 100..<400, video: nil, audio: { $0 / 5000 })
        #expect(abs((map.delay(at: 400 * Self.second) ?? 0) - before - 70_000_000) < 1_500_000)
    }
}
