// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
internal import Media

/// Computes the gain that brings a program to a target loudness, like an operator who moves a fader.
///
/// The gain follows the gated loudness of the last 20 s of audio above -60 LUFS, so that pauses do not raise the gain.
/// Blocks and relative gate are those of ITU-R BS.1770-4: blocks of 400 ms every 100 ms, and a gate 10 LU below the
/// mean. If the loudness of the last 3 s is more than 5 LU above the gated loudness, for example after a change of
/// program, the gain follows the loudness of the last 3 s minus 5 LU (EBU R128 s1, the short-term bound). The gain
/// rises by at most 2 dB per second and falls by at most 6 dB per second. Such a slow change is hardly audible. This
/// type reads no clock.
struct LoudnessRide: Sendable {
    /// The number of blocks above ``gate``, one every 100 ms, from which the loudness is computed: 20 s.
    private static let blocks = 200
    /// Audio up to this loudness, in LUFS, counts as noise and does not affect the gain.
    private static let gate = -60.0
    private static let relativeGate = -10.0
    private static let shortTermRoom = 5.0
    private static let (mostGain, leastGain) = (20.0, -30.0)
    /// How fast the gain may rise and fall, in dB per second.
    private static let (rise, fall) = (2.0, 6.0)

    private let target: Double
    private var powers: Deque<Double> = []
    private var wanted = 0.0
    /// The gain at the end of the last audio buffer, in dB.
    private(set) var gain = 0.0

    /// Creates a ride to the target loudness `target`, in LUFS.
    init(target: Double) { self.target = target }

    /// Records the loudness of the input, in LUFS: `momentary` is that of the last 400 ms, `shortTerm` that of the last
    /// 3 s. Must be called for each 100 ms of audio.
    mutating func note(momentary: Double, shortTerm: Double) {
        guard momentary > Self.gate else { return }
        powers.append(Decibels.power(momentary))
        if powers.count > Self.blocks { powers.removeFirst() }
        let mean = powers.reduce(0, +) / Double(powers.count)
        let bound = mean * Decibels.power(Self.relativeGate)
        var (sum, count) = (0.0, 0)
        for power in powers where power >= bound {
            sum += power
            count += 1
        }
        let loudness = max(Decibels.level(power: sum / Double(max(1, count))), shortTerm - Self.shortTermRoom)
        wanted = min(Self.mostGain, max(Self.leastGain, target - loudness))
    }

    /// Returns `audio` with the gain applied. Within the buffer, the gain changes linearly from the previous gain to
    /// the new one.
    mutating func apply(to audio: AudioBuffer) -> AudioBuffer {
        guard audio.count > 0 else { return audio }
        let seconds = Double(audio.count) / Double(audio.format.sampleRate)
        let next = min(gain + Self.rise * seconds, max(gain - Self.fall * seconds, wanted))
        let first = Float(Decibels.amplitude(gain))
        let step = (Float(Decibels.amplitude(next)) - first) / Float(audio.count)
        gain = next
        let channels = audio.channels.map { channel in
            [Float](unsafeUninitializedCapacity: channel.count) { buffer, initialized in
                for index in channel.indices { buffer[index] = channel[index] * (first + step * Float(index)) }
                initialized = channel.count
            }
        }
        return AudioBuffer(position: audio.position, format: audio.format, channels: channels)
    }
}
