// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Detects silent audio by the peak of its samples.
struct SilenceDetector: Sendable {
    /// Audio counts as no longer silent when a sample reaches the silence level plus this number of dB.
    private static let margin = 6.0

    private let silent: Float
    private let loud: Float

    /// Creates a detector. Audio is silent if no sample reaches `level`, in dBFS.
    init(level: Double) {
        silent = Self.amplitude(level)
        loud = Self.amplitude(min(0, level + Self.margin))
    }

    /// Returns `faulty` if `audio` is silent, and `between` for an empty buffer.
    func read(_ audio: AudioBuffer) -> Alarm.Reading {
        var peak: Float = 0
        for channel in audio.channels {
            for sample in channel { peak = max(peak, abs(sample)) }
        }
        if audio.count == 0 { return .between }
        return peak < silent ? .faulty : peak < loud ? .between : .right
    }

    private static func amplitude(_ level: Double) -> Float { Float(Decibels.amplitude(level)) }
}
