// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media

/// The test signal's audio: a steady 440 Hz tone at -26 dBFS in all channels, and in addition the beep of
/// ``TestClock``, 1 kHz at -9 dBFS. The value of each sample depends only on its position.
struct TestTone {
    private let format: AudioFormat
    private let clock: TestClock
    /// One second of the tone: 440 complete periods, so that the tone can be repeated without a discontinuity.
    private let tone: [Float]
    /// One second of the beep, from its start.
    private let beep: [Float]

    init(format: AudioFormat, clock: TestClock) {
        self.format = format
        self.clock = clock
        tone = Self.sine(440, amplitude: 0.05, rate: format.sampleRate)
        beep = Self.sine(1000, amplitude: 0.35, rate: format.sampleRate)
    }

    /// `count` samples from `position`, which must not be negative.
    func audio(at position: Int64, count: Int) -> AudioBuffer {
        let rate = Int64(format.sampleRate)
        let end = position + Int64(count)
        var samples = [Float](repeating: 0, count: count)
        var phase = Int(position % rate)
        for index in 0..<count {
            samples[index] = tone[phase]
            phase &+= 1
            if phase == tone.count { phase = 0 }
        }
        for second in max(0, position / rate - 1)...(end / rate) {
            let range = clock.beep(in: second)
            for sample in range.clamped(to: position..<end) {
                samples[Int(sample - position)] += beep[Int(sample - range.lowerBound) % beep.count]
            }
        }
        return AudioBuffer(
            position: position, format: format, channels: Array(repeating: samples, count: format.channels))
    }

    private static func sine(_ frequency: Int, amplitude: Float, rate: Int32) -> [Float] {
        (0..<Int(rate)).map { index in
            // The phase is reduced to one period before the multiplication by 2π, so that late samples are as exact as
            // early ones.
            let phase = Double(index * frequency % Int(rate)) / Double(rate)
            return amplitude * Float(sin(2 * .pi * phase))
        }
    }
}
