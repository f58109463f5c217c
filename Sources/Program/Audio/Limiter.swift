// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Media

/// Keeps the mix below -1 dBTP (EBU R 128; true peak by oversampling, ITU-R BS.1770 annex 2).
///
/// It looks ahead by 5 ms, so audio is output that much later, but keeps its position. The gain is reduced before a
/// peak comes and never changes in steps, so that neither a peak nor a switch to audio that is too loud causes a click.
struct Limiter {
    /// It is less than -1 dB by the maximum error of four times oversampling for peaks between samples, for signals
    /// below 20 kHz.
    static let ceiling: Float = 0.86
    /// The number of samples over which the gain is reduced linearly: 5 ms at 48 kHz.
    private static let window = 240
    /// By how much the gain rises with each sample: it rises completely within 200 ms at 48 kHz.
    private static let release: Float = 1 / 9600
    /// How many samples on each side are used to interpolate between two samples.
    private static let reach = 12
    /// The number of samples by which the output is later than the input.
    static let delay = window - 1 + reach
    /// Interpolation filters for a quarter, a half and three quarters of the way between two samples: windowed sines.
    private static let phases: [[Float]] = [0.25, 0.5, 0.75].map { Limiter.phase($0) }

    /// The input that has not been output yet, preceded by the earlier samples that the filters need.
    private var held: [[Float]]
    /// How many more samples must be left out, because they come before the first input sample.
    private var owed = Limiter.delay
    /// Whether the last input had to be left unchanged.
    private var wasAlone = true
    private let format: AudioFormat

    /// The highest permitted gain. After each peak that needs it, it is kept for a window.
    private var allowed: Float = 1
    private var hold = 0
    /// The values of ``allowed`` in the last window, as a ring buffer, and their sum: the gain is their mean.
    private var ring = [Float](repeating: 1, count: Limiter.window)
    private var sum = Double(Limiter.window)
    private var place = 0
    /// How many of the last values in the ring are 1.
    private var ones = Limiter.window
    // These arrays are reused, so that no call allocates memory.
    private var needed: [Float] = []
    private var peaks: [Float] = []
    private var between: [Float] = []

    /// A limiter without audio.
    init(format: AudioFormat) {
        self.format = format
        held = Array(repeating: Array(repeating: 0, count: Self.delay), count: format.channels)
    }

    /// Adds `audio`, and returns the audio that follows the last output. Audio that is `alone` is left unchanged,
    /// however loud it is, once an earlier reduction has ended.
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

    /// Returns the samples that are still held at the end; `end` is the position after the last input sample.
    mutating func finish(at end: Int64) -> AudioBuffer {
        limit(.silence(at: end, count: Self.delay, format: format), alone: true)
    }

    /// Writes the maximum factor for each of `count` samples to ``needed``. These are the samples whose neighbors are
    /// known since this call. Returns false if all of them can stay unchanged.
    private mutating func note(_ count: Int, alone: Bool) -> Bool {
        // With the neighbors that came now, the last samples of the previous input may turn out to be louder.
        let first = Self.delay - Self.reach
        let earlier = min(Self.reach, count)
        let (from, to) = (wasAlone ? earlier : 0, alone ? earlier : count)
        guard from < to else { return false }
        var isLoud = false
        for channel in held {
            let near = channel[(first - Self.reach)...]
            var loudest: Float = 0
            for sample in near { loudest = max(loudest, abs(sample)) }
            // In practice the level between samples is at most twice the level of the samples.
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

    /// For each of `count` samples of `channel`, writes to ``peaks`` the highest level at this sample and between it
    /// and the next sample.
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
                        // The slice is rebased, so that the loop needs no check of index sums and is vectorized.
                        let near = UnsafeBufferPointer(rebasing: channel[start..<start + count])
                        for index in 0..<count { between[index] += factor * near[index] }
                    }
                }
            }
            for index in 0..<count { peaks[index] = max(peaks[index], abs(between[index])) }
        }
    }

    /// Multiplies each output sample by the mean of the permitted gains in the window that begins with it.
    private mutating func turnDown(_ channels: inout [[Float]], _ count: Int, isLoud: Bool) {
        for index in 0..<count {
            let gain = nextGain(isLoud ? needed[index] : 1)
            if gain == 1 { continue }
            for channel in channels.indices { channels[channel][index] *= gain }
        }
    }

    private mutating func nextGain(_ needed: Float) -> Float {
        // Peaks that the rising gain would exceed within a window count as well, so that the permitted gain is never
        // exceeded and seldom changes.
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
            // Rounding errors are dropped, so that audio that needs no reduction stays identical to the last bit.
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
