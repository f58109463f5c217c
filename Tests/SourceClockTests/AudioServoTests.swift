// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import SourceClock

@Suite("Resampling that keeps audio on its timestamps")
struct AudioServoTests {
    private static let rate = TimeBase(1, 48_000)
    private static let packet: Int64 = 1024

    /// Runs `count` packets through a servo; `change` may alter the timestamp (in samples) and the sample count of
    /// each.
    private func run(
        _ servo: inout AudioServo, count: Int64, from first: Int64 = 0, sampleError: Double = 0,
        stamp: (Int64) -> Int64? = { $0 }, target: (Int64) -> Int64 = { $0 },
        step: (Int64) -> Duration = { _ in .zero },
        seen: (Int64, AudioServo.Correction, Double) -> Void
    ) {
        var left = 0.0
        for index in first..<first + count {
            guard let samples = stamp(index * Self.packet) else { continue }
            let correction = servo.correct(
                time: Timestamp(samples, in: Self.rate),
                duration: .nanoseconds(Self.rate.rescale(Self.packet, to: .nanoseconds)),
                target: ProgramInstant(target(samples), in: Self.rate), stretch: 0, step: step(index))
            servo.note(made: correction.fill)
            left += Double(Self.packet) * (1 + sampleError) * (1 + correction.stretch)
            seen(index, correction, servo.error / 1e6)
            servo.note(made: Int64(left))
            left -= left.rounded(.down)
        }
    }

    @Test(
        "Audio with a sample rate that is 300 ppm off stays in sync within 2.5 ms, and after a minute within 1 ms",
        arguments: [300e-6, -300e-6])
    func sampleError(error: Double) {
        var servo = AudioServo(sampleRate: 48_000)
        var (worst, later, correction, fills) = (0.0, 0.0, 0.0, 0)
        run(&servo, count: 47 * 600, sampleError: error) { index, made, off in
            worst = max(worst, abs(off))
            if index > 47 * 60 { later = max(later, abs(off)) }
            correction = max(correction, abs(made.stretch))
            if made.fill != 0 { fills += 1 }
        }
        #expect(worst < 2.5)
        #expect(later < 1)
        #expect(correction < 500e-6)
        #expect(fills == 0)
        #expect(abs(servo.sampleRateError + error) < 5e-6)
    }

    @Test("Timestamps rounded to the millisecond cause neither gaps nor noise")
    func rounded() {
        var servo = AudioServo(sampleRate: 48_000)
        var (worst, correction, change) = (0.0, 0.0, 0.0)
        var last = 0.0
        run(
            &servo, count: 47 * 300,
            stamp: { TimeBase.milliseconds.rescale(Self.rate.rescale($0, to: .milliseconds), to: Self.rate) }
        ) { index, made, off in
            if made.fill != 0 { worst = .infinity }
            if index > 100 { worst = max(worst, abs(off)) }
            correction = max(correction, abs(made.stretch))
            change = max(change, abs(made.stretch - last))
            last = made.stretch
        }
        #expect(worst < 1)
        #expect(correction < 100e-6)
        #expect(change < 5e-6)
    }

    @Test("One lost audio packet causes at once a gap of its length")
    func hole() {
        var servo = AudioServo(sampleRate: 48_000)
        var fills: [Int64] = []
        run(&servo, count: 1000, stamp: { $0 == 500 * Self.packet ? nil : $0 }) { _, made, _ in
            if made.fill != 0 { fills.append(made.fill) }
        }
        #expect(fills == [Self.packet])
        #expect(abs(servo.error) < 100_000)
    }

    @Test("Audio packets lost in short succession, right at the start, cause one gap each")
    func holes() {
        var servo = AudioServo(sampleRate: 48_000)
        var fills: [Int64] = []
        run(&servo, count: 40, stamp: { [3, 5, 6, 9].contains($0 / Self.packet) ? nil : $0 }) { _, made, _ in
            if made.fill != 0 { fills.append(made.fill) }
        }
        #expect(fills == [Self.packet, 2 * Self.packet, Self.packet])
    }

    @Test("If an audio packet arrives twice, exactly one copy is removed")
    func doubled() {
        var servo = AudioServo(sampleRate: 48_000)
        run(&servo, count: 500, seen: { _, _, _ in })
        var fills: [Int64] = []
        run(&servo, count: 500, from: 499) { _, made, _ in if made.fill != 0 { fills.append(made.fill) } }
        #expect(fills == [-Self.packet])
    }

    @Test("The audio follows a jump in program time at once, and the jump does not count as a gap")
    func step() {
        var servo = AudioServo(sampleRate: 48_000)
        var fills: [AudioServo.Correction] = []
        run(
            &servo, count: 1000, target: { $0 >= 500 * Self.packet ? $0 + 4800 : $0 },
            step: { $0 == 500 ? .milliseconds(100) : .zero }
        ) { _, made, _ in if made.fill != 0 { fills.append(made) } }
        #expect(fills.map(\.fill) == [4800])
        #expect(fills.map(\.isHole) == [false])
        #expect(abs(servo.error) < 100_000)
    }

    @Test("An audio offset of 99 ms is corrected by up to 1000 ppm; one of 101 ms is corrected at once")
    func offset() {
        var servo = AudioServo(sampleRate: 48_000)
        var (fills, correction, change, last) = (0, 0.0, 0.0, 0.0)
        run(&servo, count: 47 * 400, target: { $0 > 0 ? $0 + 4752 : $0 }) { _, made, _ in
            if made.fill != 0 { fills += 1 }
            correction = max(correction, abs(made.stretch))
            change = max(change, abs(made.stretch - last))
            last = made.stretch
        }
        #expect(fills == 0)
        #expect(correction <= 1000e-6)
        #expect(change <= 200e-6 / 46)
        #expect(abs(servo.error) < 1_000_000)
        var hard = AudioServo(sampleRate: 48_000)
        run(&hard, count: 100, target: { $0 > 0 ? $0 + 4848 : $0 }) { _, made, _ in if made.fill != 0 { fills += 1 } }
        #expect(fills == 1)
    }

    @Test("Audio of a source that restarts begins at its timestamp, and keeps the measured sample rate")
    func restart() {
        var servo = AudioServo(sampleRate: 48_000)
        run(&servo, count: 47 * 300, sampleError: 200e-6, seen: { _, _, _ in })
        let found = servo.sampleRateError
        servo.restart()
        #expect(servo.position == nil)
        run(&servo, count: 1, target: { $0 + 480_000 }, seen: { _, _, _ in })
        let off = servo.position.map { $0 - ProgramInstant(480_000 + 1024, in: Self.rate) }
        #expect(off.map { abs($0.inNanoseconds) < 50_000 } == true)
        #expect(abs(servo.sampleRateError - found) < 1e-9)
    }
}
