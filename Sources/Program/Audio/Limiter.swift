// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Media

/// Keeps what is mixed below -1 dBTP (EBU R 128; true peak by oversampling, ITU-R BS.1770 annex 2).
///
/// It looks 5 ms ahead, so audio comes out that much later, at the place that it had: its gain is down before a peak comes,
/// and goes nowhere in steps, so that neither a peak nor a cut to what is too loud makes a click.
struct Limiter {
    /// Under -1 dB by what four times the rate may miss of a peak between samples, of what is below 20 kHz.
    static let ceiling: Float = 0.86
    /// Over how many samples the gain goes down, in a straight line: 5 ms at 48 kHz.
    private static let window = 240
    /// By how much the gain comes back with each sample: all of it in 200 ms at 48 kHz.
    private static let release: Float = 1 / 9600
    /// How many samples to each side say what lies between two.
    private static let reach = 12
    /// By how many samples what comes out is behind what came.
    static let delay = window - 1 + reach
    /// What is between two samples, at a quarter, half and three quarters: windowed sines.
    private static let phases: [[Float]] = [0.25, 0.5, 0.75].map { Limiter.phase($0) }

    /// What came and is still to come out, behind as many samples as are known before it.
    private var held: [[Float]]
    /// Samples that come out before the first one that came.
    private var owed = Limiter.delay
    /// Whether what came last was to be left as it is.
    private var wasAlone = true
    private let format: AudioFormat

    /// The highest gain that is allowed, which is held for a window after each peak that needs it.
    private var allowed: Float = 1
    private var hold = 0
    /// The last window of ``allowed``, in a ring, and its sum: the gain is its mean.
    private var ring = [Float](repeating: 1, count: Limiter.window)
    private var sum = Double(Limiter.window)
    private var place = 0
    /// How many of them, up to the last, are 1.
    private var ones = Limiter.window
    // Kept from one call to the next, so that nothing is allocated.
    private var needed: [Float] = []
    private var peaks: [Float] = []
    private var between: [Float] = []

    /// A limiter that has heard nothing.
    init(format: AudioFormat) {
        self.format = format
        held = Array(repeating: Array(repeating: 0, count: Self.delay), count: format.channels)
    }

    /// Takes `audio`, and gives what follows what was given before. What is `alone` is left as it is, however loud, as soon
    /// as all is back that was turned down before.
    mutating func limit(_ audio: AudioBuffer, alone: Bool) -> AudioBuffer {
        let count = audio.count
        for index in held.indices { held[index].append(contentsOf: audio.channels[index]) }
        let isLoud = note(count, alone: alone)
        var channels: [[Float]] = []
        channels.reserveCapacity(held.count)
        for index in held.indices { channels.append(Array(held[index][..<count])) }
        if isLoud || ones < Self.window { turnDown(&channels, count, isLoud: isLoud) }
        for index in held.indices { held[index].removeFirst(count) }
        wasAlone = alone
        let skipped = min(owed, count)
        owed -= skipped
        let start = audio.position - Int64(Self.delay)
        let whole = AudioBuffer(position: start, format: format, channels: channels)
        return skipped == 0 ? whole : whole.slice(start + Int64(skipped)..<whole.end)
    }

    /// What is still held, after which nothing comes; `end` is the position behind the last sample that came.
    mutating func finish(at end: Int64) -> AudioBuffer {
        limit(.silence(at: end, count: Self.delay, format: format), alone: true)
    }

    /// Notes in ``needed`` what each of `count` samples is to be multiplied with at most: those of which all neighbors are
    /// known now, and were not before. False if all of them can stay as they are.
    private mutating func note(_ count: Int, alone: Bool) -> Bool {
        // What came last may be louder than its neighbors say that came now.
        let first = Self.delay - Self.reach
        let earlier = min(Self.reach, count)
        let (from, to) = (wasAlone ? earlier : 0, alone ? earlier : count)
        guard from < to else { return false }
        var isLoud = false
        for channel in held {
            let near = channel[(first - Self.reach)...]
            var loudest: Float = 0
            for sample in near { loudest = max(loudest, abs(sample)) }
            // What lies between samples is at most twice as loud in practice.
            guard loudest > Self.ceiling / 2 else { continue }
            if !isLoud {
                needed.removeAll(keepingCapacity: true)
                needed.append(contentsOf: repeatElement(1, count: count))
                isLoud = true
            }
            measure(channel, from: first, count)
            for index in from..<to where peaks[index] > Self.ceiling {
                needed[index] = min(needed[index], Self.ceiling / peaks[index])
            }
        }
        return isLoud
    }

    /// Writes to ``peaks`` the highest level at, and up to the next sample behind, each of `count` samples of `channel`.
    private mutating func measure(_ channel: [Float], from first: Int, _ count: Int) {
        peaks.removeAll(keepingCapacity: true)
        for index in first..<first + count { peaks.append(abs(channel[index])) }
        for phase in Self.phases {
            between.removeAll(keepingCapacity: true)
            between.append(contentsOf: repeatElement(0, count: count))
            between.withUnsafeMutableBufferPointer { between in
                channel.withUnsafeBufferPointer { channel in
                    for (tap, factor) in phase.enumerated() {
                        let start = first - Self.reach + 1 + tap
                        // From its beginning on, so that the loop has no sum to be checked, and is vectorized.
                        let near = UnsafeBufferPointer(rebasing: channel[start..<start + count])
                        for index in 0..<count { between[index] += factor * near[index] }
                    }
                }
            }
            for index in 0..<count { peaks[index] = max(peaks[index], abs(between[index])) }
        }
    }

    /// Multiplies the samples that come out with the mean of what is allowed within a window from each of them on.
    private mutating func turnDown(_ channels: inout [[Float]], _ count: Int, isLoud: Bool) {
        for index in 0..<count {
            let gain = nextGain(isLoud ? needed[index] : 1)
            if gain == 1 { continue }
            for channel in channels.indices { channels[channel][index] *= gain }
        }
    }

    private mutating func nextGain(_ needed: Float) -> Float {
        // Also what would be exceeded before it is a window ago: so what is allowed never is, and seldom moves.
        if needed < 1, needed <= allowed + Float(Self.window) * Self.release {
            allowed = min(allowed, needed)
            hold = Self.window
        } else if hold > 0 {
            hold -= 1
        } else {
            allowed = min(1, allowed + Self.release)
        }
        sum += Double(allowed) - Double(ring[place])
        ring[place] = allowed
        place = place + 1 == Self.window ? 0 : place + 1
        ones = allowed == 1 ? ones + 1 : 0
        guard ones < Self.window else {
            // What was rounded is forgotten, so that what is not turned down is the same to the last bit.
            (ones, sum) = (Self.window, Double(Self.window))
            return 1
        }
        return Float(sum / Double(Self.window))
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
