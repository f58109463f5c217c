// SPDX-License-Identifier: Apache-2.0

import Media
import Program
import Testing

@Suite("The program's clock")
struct ReferenceClockTests {
    private static let second: Int64 = 1_000_000_000

    /// A source whose frames are due at `offset` milliseconds and every frame after that, on a clock `ppm` faster than
    /// ours.
    private struct Reference {
        var number = 1
        var frameRate = FrameRate(25)
        var offset: Double = 0
        var ppm: Double = 0

        func due(_ frame: Int64) -> MonotonicInstant {
            let media = frameRate.timeBase.rescale(frame, to: .nanoseconds)
            let slant = Int64(Double(media) * ppm * 1e-6 / (1 + ppm * 1e-6))
            return MonotonicInstant(nanoseconds: Int64(offset * 1e6) + media - slant)
        }

        var stretch: Double { -ppm * 1e-6 / (1 + ppm * 1e-6) }
    }

    /// Lets `clock` follow `reference` from `start` to `end`, in seconds; calls `seen` with the clock at each frame.
    private func follow(
        _ clock: inout ReferenceClock, _ reference: Reference, from start: Int64, until end: Int64,
        seen: (ReferenceClock, MonotonicInstant) -> Void = { _, _ in }
    ) {
        let first = reference.frameRate.timeBase.rescale(1, to: .nanoseconds)
        for frame in (start * Self.second / first)...(end * Self.second / first) {
            let now = max(MonotonicInstant(nanoseconds: start * Self.second), reference.due(frame))
            clock.advance(to: now)
            clock.note(
                reference.number, due: reference.due(frame), stretch: reference.stretch,
                now: now)
            seen(clock, reference.due(frame))
        }
    }

    /// Returns how far `moment` is from the nearest program frame, in milliseconds.
    private func phase(_ clock: ReferenceClock, _ moment: MonotonicInstant) -> Double {
        let position = clock.position(at: moment)
        return (position - clock.frameRate.start(of: clock.frameRate.frame(at: position))).inSeconds * 1000
    }

