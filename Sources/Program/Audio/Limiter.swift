// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Media

/// Keeps what was mixed below -1 dBTP (EBU R 128, true peak by oversampling, ITU-R BS.1770 annex 2), without a delay: it
/// looks ahead within the frame, and what begins with a frame's first samples is turned down at once.
struct Limiter {
    /// -1 dB.
    static let ceiling: Float = 0.891_250_9
    /// Samples over which the gain goes down before a peak: 1 ms at 48 kHz, so that it is not heard as a click.
    private static let attack = 48
    /// By how much the gain comes back with each sample: all of it in 200 ms at 48 kHz.
    private static let release: Float = 1 / 9600
    /// Between two samples, at a quarter, half and three quarters: windowed sines, four to each side.
    private static let phases: [[Float]] = [0.25, 0.5, 0.75].map { Limiter.phase($0) }
    private static let reach = 4

    private var gain: Float = 1
    /// The last samples of each channel of the frame before, for the peaks between.
    private var tail: [[Float]] = []

    /// Lets go of what it turned down before, slowly, and leaves what comes then as it is.
    mutating func release(_ audio: inout AudioBuffer) {
        tail = []
        guard gain < 1 else { return }
        let gains = (0..<audio.count).map { min(1, gain + Self.release * Float($0 + 1)) }
        gain = gains.last ?? gain
        let released = audio.channels.map { channel in zip(channel, gains).map { $0 * $1 } }
        audio = AudioBuffer(position: audio.position, format: audio.format, channels: released)
    }

    /// Turns down what is too loud.
    mutating func limit(_ audio: inout AudioBuffer) {
        if tail.count != audio.channels.count {
            tail = audio.channels.map { _ in Array(repeating: 0, count: 2 * Self.reach) }
        }
        var needed = [Float](repeating: 1, count: audio.count)
        for (index, channel) in audio.channels.enumerated() {
            Self.note(tail[index] + channel, &needed)
            tail[index] = (tail[index] + channel).suffix(2 * Self.reach)
        }
        guard gain < 1 || needed.contains(where: { $0 < 1 }) else { return }
        let gains = smooth(needed)
        let limited = audio.channels.map { channel in
            zip(channel, gains).map { max(-Self.ceiling, min(Self.ceiling, $0 * $1)) }
        }
        audio = AudioBuffer(position: audio.position, format: audio.format, channels: limited)
    }

    /// Notes in `needed` what each sample is to be multiplied with at most. `samples` begins with the tail before them.
    private static func note(_ samples: [Float], _ needed: inout [Float]) {
        var loudest: Float = 0
        for sample in samples { loudest = max(loudest, abs(sample)) }
        // What lies between samples is at most this much above them in practice.
        guard loudest > ceiling / 2 else { return }
        for index in needed.indices {
            // The peaks around the sample that lies `reach` back, of which all neighbours are known.
            let center = index + reach
            var peak = max(abs(samples[index + 2 * reach]), abs(samples[center]))
            for phase in phases {
                var value: Float = 0
                for tap in 0..<2 * reach { value += phase[tap] * samples[center - reach + 1 + tap] }
                peak = max(peak, abs(value))
            }
            guard peak > ceiling else { continue }
            for near in max(0, index - 2 * reach)...index { needed[near] = min(needed[near], ceiling / peak) }
        }
    }

    /// The gain of each sample: down before what needs it, up slowly behind.
    private mutating func smooth(_ needed: [Float]) -> [Float] {
        var gains = needed
        // Backwards: the way down to each dip is a straight line of `attack` samples.
        var (ahead, slope): (Float, Float) = (1, 0)
        for index in gains.indices.reversed() {
            if gains[index] < ahead + slope {
                slope = (1 - gains[index]) / Float(Self.attack)
            } else {
                gains[index] = min(1, ahead + slope)
            }
            ahead = gains[index]
        }
        for index in gains.indices {
            gain = min(gains[index], gain + Self.release)
            gains[index] = gain
        }
        return gains
    }

    private static func phase(_ fraction: Double) -> [Float] {
        let taps = (0..<2 * reach).map { tap -> Double in
            let distance = Double(tap - reach + 1) - fraction
            let sinc = Double.pi * distance
            let window = 0.5 + 0.5 * cos(Double.pi * distance / Double(reach))
            return sin(sinc) / sinc * window
        }
        let sum = taps.reduce(0, +)
        return taps.map { Float($0 / sum) }
    }
}
