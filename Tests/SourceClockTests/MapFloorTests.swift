// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import SourceClock

@Suite("Minimum delay of a source with two tracks")
struct MapFloorTests {
    private static let second: Int64 = 1_000_000_000

    private func floor() -> MapFloor {
        MapFloor(bucketLength: .seconds(1), bucketsForRate: 30, pathStep: .milliseconds(15))
    }

    /// Video of 25 frames and audio of 50 packets per second, whose delays are functions of the time; `seen` is called
    /// after each second.
    private func play(
        _ floor: inout MapFloor, _ seconds: Range<Int64>, video: ((Int64) -> Int64)?, audio: ((Int64) -> Int64)?,
        seen: (MapFloor, MonotonicInstant) -> Void = { _, _ in }
    ) {
        for index in seconds.lowerBound * 50..<seconds.upperBound * 50 {
            let time = index * Self.second / 50
            let arrival = MonotonicInstant(nanoseconds: time)
            if let audio { _ = floor.note(.audio, delay: .nanoseconds(audio(time)), arrival: arrival) }
            if let video, index % 2 == 0 { _ = floor.note(.video, delay: .nanoseconds(video(time)), arrival: arrival) }
            if index % 50 == 49 { seen(floor, arrival) }
        }
    }

    @Test("If the last audio of a bundle sometimes arrives early, rate and minimum delay do not change")
    func bundles() {
        var random = SeededRandom()
        var (map, worst) = (floor(), 0.0)
        var floors: [Duration] = []
        play(
            &map, 0..<400, video: { _ in 33_000_000 + Int64.random(in: 0...10_000_000, using: &random) },
            audio: { $0 % (37 * Self.second) == 0 ? 8_000_000 : 31_000_000 + $0 % 7_000_000 }
        ) { map, time in
            guard time > 60_000_000_000 else { return }
            worst = max(worst, abs(map.rate))
            floors += [map.delay(at: time)].compactMap(\.self)
        }
        #expect(map.isRateKnown && worst < 20e-6)
        #expect(floors.allSatisfy { (.microseconds(31_500)..<(.microseconds(34_500))).contains($0) })
    }

    @Test("If video yields no clock rate, the audio determines the rate, and the minimum delay stays the same")
    func unfit() {
        var random = SeededRandom()
        var map = floor()
        var floors: [Duration] = []
        play(
            &map, 0..<300, video: { $0 / Self.second % 8 < 4 ? 900_000_000 : 940_000_000 },
            audio: { _ in 50_000_000 + Int64.random(in: 0...2_000_000, using: &random) }
        ) { map, time in floors += [map.delay(at: time)].compactMap(\.self) }
        #expect(map.isRateKnown && abs(map.rate) < 5e-6)
        #expect(floors.dropFirst(5).allSatisfy { (.milliseconds(890)..<(.milliseconds(945))).contains($0) })
        #expect((floors[299] - floors[150]).magnitude < .milliseconds(2))
    }

    @Test("Audio without video has a minimum delay, which does not change when video begins or ends")
    func joining() {
        var map = floor()
        play(&map, 0..<50, video: nil, audio: { $0 / 5000 })
        #expect(map.isRateKnown && abs(map.rate - 200e-6) < 1e-6)
        let before = map.delay(at: 50_000_000_000) ?? .zero
        play(&map, 50..<100, video: { 80_000_000 + $0 / 5000 }, audio: { $0 / 5000 })
        let after = map.delay(at: 100_000_000_000) ?? .zero
        #expect((after - before - .milliseconds(10)).magnitude < .microseconds(1500))
        play(&map, 100..<400, video: nil, audio: { $0 / 5000 })
        #expect(
            ((map.delay(at: 400_000_000_000) ?? .zero) - before - .milliseconds(70)).magnitude < .microseconds(1500))
    }
}