    @Test("Without a reference source the program's clock runs at the rate of the machine's clock")
    func free() {
        var clock = ReferenceClock(frameRate: FrameRate(30000, 1001), start: MonotonicInstant(nanoseconds: 5))
        for time in stride(from: Int64(0), to: 100 * Self.second, by: 33_000_000) {
            clock.advance(to: MonotonicInstant(nanoseconds: time))
        }
        #expect(clock.state == .free)
        #expect(clock.rate == 0)
        #expect(clock.moment(of: 0) == MonotonicInstant(nanoseconds: 5))
        #expect(clock.moment(of: 30_000) == MonotonicInstant(nanoseconds: 5 + 1001 * Self.second))
        #expect(
            clock.position(at: MonotonicInstant(nanoseconds: 5 + 1001 * Self.second)).nanoseconds == 1001 * Self.second)
    }

    @Test(
        "The program's clock is adjusted by at most 1000 ppm until a reference's frames are in the middle of ticks",
        arguments: [0, 19, -19, 7.3], [-500, 0, 300] as [Double])
    func lock(offset: Double, ppm: Double) {
        var clock = ReferenceClock(frameRate: FrameRate(25), start: .zero)
        clock.follow(1, sourceRate: FrameRate(25))
        var (worst, highest, change, last) = (0.0, 0.0, 0.0, 0.0)
        follow(&clock, Reference(offset: offset, ppm: ppm), from: 0, until: 600) { clock, due in
            if due.nanoseconds > 300 * Self.second { worst = max(worst, abs(phase(clock, due))) }
            highest = max(highest, abs(clock.rate))
            change = max(change, abs(clock.rate - last))
            last = clock.rate
        }
        #expect(worst < 0.1)
        #expect(highest <= 1000e-6)
        #expect(change <= 100e-6 / 24)
        #expect(clock.state == .following(1))
        #expect(abs(clock.rate - ppm * 1e-6) < 2e-6)
    }

    @Test("The program's clock never goes back, and deviates by at most 1000 ppm, whatever its references do")
    func monotonic() {
        var clock = ReferenceClock(frameRate: FrameRate(25), start: .zero)
        var last: (moment: MonotonicInstant, index: FrameIndex)?
        let seen = { (clock: ReferenceClock, due: MonotonicInstant) in
            let index = clock.frameRate.frame(at: clock.position(at: due)) + 1
            let moment = clock.moment(of: index)
            if let old = last, index > old.index {
                let frames = Double(index - old.index) * 0.04
                let took = (moment - old.moment).inSeconds
                #expect(abs(took - frames) <= frames * 1100e-6)
            }
            last = (moment, index)
        }
        for (part, offset) in [0.0, 19.5, -19.5, 12, 3].enumerated() {
            clock.follow(part, sourceRate: FrameRate(25))
            let reference = Reference(number: part, offset: offset, ppm: part % 2 == 0 ? 500 : -500)
            follow(&clock, reference, from: Int64(part) * 60, until: Int64(part) * 60 + 59, seen: seen)
        }
    }

    @Test("While the reference is silent the clock's rate is held, and its return causes no jump")
    func holding() {
        var clock = ReferenceClock(frameRate: FrameRate(25), start: .zero)
        clock.follow(1, sourceRate: FrameRate(25))
        let reference = Reference(offset: 3, ppm: 200)
        follow(&clock, reference, from: 0, until: 300)
        for time in stride(from: 300 * Self.second, to: 420 * Self.second, by: 40_000_000) {
            clock.advance(to: MonotonicInstant(nanoseconds: time))
        }
        #expect(clock.state == .holding(1))
        #expect(abs(clock.rate - 200e-6) < 2e-6)
        var worst = 0.0
        follow(&clock, reference, from: 420, until: 440) { worst = max(worst, abs(phase($0, $1))) }
        #expect(clock.state == .following(1))
        #expect(worst < 0.5)
    }

    @Test("The program's clock adjusts to a new reference within a minute, and ignores other sources")
    func takeOver() {
        var clock = ReferenceClock(frameRate: FrameRate(25), start: .zero)
        clock.follow(1, sourceRate: FrameRate(25))
        follow(&clock, Reference(ppm: 100), from: 0, until: 100)
        clock.follow(2, sourceRate: FrameRate(25))
        follow(&clock, Reference(number: 1, offset: 10, ppm: -400), from: 100, until: 101)
        #expect(abs(clock.rate - 100e-6) < 5e-6)
        var worst = 0.0
        let other = Reference(number: 2, offset: 17, ppm: -200)
        follow(&clock, other, from: 101, until: 200) { clock, due in
            if due.nanoseconds > 170 * Self.second { worst = max(worst, abs(phase(clock, due))) }
        }
        #expect(worst < 1)
        #expect(abs(clock.rate + 200e-6) < 20e-6)
    }

    @Test("When the reference is removed, the program's clock gradually returns to the machine's rate")
    func released() {
        var clock = ReferenceClock(frameRate: FrameRate(25), start: .zero)
        clock.follow(1, sourceRate: FrameRate(25))
        follow(&clock, Reference(ppm: 500), from: 0, until: 60)
        clock.follow(nil)
        for time in stride(from: 60 * Self.second, to: 80 * Self.second, by: 40_000_000) {
            clock.advance(to: MonotonicInstant(nanoseconds: time))
        }
        #expect(clock.state == .free)
        #expect(clock.rate == 0)
    }

    @Test(
        "A reference of 2, 1/2 or 6/5 times the program's rate sets the clock's phase; 29.97 fps sets only its rate",
        arguments: [(FrameRate(50), 20), (FrameRate(25, 2), 40), (FrameRate(30), 40.0 / 6)] as [(FrameRate, Double)])
    func otherRates(frameRate: FrameRate, grid: Double) {
        var clock = ReferenceClock(frameRate: FrameRate(25), start: .zero)
        clock.follow(1, sourceRate: frameRate)
        var worst = 0.0
        follow(&clock, Reference(frameRate: frameRate, offset: 2.9, ppm: 100), from: 0, until: 300) { clock, due in
            guard due.nanoseconds > 200 * Self.second else { return }
            let rest = phase(clock, due) / grid
            worst = max(worst, abs(rest - rest.rounded()) * grid)
        }
        #expect(worst < 0.1)
        var other = ReferenceClock(frameRate: FrameRate(25), start: .zero)
        other.follow(1, sourceRate: FrameRate(30000, 1001))
        follow(&other, Reference(frameRate: FrameRate(30000, 1001), ppm: 100), from: 0, until: 60)
        #expect(abs(other.rate - 100e-6) < 1e-6)
    }

    @Test("Jitter of the reference's timestamps does not change the clock's phase, and a jump of its frames does")
    func steadyPhase() {
        var clock = ReferenceClock(frameRate: FrameRate(25), start: .zero)
        clock.follow(1, sourceRate: FrameRate(25))
        for index in 0..<200 {
            let now = MonotonicInstant(nanoseconds: Int64(index) * 40_000_000)
            let jitter: Int64 = index.isMultiple(of: 2) ? 1_000_000 : -1_000_000
            let step: Int64 = index < 100 ? 0 : 15_000_000
            clock.note(1, due: now + .nanoseconds(jitter + step), stretch: 0, now: now)
            if index > 50, index < 100 { #expect(abs(clock.steadyPhase) < 300_000) }
            if index == 100 { #expect(clock.steadyPhase == clock.phase && clock.phase > 13_000_000) }
        }
    }
}
