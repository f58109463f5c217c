// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import SourceClock

@Suite("Minimum delay of arriving packets")
struct ArrivalFloorTests {
    /// A floor after `seconds` of 50 packets per second, with delays computed by `delay` from the time in seconds.
    private func floor(seconds: Int64, delay: (Int64) -> Int64) -> (floor: ArrivalFloor, changes: Int) {
        var floor = ArrivalFloor(bucketLength: .seconds(1), bucketsForRate: 30, pathStep: .milliseconds(15))
        var changes = 0
        for index in 0..<seconds * 50 {
            let arrival = index * 20_000_000
            if floor.note(delay: .nanoseconds(delay(arrival)), arrival: MonotonicInstant(nanoseconds: arrival)) {
                changes += 1
            }
        }
        return (floor, changes)
    }

    @Test(
        "A sender's clock rate is measured within 3 ppm if its packets have up to 20 ms of jitter",
        arguments: [-500, 0, 37, 500])
    func rate(ppm: Int64) {
        var random = SeededRandom()
        let (found, changes) = floor(seconds: 700) { arrival in
            arrival / 1_000_000 * ppm + Int64.random(in: 0...20_000_000, using: &random)
        }
        #expect(abs(found.rate * 1e6 - Double(ppm)) < 3)
        #expect(changes == 0)
    }

    @Test("Until the rate is known, the minimum delay follows a deviation of 500 ppm with an error below 3.5 ms")
    func short() {
        let (found, _) = floor(seconds: 29) { $0 / 2000 }
        let lag = found.delay(at: 29_000_000_000).map { .microseconds(14_500) - $0 }
        #expect(lag.map { $0.magnitude < .microseconds(3500) } == true)
    }

    @Test(
        "A clock rate estimated from few packets is accurate without jitter, and below 100 ppm with much jitter",
        arguments: [-200, 0, 200])
    func guess(ppm: Int64) {
        var random = SeededRandom()
        let (clear, _) = floor(seconds: 15) { $0 / 1_000_000 * ppm }
        #expect(abs(clear.rate * 1e6 - Double(ppm)) < 5)
        let (noisy, _) = floor(seconds: 15) { arrival in
            // All packets of one second are late by the same time, at most 100 ms.
            arrival / 1_000_000 * ppm + (arrival / 1_000_000_000 * 7919 % 11) * 10_000_000
                + Int64.random(in: 0...5_000_000, using: &random)
        }
        #expect(abs(noisy.rate) < 100e-6)
        #expect(!clear.isRateKnown && !noisy.isRateKnown)
    }

    // ffmpeg sends in this way with -re: the earliest packet of a second is between 0 and 5 ms late, while the mean
    // delay is steady.
    @Test(
        "The clock rate of a sender whose packets are never on time is measured from mean delays",
        arguments: [-200, 0, 200], 1...5)
    func uneven(ppm: Int64, seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var floor = ArrivalFloor(bucketLength: .seconds(1), bucketsForRate: 30, pathStep: .milliseconds(15))
        for index in 0..<Int64(61 * 30) {
            let arrival = index * 33_333_333
            let phase = Double(index) * 0.618
            let uneven = 5_000_000 + Int64((phase - phase.rounded(.down)) * 24e6)
            let early = index % 23 == 7 ? Int64.random(in: 0...5_000_000, using: &random) : 0
            let delay = arrival / 1_000_000 * ppm + max(0, (index % 23 == 7 ? 5_000_000 : uneven) - early)
            _ = floor.note(delay: .nanoseconds(delay), arrival: MonotonicInstant(nanoseconds: arrival))
            let off = abs(floor.rate * 1e6 - Double(ppm))
            if index == 15 * 30 { #expect(off < 60) }
            if index == 31 * 30 { #expect(off < 25) }
            guard index == 60 * 30 else { continue }
            #expect(off < 8)
            let low = arrival / 1_000_000 * ppm
            #expect(
                floor.delay(at: MonotonicInstant(nanoseconds: arrival)).map {
                    ($0 - .nanoseconds(low)).magnitude < .microseconds(900)
                }
                    == true)
        }
    }

    @Test("If the delay of the network path changes, the measured clock rate does not change", arguments: [80, -80])
    func path(milliseconds: Int64) {
        var random = SeededRandom()
        var worst = 0.0
        var floor = ArrivalFloor(bucketLength: .seconds(1), bucketsForRate: 30, pathStep: .milliseconds(15))
        var changes = 0
        for index in 0..<Int64(900 * 50) {
            let arrival = index * 20_000_000
            var delay = 200_000_000 + Int64.random(in: 0...5_000_000, using: &random)
            if arrival > 300_000_000_000 { delay += milliseconds * 1_000_000 }
            if floor.note(delay: .nanoseconds(delay), arrival: MonotonicInstant(nanoseconds: arrival)) { changes += 1 }
            if arrival > 330_000_000_000 { worst = max(worst, abs(floor.rate)) }
        }
        #expect(changes == 1)
        #expect(worst < 20e-6)
        #expect(
            floor.delay(at: 900_000_000_000).map {
                ($0 - .milliseconds(200 + milliseconds)).magnitude < .milliseconds(2)
            }
                == true)
    }

    @Test("A restart of the measurement keeps the clock rate, and discards the delays")
    func restart() {
        var (found, _) = floor(seconds: 100) { $0 / 10_000 }
        let rate = found.rate
        found.restart()
        #expect(found.rate == rate)
        #expect(found.isRateKnown)
        #expect(found.delay(at: 0) == nil)
    }
}
