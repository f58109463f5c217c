// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Media

/// Keeps audio that is mixed from several sources below -1 dBTP (EBU R 128). It measures true peaks by oversampling
/// (ITU-R BS.1770 annex 2).
///
/// The limiter looks 5 ms ahead, so it returns samples 5 ms later. The samples nevertheless keep their positions. The
/// gain begins to fall before a peak comes and never changes in steps. So neither a peak nor a switch to audio that is
/// too loud causes a click.
struct Limiter {
    /// The highest permitted amplitude. It is lower than -1 dBTP, because four times oversampling can underestimate a
    /// peak between samples: for signals below 20 kHz by up to 0.47 dB, the factor cos(20/192 Pi) at 48 kHz (ITU-R
    /// BS.1770-4, annex 2). So the amplitude is at most 0.844.
    static let ceiling: Float = 0.84
    /// The gain falls linearly to the value that a peak needs over this many samples: 5 ms at 48 kHz.
    private static let window = 240
    /// By how much the gain rises with each sample. It rises from 0 to 1 within 200 ms at 48 kHz.
    private static let release: Float = 1 / 9600
    /// How many samples on each side are used to compute the level between two samples.
    private static let reach = 12
    /// By how many samples the output is later than the input.
    static let delay = window - 1 + reach
    /// Interpolation filters for the positions a quarter, a half and three quarters of the way between two samples:
    /// windowed sinc functions.
    private static let phases: [[Float]] = [0.25, 0.5, 0.75].map { Limiter.phase($0) }

    /// For each channel, the last samples that were added: those that have not been output yet, including the neighbors
    /// that the filters need.
    private var held: [[Float]]
    /// How many output samples must still be left out, because their positions are before the first input sample.
    private var owed = Limiter.delay
    /// Whether `alone` was true in the last call of ``limit(_:alone:)``.
    private var wasAlone = true
    private let format: AudioFormat

    /// The highest gain that is permitted now. After a peak that needed a lower gain, the value stays for one window.
    private var allowed: Float = 1
    private var hold = 0
    /// A ring buffer with the values of ``allowed`` in the last window, and the sum of these values. The gain that is
    /// applied is their mean.
    private var ring = [Float](repeating: 1, count: Limiter.window)
    private var sum = Double(Limiter.window)
    private var place = 0
    /// How many values in ``ring`` are 1, counted back from the newest value to the first one that is not 1.
    private var ones = Limiter.window
    // This array and the next ones are kept between calls, so that a call does not allocate memory for them.
    private var needed: [Float] = []
    private var peaks: [Float] = []
    private var between: [Float] = []

    /// Creates a limiter without audio.
    init(format: AudioFormat) {
        self.format = format
        held = Array(repeating: Array(repeating: 0, count: Self.delay), count: format.channels)
    }

    /// Adds `audio`, and returns the audio that directly follows the audio that was returned before. `alone` means that
    /// `audio` comes from one source only. Such audio is left unchanged, however loud it is, as soon as an earlier
    /// reduction of the gain has ended.
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

    /// Returns the samples that the limiter still holds. `end` is the position after the last input sample.
    mutating func finish(at end: Int64) -> AudioBuffer {
        limit(.silence(at: end, count: Self.delay, format: format), alone: true)
    }

    /// Examines the next `count` samples: those whose neighbors have all arrived with this call. For each of them,
    /// writes the highest permitted factor to ``needed``. Returns false if it is certain that all of these samples can
    /// stay unchanged; ``needed`` is then not written.
    private mutating func note(_ count: Int, alone: Bool) -> Bool {
        // The last samples of the audio that the previous call added are examined only now, because the samples after
        // them have just come.
        let first = Self.delay - Self.reach
        let earlier = min(Self.reach, count)
        let (from, to) = (wasAlone ? earlier : 0, alone ? earlier : count)
        guard from < to else { return false }
        var isLoud = false
        for channel in held {
            let near = channel[(first - Self.reach)...]
            var loudest: Float = 0
            for sample in near { loudest = max(loudest, abs(sample)) }
            // In practice, the level between samples is at most twice the highest sample. So a channel whose samples
            // are all below half of the ceiling has no peak.
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

    /// Measures `count` samples of `channel`. For each sample, writes to ``peaks`` the highest level from this sample
    /// to the next one.
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
                        // The slice is rebased, so that the compiler can vectorize the loop without checks of index
                        // sums.
                        let near = UnsafeBufferPointer(rebasing: channel[start..<start + count])
                        for index in 0..<count { between[index] += factor * near[index] }
                    }
                }
            }
            for index in 0..<count { peaks[index] = max(peaks[index], abs(between[index])) }
        }
    }

    /// Multiplies each output sample by the gain: the mean of the permitted gains in the window that begins with this
    /// sample.
    private mutating func turnDown(_ channels: inout [[Float]], _ count: Int, isLoud: Bool) {
        for index in 0..<count {
            let gain = nextGain(isLoud ? needed[index] : 1)
            if gain == 1 { continue }
            for channel in channels.indices { channels[channel][index] *= gain }
        }
    }

    private mutating func nextGain(_ needed: Float) -> Float {
        // A peak counts if it needs a lower gain than is permitted now, or a gain that the rising gain would exceed
        // within a window. So the gain never exceeds what a peak needs, and a peak that does not count does not change
        // it.
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
            // The sum is set to its exact value, without rounding errors, so that audio that needs no reduction stays
            // identical to the last bit.
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
